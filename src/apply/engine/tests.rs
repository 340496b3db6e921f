//! What the tests of the engine share: a run on a real folder, carried by hand.

use std::path::Path;
use std::time::Duration;

use super::*;
use crate::plan::Action;
use crate::state::{Account, Location, Register, Run, Session, init};

/// A run on a folder with so many templates to create.
pub(super) async fn begin(folder: &Path, templates: usize, concurrency: usize) -> (Engine, Register, Now) {
    let location = Location::Folder(folder.join("state"));
    let account = Account { base_url: "sandbox".to_owned(), user_id: 1, project_id: None };
    let run = || Run::of_this_process("me@here");
    init(&location, account, &mut run()).await.unwrap();
    let session = Session::acquire(&location, run(), Duration::ZERO, |_| {}).await.unwrap();
    let Session { register, ledger, run, healed, .. } = session;
    let now = run.clock.now();
    let stamp = Stamp { at: now.wall, who: run.who.clone(), run: run.id };
    let step = |number| {
        let key = Key::new(format!("template-{number}")).unwrap();
        Step { key, name: None, action: Action::Create { to: Digest::of(b"x") } }
    };
    let steps: Vec<Step> = (0..templates).map(step).collect();
    let engine = Engine::new(&steps, ledger, healed, Config::new(concurrency), stamp, run.entropy.clone(), now);
    (engine.map_err(|(moved, _)| moved).unwrap(), register, now)
}

/// The call to the store among what is to be done.
pub(super) fn call(effects: Vec<Effect>) -> Option<Call> {
    effects.into_iter().find_map(|effect| match effect {
        Effect::Store(call) => Some(call),
        _ => None,
    })
}

/// Carries the first commit to the store; its answer comes at another time.
pub(super) async fn commit(engine: &mut Engine, register: &Register, now: Now, then: Now) {
    let effects = engine.handle([Input::Wake], now);
    let reply = register.answer(call(effects).unwrap()).await;
    engine.handle([Input::Stored(reply)], then);
}
