//! The journal alone: ten thousand creates written down as an apply does it, without a service and without templates.

use std::path::{Path, PathBuf};
use std::time::Duration;

use letterpress::desired::{Digest, Id, Key};
use letterpress::state::{Account, Change, Entry, Location, Op, Record, Run, Session, init};

/// The first argument of the process that does it: only a process of its own has a CPU time of its own.
const JOURNAL: &str = "--journal";

/// The arguments of that process.
pub fn arguments(folder: &Path, creates: usize) -> [String; 3] {
    [JOURNAL.to_owned(), folder.display().to_string(), creates.to_string()]
}

/// In that process: writes the creates down. In any other: nothing.
pub fn journal() -> bool {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [first, folder, creates] = words.as_slice() else { return false };
    if first != JOURNAL {
        return false;
    }
    let (folder, creates) = (PathBuf::from(folder), creates.parse().unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(write(Location::Folder(folder), creates));
    true
}

/// Keys that take their next step with one commit: an apply of 1,000 with 16 at once, to a service that answers at once, made 331 commits.
const TOGETHER: u128 = 3;

/// Each key goes through its three changes, a few keys at a time, as in an apply.
async fn write(location: Location, creates: u128) {
    let account = Account { base_url: "sandbox".to_owned(), user_id: 1, project_id: None };
    let mut run = Run::of_this_process("bench");
    init(&location, account, &mut run).await.unwrap();
    let mut session = Session::acquire(&location, run, Duration::ZERO, |_| {}).await.unwrap();
    // Some keys begin, those that began before them have their ids, those before are done.
    for step in 0..creates.div_ceil(TOGETHER) + 2 {
        let groups = (0..3).filter_map(|age| Some((step.checked_sub(age)?, age)));
        let changes = groups.flat_map(|(group, age)| (0..TOGETHER).map(move |key| (group * TOGETHER + key, age)));
        session.save(changes.filter_map(|(number, age)| change(number, age, creates)).collect()).await.unwrap();
    }
    session.release().await.unwrap();
}

fn change(number: u128, age: u128, creates: u128) -> Option<Change> {
    if number >= creates {
        return None;
    }
    let key = Key::new(format!("team-{:03}/template-{number:05}", number / 100)).unwrap();
    let op = Op(uuid::Uuid::from_u128(number + (1 << 100)));
    let id = Id::new(uuid::Uuid::from_u128(number).to_string()).unwrap();
    let digest = Digest::of(&number.to_le_bytes());
    let entry = match age {
        0 => Entry::Reserving { op },
        1 => Entry::Updating { id, from: None, to: digest, op },
        _ => Entry::Live { id, digest },
    };
    Some(Change::Set { key, record: Record { entry, unsettled: None, applied: None } })
}
