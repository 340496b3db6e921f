//! Everything around the actors: time, and what each of them does when something arrives.

mod judge;
mod network;

use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use uuid::Uuid;

use super::Violation;
use super::actor::{Actor, Phase};
use super::chance::Chance;
use crate::apply::engine::{Config, Effect, Engine, Input};
use crate::apply::request::{Answer, Ask};
use crate::apply::{Outcome, Saved};
use crate::client::SendError;
use crate::desired::{Desired, Digest, Id, Key, Row};
use crate::plan;
use crate::state::mutant::Mutant;
use crate::state::{Account, Acquire, Call, Log, Reply, Stamp, State, Step, Terms, first_objects};

/// What is on its way to somebody.
enum Message {
    Start { actor: usize },
    Wake { actor: usize, run: u64 },
    ToStore { actor: usize, run: u64, call: Call, answer: Option<(Duration, bool)> },
    FromStore { actor: usize, run: u64, reply: Reply },
    ToService { actor: usize, run: u64, number: usize, ask: Ask, answer: Option<Duration> },
    Tidied { actor: usize, run: u64 },
    FromService { actor: usize, run: u64, number: usize, result: Result<Answer, SendError> },
}

struct Due {
    at: Duration,
    sequence: u64,
    message: Message,
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.sequence == other.sequence
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.at, other.sequence).cmp(&(self.at, self.sequence))
    }
}

/// A template at the service.
#[derive(Debug, Clone, Default)]
struct Held {
    name: String,
    content: Option<Digest>,
}

/// How rough a simulation is, in thousandths.
struct Weather {
    store: u64,
    service: u64,
    crash: u64,
    freeze: u64,
    /// Ctrl-C, once or more often.
    interrupt: u64,
}

pub(super) struct World {
    chance: Chance,
    mutant: Option<Mutant>,
    /// A bucket with leases, else a folder with the kernel's lock.
    leased: bool,
    /// Least time between two writes.
    spacing: Duration,
    weather: Weather,
    time: Duration,
    sequence: u64,
    queue: BinaryHeap<Due>,
    actors: Vec<Actor>,
    head: Vec<u8>,
    version: u64,
    objects: BTreeMap<String, Vec<u8>>,
    templates: BTreeMap<Id, Held>,
    lock: Option<usize>,
    write_id: Uuid,
    epoch: u64,
    /// Faults cease, one more apply runs.
    last: bool,
    last_outcome: Option<Outcome>,
    last_desired: Desired,
    budget: u64,
}

const KEYS: [&str; 4] = ["a", "b", "c", "d"];
/// How many answers in a thousand reach a run together with what comes next.
const TOGETHER: u64 = 250;

impl World {
    pub(super) fn new(seed: u64, mutant: Option<Mutant>) -> Self {
        let mut chance = Chance::new(seed);
        let rough = [20, 100, 250][usize::try_from(chance.below(3)).unwrap()];
        let weather = Weather {
            store: rough,
            service: [10, 100, 300][usize::try_from(chance.below(3)).unwrap()],
            crash: [0, 500, 800][usize::try_from(chance.below(3)).unwrap()],
            freeze: [0, 30][usize::try_from(chance.below(2)).unwrap()],
            interrupt: [0, 0, 10][usize::try_from(chance.below(3)).unwrap()],
        };
        let leased = chance.happens(600);
        let spacing = Duration::from_secs(u64::from(leased && chance.happens(250)));
        let runs = 1 + chance.below(4);
        let actors = (0..2 + chance.below(2)).map(|_| Actor::new(&mut chance, runs)).collect();
        let account = Account { base_url: "sandbox".to_owned(), user_id: 1, project_id: None };
        let state = State::empty(Uuid::from_u128(u128::from(seed) + 1), account);
        let (head, base, bytes) = first_objects(&state, Vec::new(), Log::default(), Uuid::from_u128(1));
        let mut world = Self {
            chance,
            mutant,
            leased,
            spacing,
            weather,
            time: Duration::ZERO,
            sequence: 0,
            queue: BinaryHeap::new(),
            actors,
            head,
            version: 1,
            objects: BTreeMap::from([(base, bytes)]),
            templates: BTreeMap::new(),
            lock: None,
            write_id: Uuid::from_u128(1),
            epoch: 0,
            last: false,
            last_outcome: None,
            last_desired: Desired::default(),
            budget: 20_000,
        };
        for actor in 0..world.actors.len() {
            let after = world.chance.millis(0, 20_000);
            world.after(after, Message::Start { actor });
        }
        world
    }

