//! Many requests of one kind: bounded concurrency, answers told in the list's order, and a clear end when the service will take no more.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::time::Instant;

use super::addresses::Row;
use super::ledger::Ledger;
use crate::cli::interrupt::Interrupt;
use crate::cli::service::{Service, chance};
use crate::cli::{Exit, dates};
use crate::client::retry::{self, Operation, Tried};
use crate::client::{SendError, SubscribeRequest, SuppressionCreateRequest, SuppressionDeleteRequest, Window, code};

/// What is done with each address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// `/suppression/create`, with this reason and date where the row has none.
    Add {
        /// For rows without a reason.
        reason: Option<String>,
        /// For rows without a date.
        created: Option<jiff::Timestamp>,
    },
    /// `/suppression/delete`
    Remove,
    /// `/email/subscribe`
    Subscribe {
        /// Sender address.
        sender_email: String,
        /// Sender name.
        sender_name: String,
    },
}

/// How one address ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The service did it.
    Done,
    /// The service refused it.
    Refused {
        /// The service's code. Untrusted.
        code: String,
        /// The service's words, or plainer ones for the codes that the interface names. Untrusted.
        message: String,
    },
    /// Whether it was done is not known.
    Unknown {
        /// Why. Untrusted.
        why: String,
    },
    /// It was not done.
    NotDone {
        /// Why. Untrusted.
        why: String,
    },
}

/// Why no more was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// 906: no deletes any more today.
    DeleteLimit,
    /// The key was refused, or the service redirects.
    Service(SendError),
    /// So many failures in a row that the service is out of order.
    Failing(SendError),
    /// A signal.
    Signal(Exit),
}

/// How requests are let go.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Most requests open at once.
    pub concurrency: u32,
    /// Most requests in a second.
    pub per_second: Option<u32>,
}

/// Failures in a row that stop a run.
const FAILURES: u32 = 5;
/// Rows that may wait for the report of an earlier one, for each request that may be open.
const AHEAD: usize = 4;
/// How long open requests may take after a signal.
const DRAIN: Duration = Duration::from_secs(6);

/// Sends one request for each row, and tells the ledger of every row in the list's order.
///
/// # Errors
///
/// The ledger cannot be written; what was sent until then is in it.
pub async fn run(
    service: &Service,
    deed: &Deed,
    pace: Pace,
    mut rows: impl Iterator<Item = Row>,
    ledger: &mut Ledger<'_>,
    interrupt: &Interrupt,
) -> anyhow::Result<Option<Stop>> {
    let road = Road::new(pace);
    let mut open = FuturesUnordered::new();
    let mut waiting = Waiting::default();
    let mut failures = 0;
    let (mut stop, mut deadline, mut exhausted) = (None, None::<Instant>, false);
    loop {
        let room = |open: usize, waiting: usize| {
            open < road.window.borrow().size() && waiting < AHEAD * pace.concurrency.max(1) as usize
        };
        while stop.is_none() && !exhausted && room(open.len(), waiting.len()) && road.is_free() {
            let Some(row) = rows.next() else {
                exhausted = true;
                break;
            };
            let repeated = ledger.letting_go(&row)?;
            waiting.add(row.clone());
            if repeated && matches!(deed, Deed::Subscribe { .. }) {
                let why = "an earlier run was cut off while it was sent, and it is never sent twice".to_owned();
                waiting.end(row.line, Outcome::Unknown { why });
                waiting.tell(ledger)?;
                continue;
            }
            road.take();
            open.push(send(service, deed, row, repeated, &road));
        }
        if open.is_empty() && (exhausted || stop.is_some()) {
            break;
        }
        tokio::select! {
            Some((line, result)) = open.next(), if !open.is_empty() => {
                let (outcome, ends) = judge(deed, result, &mut failures);
                waiting.end(line, outcome);
                waiting.tell(ledger)?;
                stop = stop.or(ends);
            }
            () = tokio::time::sleep_until(road.free_at()), if stop.is_none() && !exhausted && !road.is_free() => {}
            () = interrupt.times(1), if deadline.is_none() => {
                stop.get_or_insert(Stop::Signal(interrupt.exit().unwrap_or(Exit::Interrupted)));
                deadline = Some(Instant::now() + DRAIN);
            }
            () = cut_off(interrupt, deadline), if deadline.is_some() => break,
        }
    }
    drop(open);
    waiting.abandon();
    waiting.tell(ledger)?;
    if stop.is_some() {
        for row in rows {
            ledger.left(&row)?;
        }
    }
    Ok(stop)
}

