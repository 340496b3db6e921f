//! letterpress: templates-as-code for transactional email.
//!
//! Data flows one way, and each stage has its own type:
//!
//! ```text
//! folder ──source──▶ SourceTree ──check──▶ Desired ──plan(with State)──▶ Plan ──apply──▶ State
//!   disk               values with           what should       a value: printed,      through client (HTTP)
//!                      positions             exist             saved, executed        and state (register)
//! ```
//!
//! Read the modules in this order; who may import whom stands in ARCHITECTURE.md and is held by a test.

pub mod limits;
pub mod wire;

pub mod diagnostic;
pub mod untrusted;

pub mod desired;

pub mod source;

pub mod check;

pub mod state;

pub mod plan;

pub mod client;

pub mod apply;

pub mod sandbox;

pub mod cli;