    pub(super) fn run(mut self) -> Result<(), Violation> {
        self.drain()?;
        // The faults cease, and one more actor applies what is wanted last. Old messages are still on their way.
        self.last = true;
        self.actors.push(Actor::new(&mut self.chance, 0));
        let actor = self.actors.len() - 1;
        self.after(Duration::ZERO, Message::Start { actor });
        self.drain()?;
        self.judge()
    }

    /// Delivers messages until none is left; in the first part only until every actor has had its runs.
    fn drain(&mut self) -> Result<(), Violation> {
        while let Some(Due { at, message, .. }) = self.queue.pop() {
            self.budget = self.budget.checked_sub(1).ok_or_else(|| violation("it never ends"))?;
            self.time = self.time.max(at);
            self.deliver(message)?;
            let over = |actor: &Actor| matches!(actor.phase, Phase::Asleep) && actor.runs_left == 0;
            if !self.last && self.actors.iter().all(over) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn after(&mut self, delay: Duration, message: Message) {
        self.sequence += 1;
        self.queue.push(Due { at: self.time + delay, sequence: self.sequence, message });
    }

    fn deliver(&mut self, message: Message) -> Result<(), Violation> {
        let (actor, run) = match message {
            Message::ToStore { actor, run, call, answer } => return self.store(actor, run, call, answer),
            Message::ToService { actor, run, number, ask, answer } => {
                self.service(actor, run, number, &ask, answer);
                return Ok(());
            }
            Message::Start { actor } => (actor, self.actors[actor].run),
            Message::Wake { actor, run }
            | Message::FromStore { actor, run, .. }
            | Message::Tidied { actor, run }
            | Message::FromService { actor, run, .. } => (actor, run),
        };
        let time = self.time;
        if self.actors[actor].run != run {
            return Ok(());
        }
        if self.actors[actor].frozen_until > time {
            let rest = self.actors[actor].frozen_until - time;
            self.after(rest, message);
            return Ok(());
        }
        if !self.last && self.chance.happens(self.weather.freeze) {
            let still = self.chance.millis(1_000, 150_000);
            self.actors[actor].frozen_until = time + still;
            self.after(still, message);
            return Ok(());
        }
        if !self.last
            && matches!(self.actors[actor].phase, Phase::Applying(_))
            && self.chance.happens(self.weather.interrupt)
        {
            self.apply(actor, Input::Interrupt)?;
            if self.actors[actor].run != run {
                return Ok(());
            }
        }
        if let Some(left) = &mut self.actors[actor].dies_after {
            if *left == 0 {
                self.end_run(actor);
                return Ok(());
            }
            *left -= 1;
        }
        if matches!(message, Message::Wake { .. }) {
            self.actors[actor].wakes_at = None;
        }
        match message {
            Message::Start { .. } => self.start(actor),
            Message::FromStore { reply, .. } => self.stored(actor, reply),
            Message::Tidied { .. } => self.apply(actor, Input::Tidied),
            Message::FromService { number, result, .. } => self.apply(actor, Input::Answered(number, result)),
            _ => match self.actors[actor].phase {
                Phase::Asleep => Ok(()),
                Phase::Acquiring(_) => {
                    let now = self.actors[actor].now(time);
                    let Phase::Acquiring(acquire) = &mut self.actors[actor].phase else { return Ok(()) };
                    let step = acquire.poll(now);
                    self.step(actor, step)
                }
                Phase::Applying(_) => self.apply(actor, Input::Wake),
            },
        }
    }

    /// The run is over, well or badly; what it asked for is still on its way.
    fn end_run(&mut self, actor: usize) {
        self.actors[actor].phase = Phase::Asleep;
        self.actors[actor].run += 1;
        self.actors[actor].heard.clear();
        self.actors[actor].wakes_at = None;
        if self.lock == Some(actor) {
            self.lock = None;
        }
        if let Some(left) = self.actors[actor].runs_left.checked_sub(1) {
            self.actors[actor].runs_left = left;
            let pause = self.chance.millis(0, 90_000);
            self.after(pause, Message::Start { actor });
        }
    }

    fn start(&mut self, actor: usize) -> Result<(), Violation> {
        if !self.leased {
            if self.lock.is_some() {
                let pause = self.chance.millis(100, 5_000);
                self.after(pause, Message::Start { actor });
                return Ok(());
            }
            self.lock = Some(actor);
        }
        let dies = !self.last && self.chance.happens(self.weather.crash);
        let dies_after = dies.then(|| self.chance.below(60));
        let terms = if self.leased {
            Terms { lease: true, spacing: self.spacing, patience: Duration::from_secs(90) }
        } else {
            Terms { lease: false, spacing: Duration::ZERO, patience: Duration::from_secs(2) }
        };
        let now = self.actors[actor].now(self.time);
        let run = self.actors[actor].entropy.uuid(now);
        let mut acquire = Acquire::new(run, "actor", terms, Duration::from_secs(600), now);
        acquire.mutant = self.mutant;
        let step = acquire.poll(now);
        self.actors[actor].dies_after = dies_after;
        self.actors[actor].phase = Phase::Acquiring(Box::new(acquire));
        self.step(actor, step)
    }

    fn stored(&mut self, actor: usize, reply: Reply) -> Result<(), Violation> {
        let now = self.actors[actor].now(self.time);
        let Actor { phase, entropy, .. } = &mut self.actors[actor];
        match phase {
            Phase::Asleep => Ok(()),
            Phase::Acquiring(acquire) => {
                let step = acquire.reply(reply, now, entropy);
                self.step(actor, step)
            }
            Phase::Applying(_) => self.apply(actor, Input::Stored(reply)),
        }
    }

    fn step(&mut self, actor: usize, step: Step) -> Result<(), Violation> {
        let run = self.actors[actor].run;
        match step {
            Step::Call(call) => self.call(actor, call),
            Step::Wait(until) => {
                let at = self.actors[actor].true_time(until).saturating_sub(self.time);
                self.after(at, Message::Wake { actor, run });
            }
            Step::Held(mut ledger, healed) => {
                ledger.mutant = self.mutant;
                let desired = self.wish();
                let present = desired.templates.keys().cloned().collect();
                let options = plan::Options { environment: "sim", reassert: false, selects: &|_| true };
                let plan = plan::plan(&desired, &present, ledger.state(), options);
                if self.last {
                    self.last_desired = desired;
                }
                let now = self.actors[actor].now(self.time);
                let stamp = Stamp { at: now.wall, who: "actor".to_owned(), run: ledger.holder().run };
                let entropy = self.actors[actor].entropy.clone();
                // The actor's own stream goes on elsewhere, so that no id comes twice.
                self.actors[actor].entropy = crate::state::Entropy::from_seed(self.chance.seed());
                let mut config = Config::new(1 + usize::try_from(self.chance.below(3)).unwrap());
                config.tidies = config.concurrency > 1;
                let engine = Engine::new(&plan.steps, *ledger, healed, config, stamp, entropy, now);
                let engine = engine.map_err(|(moved, _)| violation(format!("a fresh plan is stale: {moved}")))?;
                self.actors[actor].phase = Phase::Applying(Box::new(engine));
                return self.apply(actor, Input::Wake);
            }
            Step::Missing | Step::Unreadable { .. } => return Err(violation("the state is lost")),
            Step::Busy { .. } | Step::GaveUp(_) if self.last => return Err(violation("the last apply cannot begin")),
            Step::Busy { .. } | Step::GaveUp(_) => self.end_run(actor),
        }
        Ok(())
    }

    /// What a run wants: each key absent, or with one of three contents.
    fn wish(&mut self) -> Desired {
        let mut desired = Desired::default();
        for name in KEYS {
            if self.chance.happens(150) {
                continue;
            }
            let digest = Digest::of(format!("{name} {}", self.chance.below(3)).as_bytes());
            let row = Row { name: name.to_owned(), digest, adopt: None, moved_from: None };
            desired.templates.insert(Key::new(name).unwrap(), row);
        }
        desired
    }

    fn apply(&mut self, actor: usize, input: Input) -> Result<(), Violation> {
        let now = self.actors[actor].now(self.time);
        if !matches!(self.actors[actor].phase, Phase::Applying(_)) {
            return Ok(());
        }
        let waits = matches!(input, Input::Answered(..)) && self.chance.happens(TOGETHER);
        self.actors[actor].heard.push(input);
        if waits {
            let soon = self.time + self.chance.millis(0, 5);
            self.wake(actor, soon);
            return Ok(());
        }
        let inputs = std::mem::take(&mut self.actors[actor].heard);
        let Phase::Applying(engine) = &mut self.actors[actor].phase else { return Ok(()) };
        let effects = engine.handle(inputs, now);
        let epoch = engine.epoch();
        let over = engine.is_over();
        let wake = engine.wake_at();
        for effect in effects {
            match effect {
                Effect::Tell(_) | Effect::Read(_) => {}
                Effect::Store(call) => self.call(actor, call),
                // Longer than a beat: the lease has to be renewed meanwhile.
                Effect::Tidy => {
                    let run = self.actors[actor].run;
                    self.after(Duration::from_secs(20), Message::Tidied { actor, run });
                }
                Effect::Send(number, _, ask) => {
                    if epoch != self.epoch {
                        return Err(violation(format!(
                            "epoch {epoch} sends, and epoch {} holds the state",
                            self.epoch
                        )));
                    }
                    self.send(actor, number, ask);
                }
            }
        }
        if over {
            return self.ended(actor, epoch);
        }
        if let Some(wake) = wake {
            let at = self.actors[actor].true_time(wake).max(self.time);
            self.wake(actor, at);
        }
        Ok(())
    }

    /// One wake-up is on its way at a time, the earliest that was asked for: its handling asks for the next one.
    fn wake(&mut self, actor: usize, at: Duration) {
        let Actor { wakes_at, run, .. } = &mut self.actors[actor];
        if wakes_at.is_some_and(|pending| (self.time..=at).contains(&pending)) {
            return;
        }
        *wakes_at = Some(at);
        let run = *run;
        self.after(at.saturating_sub(self.time), Message::Wake { actor, run });
    }

    fn ended(&mut self, actor: usize, epoch: u64) -> Result<(), Violation> {
        let phase = std::mem::replace(&mut self.actors[actor].phase, Phase::Asleep);
        let Phase::Applying(engine) = phase else { return Ok(()) };
        let (outcome, _) = engine.finish();
        if matches!(outcome.saved, Saved::Fenced { .. }) && self.epoch == epoch {
            return Err(violation("a run believes that it was fenced, and nobody took over"));
        }
        if self.last {
            self.last_outcome = Some(outcome);
        }
        self.end_run(actor);
        Ok(())
    }
}

fn violation(what: impl Into<String>) -> Violation {
    what.into()
}
