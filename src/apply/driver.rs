//! The engine's real driver: HTTP, the store, clocks, signals.

mod at_hand;
mod reading;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::sync::watch;

use self::at_hand::{AtHand, Source};
use self::reading::Readers;
use super::engine::{Config, Effect, Engine, Input};
use super::job::Moved;
use super::request::{Answer, Ask};
use super::{Event, Outcome, rescue};
use crate::client::{Client, SendError};
use crate::desired::{Digest, Key, Template};
use crate::plan::Step;
use crate::state::{Call, Clock, Gate, Healed, Register, Reply, Session, Stamp, drop_garbage};

/// Reads a template again, whole, or says why not.
pub type Load = Arc<dyn Fn(&Key) -> Result<Loaded, String> + Send + Sync>;

/// A template that was read to be sent.
#[derive(Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The template.
    pub template: Template,
    /// Its digest.
    pub digest: Digest,
}

/// Tidies up beside the state while it still is held: is given the contents that entries speak of, and a question whether it still is.
pub type Tidy<'a> = Box<dyn FnOnce(BTreeSet<Digest>, Held) -> LocalBoxFuture<'a, ()> + 'a>;

/// Whether the state still is held.
pub type Held = Box<dyn Fn() -> bool>;

/// What an apply needs besides the steps and the state.
pub struct Means<'a> {
    /// The service.
    pub client: &'a Client,
    /// Reads a template again, whole; its digest is compared with the step's before anything of it is sent. Called from worker threads.
    pub load: Load,
    /// Is told everything as it happens.
    pub tell: &'a mut dyn FnMut(&Event),
    /// Is given each template whose content may have reached the service, once nothing else needs it.
    pub sent: &'a dyn Fn(Loaded),
    /// How often the run was interrupted (Ctrl-C, SIGTERM).
    pub interrupts: watch::Receiver<u32>,
    /// The folder for a rescue file, should the state not take what the run did.
    pub rescue: &'a Path,
    /// What is done last, before the state is freed. A run that stops early does not do it.
    pub tidy: Tidy<'a>,
}

/// Carries out the steps of a plan, in any order, each at most once, and frees the state.
///
/// # Errors
///
/// [`Moved`] when a step was planned against an entry that has changed since; then nothing was done, and the state is free again.
pub async fn run(steps: &[Step], session: Session, mut config: Config, means: Means<'_>) -> Result<Outcome, Moved> {
    let Means { client, load, tell, sent, mut interrupts, rescue, tidy } = means;
    config.tidies = true;
    let mut tidy = Some(tidy);
    let Session { register, ledger, run, place, healed } = session;
    let (clock, lineage) = (run.clock, ledger.state().lineage);
    let stamp = Stamp { at: clock.now().wall, who: run.who.clone(), run: run.id };
    let mut engine = match Engine::new(steps, ledger, healed, config, stamp, run.entropy.clone(), clock.now()) {
        Ok(engine) => engine,
        Err((moved, ledger)) => {
            // The lease must not outlive a run that does nothing; should this fail, it ends by itself.
            let session = Session { register, ledger: *ledger, run, place, healed: Healed::default() };
            let _ = session.release().await;
            return Err(moved);
        }
    };
    let mut store = FuturesUnordered::new();
    let mut requests = FuturesUnordered::new();
    let (readers, mut at_hand) = (Readers::new(load), AtHand::new());
    let mut tidying = FuturesUnordered::new();
    let mut seen = 0;
    let mut inputs = vec![Input::Wake];
    loop {
        for effect in engine.handle(inputs.drain(..), clock.now()) {
            match effect {
                Effect::Tell(event) => tell(&event),
                Effect::Tidy => {
                    let gate = Arc::clone(engine.gate());
                    let held: Held = Box::new(move || gate.is_open(clock.now()));
                    tidying.extend(tidy.take().map(|tidy| tidy(engine.contents(), held)));
                }
                Effect::Store(call) => store.push(answer(&register, call)),
                Effect::Read(key) => at_hand.expect(key, &readers),
                Effect::Send(number, key, ask) => {
                    let gate = Arc::clone(engine.gate());
                    let source = at_hand.take(&key);
                    let loaded = loaded(source, readers.clone(), key);
                    requests.push(send(client, number, loaded, ask, gate, clock));
                }
            }
        }
        if engine.is_over() {
            break;
        }
        let wake = engine.wake_at().unwrap_or(Duration::MAX / 4);
        let rest = wake.saturating_sub(clock.now().mono).min(Duration::from_secs(3_600));
        inputs.push(tokio::select! {
            biased;
            count = changed(&mut interrupts, seen) => { seen = count; Input::Interrupt }
            Some(reply) = store.next() => Input::Stored(reply),
            Some((input, rest)) = requests.next() => { put_away(rest, &mut at_hand, sent); input }
            Some(()) = tidying.next() => Input::Tidied,
            () = tokio::time::sleep(rest) => Input::Wake,
        });
        // Whatever else has come by now goes along: a commit costs the same for one result and for sixteen. This waits for nothing that is still to come.
        loop {
            let so_far = inputs.len();
            look_at_sockets().await;
            while let Some(Some((input, rest))) = requests.next().now_or_never() {
                put_away(rest, &mut at_hand, sent);
                inputs.push(input);
            }
            if inputs.len() == so_far {
                break;
            }
        }
    }
    let (mut outcome, mut ledger) = engine.finish();
    if seen == 0 {
        drop_garbage(&register, ledger.take_garbage()).await;
    }
    outcome.rescue = rescue::write(rescue, &run, lineage, &outcome.unsaved);
    Ok(outcome)
}

