//! Doing it: a pure engine, and a driver with real I/O (safety §5, §6).
//!
//! A new template takes two requests. The first reserves an id and carries no content; only when the id is written down, the second sends the
//! content as an update, which may be sent again. Before each request its intent is certain in the state's log: [`request`] makes anything
//! else impossible to write.

mod ahead;
mod driver;
mod engine;
mod event;
mod item;
mod job;
mod outcome;
mod policy;
mod recover;
mod request;
mod rescue;
#[cfg(test)]
mod sim;

pub use driver::{Held, Load, Loaded, Means, Tidy, run};
pub use engine::Config;
pub use event::{Event, Request};
pub use job::Moved;
pub use outcome::{Applied, Failed, Outcome, Refused, Saved, Stop};
pub use recover::Recovered;
pub use rescue::{Rescue, Taken};
