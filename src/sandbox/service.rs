//! What every request to the service shares.

use std::time::Duration;

use tokio::sync::{Notify, watch};

use super::clock::Clock;
use super::fault::Faults;
use super::gate::Gate;
use super::store::Store;
use crate::limits;

/// Numbers that the interface leaves open, or that a test wants smaller.
#[derive(Debug, Clone, Copy)]
pub struct Quotas {
    /// Templates of one account.
    pub templates: i64,
    /// Suppressions that an account may delete on a day (UTC).
    pub deletes_per_day: i64,
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            templates: i64::try_from(limits::TEMPLATES).unwrap_or(i64::MAX),
            deletes_per_day: i64::from(limits::DELETES_PER_DAY),
        }
    }
}

/// The service, as its handlers see it.
#[derive(Debug)]
pub struct Service {
    /// The database.
    pub store: Store,
    /// Who may speak to it.
    pub gate: Gate,
    /// What time it is.
    pub clock: Clock,
    /// What goes wrong on purpose.
    pub faults: Faults,
    /// Whether unknown fields are refused.
    pub strict: bool,
    /// Numbers that can be set.
    pub quotas: Quotas,
    /// Where links in mails point.
    pub base_url: String,
    /// What a new mail's `delivery` says.
    pub delivery: &'static str,
    /// Rings when a mail may wait to be sent.
    pub outbox: Notify,
    /// How long the head of a request may take, and then its body.
    pub patience: Duration,
    /// Turns true when the service stops.
    pub stop: watch::Receiver<bool>,
}

impl Service {
    /// Waits until the service is told to stop.
    pub async fn stopped(&self) {
        let mut stop = self.stop.clone();
        let _ = stop.wait_for(|stop| *stop).await;
    }
}