/// Lets the connections take in what has arrived: the runtime looks at its sockets in the first turn, and runs whatever waited for them in the second.
async fn look_at_sockets() {
    tokio::task::yield_now().await;
    tokio::task::yield_now().await;
}

async fn answer(register: &Register, call: Call) -> Reply {
    register.answer(call).await
}

/// The next count of interrupts after `seen`; each one counts once, also when two come together.
async fn changed(interrupts: &mut watch::Receiver<u32>, seen: u32) -> u32 {
    loop {
        if *interrupts.borrow_and_update() > seen {
            return seen + 1;
        }
        if interrupts.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// A template that a request has no more use for.
enum Rest {
    /// Its content is next.
    Wanted(Loaded),
    /// Its content may have reached the service.
    Sent(Loaded),
}

fn put_away(rest: Option<Rest>, at_hand: &mut AtHand, sent: &dyn Fn(Loaded)) {
    match rest {
        Some(Rest::Wanted(loaded)) => at_hand.keep(loaded),
        Some(Rest::Sent(loaded)) => sent(loaded),
        None => {}
    }
}

/// A template that was read ahead or is read now.
async fn loaded(source: Option<Source>, readers: Readers, key: Key) -> Result<Loaded, String> {
    let ahead = match source {
        Some(source) => source.loaded().await,
        None => None,
    };
    match ahead {
        Some(read) => read,
        None => readers.read(key).await,
    }
}

/// Sends one request.
async fn send(
    client: &Client,
    number: usize,
    loaded: impl Future<Output = Result<Loaded, String>>,
    ask: Ask,
    gate: Arc<Gate>,
    clock: Clock,
) -> (Input, Option<Rest>) {
    let open = move || gate.is_open(clock.now());
    // Loaded for a placeholder too: it carries the sender, and a template that cannot be sent needs no id.
    let loaded = match loaded.await {
        Ok(loaded) => loaded,
        Err(why) => return (Input::Withdrawn(number, why), None),
    };
    match ask {
        Ask::Placeholder { op } => {
            let sender = loaded.template.sender_email.as_deref();
            let result = client.create_placeholder(&op.placeholder_name(), sender, open).await;
            let rest = result.is_ok().then_some(Rest::Wanted(loaded));
            (Input::Answered(number, result.map(Answer::Reserved)), rest)
        }
        Ask::Fill { to, .. } if loaded.digest != to => {
            (Input::Withdrawn(number, "its files changed on disk since it was planned".to_owned()), None)
        }
        Ask::Fill { id, .. } => {
            let result: Result<(), SendError> = client.update(&id, &loaded.template, open).await;
            let rest = matches!(result, Ok(()) | Err(SendError::Unknown { .. })).then_some(Rest::Sent(loaded));
            (Input::Answered(number, result.map(|()| Answer::Filled)), rest)
        }
    }
}
