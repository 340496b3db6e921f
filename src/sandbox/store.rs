//! The database: one thread owns the connection, and whatever waits for it is committed together.
//!
//! No worker of the server ever blocks on the disk. A job that was handed in is executed even when nobody waits for its
//! result any more, as a real service would. What was committed is moved from the log into the database by a thread of its
//! own: where the first one did that, all requests waited for two answers of the disk now and then.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;
use rusqlite::hooks::Wal;
use tokio::sync::oneshot;

use super::Error;

const SCHEMA: &str = include_str!("schema.sql");

/// Jobs in one commit, at most.
const BATCH: usize = 256;
/// Pages by which the log grows before they are moved: 4 MB, as SQLite has it.
const SOME: i32 = 1_000;
/// Pages of a log that is moved before anything else is done, lest it grow for ever: 64 MB.
const LONG: i32 = 16 * SOME;

/// A job; it returns what to do once its commit is safe, or has failed.
type Job = Box<dyn FnOnce(&Connection) -> Reply + Send>;
type Reply = Box<dyn FnOnce(bool) + Send>;

/// The way to the database. Clones share the thread.
#[derive(Debug, Clone)]
pub struct Store {
    jobs: SyncSender<Job>,
}

/// The database did not do its part; the request failed and changed nothing.
#[derive(Debug, thiserror::Error)]
#[error("the database failed: {0}")]
pub struct Failed(String);

impl Store {
    /// Opens or makes the database; without a path it lives in memory. The thread ends when the last clone is gone.
    pub fn open(path: Option<&PathBuf>) -> Result<(Self, JoinHandle<()>), Error> {
        let failed = |source| Error::Database { path: path.cloned(), source };
        let mut connection = match path {
            Some(path) => Connection::open(path),
            None => Connection::open_in_memory(),
        }
        .map_err(failed)?;
        prepare(&connection).map_err(failed)?;
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let mover = match path {
            Some(path) => {
                let (grown, growth) = sync_channel(1);
                watch(&mut connection, grown).map_err(failed)?;
                let other = Connection::open(path).map_err(failed)?;
                Some(thread("sandbox-mover").spawn(move || go_along(&other, &growth)).map_err(Error::Thread)?)
            }
            None => None,
        };
        let (jobs, queue) = sync_channel(1024);
        let work = move || {
            work(&connection, &queue);
            // Leaves one file behind instead of three, and everything in it also where somebody else still reads.
            let _ = connection.pragma_update(None, "wal_checkpoint", "TRUNCATE");
            drop(connection);
            let _ = mover.map(JoinHandle::join);
        };
        let thread = thread("sandbox-store").spawn(work).map_err(Error::Thread)?;
        Ok((Self { jobs }, thread))
    }

    /// Runs a job in a transaction and waits until it is committed.
    ///
    /// # Errors
    ///
    /// When the job, or the commit that it was part of, failed; nothing of it is kept then.
    pub async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Failed> {
        let (tell, told) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            let result = savepoint(connection, job);
            Box::new(move |committed| {
                let result = match result {
                    Ok(_) if !committed => Err(Failed("the commit failed".to_owned())),
                    other => other.map_err(|error| Failed(error.to_string())),
                };
                let _ = tell.send(result);
            })
        });
        let jobs = self.jobs.clone();
        match jobs.try_send(job) {
            Ok(()) => {}
            Err(std::sync::mpsc::TrySendError::Full(job)) => {
                // Waiting for room is done off the server's workers.
                let _ = tokio::task::spawn_blocking(move || jobs.send(job)).await;
            }
            Err(std::sync::mpsc::TrySendError::Disconnected(_)) => {}
        }
        told.await.map_err(|_| Failed("it is closed".to_owned()))?
    }
}

fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    // NORMAL survives a killed process; only a power cut can lose the newest commits, which a sandbox may.
    connection.busy_timeout(std::time::Duration::from_secs(30))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.set_prepared_statement_cache_capacity(64);
    // At once, so that two services which start on one new database do not meet half-way.
    connection.execute_batch(&format!("BEGIN IMMEDIATE; {SCHEMA} COMMIT;"))
}

fn savepoint<T>(connection: &Connection, job: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    connection.prepare_cached("SAVEPOINT job")?.execute([])?;
    let result = job(connection);
    if result.is_err() {
        // A full disk and the like end the whole transaction: there is no savepoint any more to go back to.
        if connection.is_autocommit() {
            return result;
        }
        connection.prepare_cached("ROLLBACK TO job")?.execute([])?;
    }
    connection.prepare_cached("RELEASE job")?.execute([])?;
    result
}

fn work(connection: &Connection, queue: &Receiver<Job>) {
    while let Ok(first) = queue.recv() {
        let begun = connection.execute_batch("BEGIN IMMEDIATE").is_ok();
        let mut replies = Vec::with_capacity(BATCH);
        let mut next = Some(first);
        while let Some(job) = next {
            // Without a transaction a savepoint would commit by itself: the job still runs, alone.
            replies.push(job(connection));
            let going_on = begun && !connection.is_autocommit();
            next = if replies.len() < BATCH && going_on { queue.try_recv().ok() } else { None };
        }
        // Where a job lost the transaction, the jobs before it in the batch are lost with it, and are told so.
        let lost = begun && connection.is_autocommit();
        let committed = !begun || !lost && connection.execute_batch("COMMIT").is_ok();
        if !committed && !lost {
            let _ = connection.execute_batch("ROLLBACK");
        }
        for reply in replies {
            reply(committed);
        }
    }
}

