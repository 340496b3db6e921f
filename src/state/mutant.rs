//! Planted bugs that the simulator must find (safety §8). Only in tests.

/// One wrong turn in the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// Requests are sent without any intent in the log.
    NoIntents,
    /// A request is sent while the write with its intent is still under way.
    SentBeforeIntentLanded,
    /// A create whose answer was lost is sent again under the same operation, nothing is leaked.
    CreateSentAgain,
    /// The head is written whatever is there.
    HeadWithoutCondition,
    /// A release is written whatever is there.
    BlindRelease,
    /// A takeover forgets open intents.
    TakeoverDropsIntents,
    /// A takeover sends open creates again.
    TakeoverRepeatsCreates,
    /// A takeover believes that open updates arrived.
    TakeoverBelievesUpdates,
    /// A takeover does not wait for the lease to end.
    TakeoverAtOnce,
    /// The epoch is not raised and a lease that was lost is not noticed before sending.
    SendWithoutLease,
    /// Different content is sent right after a lost update.
    NoSettleTime,
    /// A lost update is forgotten after a later success.
    UnsettledForgotten,
    /// A write that was not a clear yes is taken for lost.
    NoReadBack,
}

impl Mutant {
    /// Every planted bug.
    pub const ALL: [Self; 13] = [
        Self::NoIntents,
        Self::SentBeforeIntentLanded,
        Self::CreateSentAgain,
        Self::HeadWithoutCondition,
        Self::BlindRelease,
        Self::TakeoverDropsIntents,
        Self::TakeoverRepeatsCreates,
        Self::TakeoverBelievesUpdates,
        Self::TakeoverAtOnce,
        Self::SendWithoutLease,
        Self::NoSettleTime,
        Self::UnsettledForgotten,
        Self::NoReadBack,
    ];
}