/// A second signal, or the end of the time for draining.
async fn cut_off(interrupt: &Interrupt, deadline: Option<Instant>) {
    tokio::select! {
        () = interrupt.times(2) => {}
        () = tokio::time::sleep_until(deadline.unwrap_or_else(Instant::now)) => {}
    }
}

/// When the next request may go: the window of open ones, the ceiling per second, and the service's own wish.
struct Road {
    window: RefCell<Window>,
    gap: Duration,
    free_at: Cell<Instant>,
}

impl Road {
    fn new(pace: Pace) -> Self {
        let gap = pace.per_second.map_or(Duration::ZERO, |rate| Duration::from_secs(1) / rate.max(1));
        let window = RefCell::new(Window::new(pace.concurrency as usize));
        Self { window, gap, free_at: Cell::new(Instant::now()) }
    }

    fn is_free(&self) -> bool {
        self.free_at.get() <= Instant::now()
    }

    fn free_at(&self) -> Instant {
        self.free_at.get()
    }

    fn take(&self) {
        self.free_at.set(self.free_at.get().max(Instant::now()) + self.gap);
    }

    fn hear<T>(&self, answer: &Result<T, SendError>) {
        match answer {
            Ok(_) => self.window.borrow_mut().succeeded(),
            Err(SendError::Throttled { retry_after }) => {
                let mut window = self.window.borrow_mut();
                let open = window.size().saturating_sub(1);
                window.throttled(open);
                let wish = Instant::now() + retry_after.unwrap_or_default();
                self.free_at.set(self.free_at.get().max(wish));
            }
            Err(_) => {}
        }
    }
}

/// Rows that were let go and are not told yet, by line.
#[derive(Default)]
struct Waiting(BTreeMap<u64, (Row, Option<Outcome>)>);

impl Waiting {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn add(&mut self, row: Row) {
        self.0.insert(row.line, (row, None));
    }

    fn end(&mut self, line: u64, outcome: Outcome) {
        if let Some((_, ended)) = self.0.get_mut(&line) {
            *ended = Some(outcome);
        }
    }

    /// Tells the ledger of every ended row that no open one stands before.
    fn tell(&mut self, ledger: &mut Ledger<'_>) -> anyhow::Result<()> {
        while let Some(first) = self.0.first_entry() {
            if first.get().1.is_none() {
                break;
            }
            if let (row, Some(outcome)) = first.remove() {
                ledger.ended(&row, &outcome)?;
            }
        }
        Ok(())
    }

    /// What is open stays open: its answer will not be heard.
    fn abandon(&mut self) {
        for (_, outcome) in self.0.values_mut() {
            let why = || "the run ended before its answer came".to_owned();
            outcome.get_or_insert_with(|| Outcome::Unknown { why: why() });
        }
    }
}