/// Says whenever the log has grown.
fn watch(connection: &mut Connection, grown: SyncSender<()>) -> rusqlite::Result<()> {
    let mut told = 0;
    connection.wal_hook(Some(move |wal: &mut Wal, pages| {
        // Once all of it is moved, the log begins anew.
        told = if pages < told { 0 } else { told };
        if pages >= LONG {
            // Refused where it is being done.
            let _ = wal.checkpoint();
        } else if pages >= told + SOME {
            told = pages;
            let _ = grown.try_send(());
        }
        Ok(())
    }))
}

/// Moves what is committed into the database, beside those who write and read, until the connection with the hook is closed.
fn go_along(connection: &Connection, growth: &Receiver<()>) {
    while growth.recv().is_ok() {
        let _ = connection.pragma_update(None, "wal_checkpoint", "PASSIVE");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_job_that_fails_takes_nothing_with_it() {
        let (store, thread) = Store::open(None).unwrap();
        let insert = |digest: &'static str, fails: bool| {
            store.run(move |connection| {
                connection.execute("INSERT INTO seeds (digest) VALUES (?)", [digest])?;
                if fails { Err(rusqlite::Error::InvalidQuery) } else { Ok(()) }
            })
        };
        let (first, second, third) = tokio::join!(insert("a", false), insert("b", true), insert("c", false));
        assert!(first.is_ok() && second.is_err() && third.is_ok());
        let read = |connection: &Connection| {
            connection.query_row("SELECT group_concat(digest) FROM seeds", [], |row| row.get::<_, String>(0))
        };
        assert_eq!(store.run(read).await.unwrap(), "a,c");
        drop(store);
        thread.join().unwrap();
    }

    #[tokio::test]
    async fn when_the_whole_transaction_is_lost_nobody_is_told_otherwise() {
        let (store, thread) = Store::open(None).unwrap();
        let insert = |digest: &'static str| {
            store.run(move |connection| {
                connection.execute("INSERT INTO seeds (digest) VALUES (?)", [digest])?;
                // What SQLite does by itself when the disk is full.
                if digest == "b" {
                    connection.execute_batch("ROLLBACK")?;
                    return Err(rusqlite::Error::InvalidQuery);
                }
                Ok(())
            })
        };
        let (first, second, third) = tokio::join!(insert("a"), insert("b"), insert("c"));
        let told: Vec<&str> = [("a", first.is_ok()), ("b", second.is_ok()), ("c", third.is_ok())]
            .into_iter()
            .filter_map(|(digest, kept)| kept.then_some(digest))
            .collect();
        assert!(!told.contains(&"b") && told.contains(&"c"), "{told:?}");
        let error = second.unwrap_err().to_string();
        assert!(!error.contains("savepoint"), "{error}");
        let kept = store
            .run(|connection| {
                let mut rows = connection.prepare("SELECT digest FROM seeds ORDER BY digest")?;
                rows.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()
            })
            .await
            .unwrap();
        assert_eq!(kept, told);
        drop(store);
        thread.join().unwrap();
    }

    #[tokio::test]
    async fn the_log_is_moved_while_the_service_runs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sandbox.sqlite");
        let (store, thread) = Store::open(Some(&path)).unwrap();
        let size = |name: &str| std::fs::metadata(folder.path().join(name)).map_or(0, |file| file.len());
        let page = "x".repeat(4_000);
        let began = std::time::Instant::now();
        let mut number: u32 = 0;
        while size("sandbox.sqlite") < 4_000_000 {
            assert!(began.elapsed().as_secs() < 60, "nothing was moved: {number} rows");
            let text = format!("{page}{number}");
            let insert =
                move |connection: &Connection| connection.execute("INSERT INTO seeds (digest) VALUES (?)", [text]);
            store.run(insert).await.unwrap();
            number += 1;
        }
        // Far less than where a commit has to wait for it.
        let long = u64::try_from(LONG).unwrap() * 4_096;
        assert!(size("sandbox.sqlite-wal") < long, "{}", size("sandbox.sqlite-wal"));
        let count = |path: &std::path::Path| {
            let rows = Connection::open(path).unwrap();
            let count = rows.query_row("SELECT count(*) FROM seeds", [], |row| row.get::<_, u32>(0)).unwrap();
            (rows, count)
        };
        // Somebody who reads meanwhile does not keep anything out of the file.
        let (reader, _) = count(&path);
        drop(store);
        thread.join().unwrap();
        let copy = folder.path().join("copy.sqlite");
        std::fs::copy(&path, &copy).unwrap();
        assert_eq!(count(&copy).1, number);
        std::fs::remove_file(&copy).unwrap();
        drop(reader);
        let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert_eq!(names, ["sandbox.sqlite"]);
    }
}