async fn send(service: &Service, deed: &Deed, row: Row, repeated: bool, road: &Road) -> (u64, Result<(), SendError>) {
    let Service { client, budget, .. } = service;
    let line = row.line;
    let heard = |answer: Result<(), SendError>| {
        road.hear(&answer);
        answer
    };
    let result = match deed {
        Deed::Add { reason, created } => {
            let request = SuppressionCreateRequest {
                email: row.email,
                reason: row.reason.or_else(|| reason.clone()).unwrap_or_default(),
                created: row.created.or(*created).map(dates::on_the_wire),
            };
            let attempt = async || heard(client.suppression_create(&request).await);
            retry::run(Operation::SuppressionCreate, budget, chance, attempt).await.result
        }
        Deed::Remove => {
            let request = SuppressionDeleteRequest { email: row.email };
            let attempt = async || heard(client.suppression_delete(&request).await);
            let tried = retry::run(Operation::SuppressionDelete, budget, chance, attempt).await;
            let uncertain = tried.uncertain || repeated;
            Tried { uncertain, ..tried }.of_delete()
        }
        Deed::Subscribe { sender_email, sender_name } => {
            let request = SubscribeRequest {
                sender_email: sender_email.clone(),
                sender_name: sender_name.clone(),
                recipient_email: row.email,
            };
            retry::run(Operation::Subscribe, budget, chance, || client.subscribe(&request)).await.result
        }
    };
    (line, result)
}

/// What an answer means for its row, and whether it ends the run.
fn judge(deed: &Deed, result: Result<(), SendError>, failures: &mut u32) -> (Outcome, Option<Stop>) {
    let Err(error) = result else {
        *failures = 0;
        return (Outcome::Done, None);
    };
    let why = error.to_string();
    let mut failed = |outcome: Outcome, error: SendError| {
        *failures += 1;
        (outcome, (*failures >= FAILURES).then_some(Stop::Failing(error)))
    };
    match error {
        SendError::Refused { code, message, .. } => {
            *failures = 0;
            let stop = (*deed == Deed::Remove && code == code::DELETE_LIMIT).then_some(Stop::DeleteLimit);
            let message = plain_words(&code).map_or(message, str::to_owned);
            (Outcome::Refused { code, message }, stop)
        }
        SendError::Denied { .. } | SendError::Redirected { .. } => {
            (Outcome::NotDone { why }, Some(Stop::Service(error)))
        }
        // It may be the limit of one mail a day for this recipient: no reason to hold back the others.
        SendError::Throttled { .. } if matches!(deed, Deed::Subscribe { .. }) => {
            let message = "the service asks to wait; by default a recipient gets one such mail a day".to_owned();
            (Outcome::Refused { code: "HTTP 429".to_owned(), message }, None)
        }
        SendError::Unknown { .. } => failed(Outcome::Unknown { why }, error),
        SendError::NotSent { .. }
        | SendError::File { .. }
        | SendError::Throttled { .. }
        | SendError::WrongId { .. } => failed(Outcome::NotDone { why }, error),
    }
}

/// The codes of the interface in words that say what to do.
fn plain_words(code: &str) -> Option<&'static str> {
    match code {
        code::NOT_SUPPRESSED => {
            Some("the suppression list has no entry for this address, so there is nothing to remove")
        }
        code::NOT_DELETABLE => Some(
            "the list has entries for this address, but none that can be removed: the recipient or the service put them there",
        ),
        code::DELETE_LIMIT => Some("the daily limit of deletes is reached"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_delete_limit_of_a_delete_stops_and_five_failures_in_a_row_do() {
        let refused = || Err(SendError::Refused { http: 400, code: "906".to_owned(), message: String::new() });
        let mut failures = 0;
        assert_eq!(judge(&Deed::Remove, refused(), &mut failures).1, Some(Stop::DeleteLimit));
        let add = Deed::Add { reason: None, created: None };
        assert_eq!(judge(&add, refused(), &mut failures).1, None);

        let lost = || Err(SendError::Unknown { why: "x".to_owned() });
        for _ in 0..4 {
            assert_eq!(judge(&add, lost(), &mut failures).1, None);
        }
        assert_eq!(judge(&add, Ok(()), &mut failures), (Outcome::Done, None));
        for _ in 0..4 {
            assert_eq!(judge(&add, lost(), &mut failures).1, None);
        }
        assert!(matches!(judge(&add, lost(), &mut failures).1, Some(Stop::Failing(_))));
    }
}
