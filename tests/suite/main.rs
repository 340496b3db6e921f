//! The one integration-test binary: black-box command tests, the sandbox over real sockets, crashes, architecture.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    missing_docs
)]

mod bucket;
mod http;
mod proxy;
mod support;

mod access;
mod account;
mod architecture;
mod bad_input;
mod build;
mod cache;
mod command_line;
mod contents;
mod crashes;
mod docs;
mod doctor;
mod events;
mod findings;
mod hostile;
mod ids;
mod interface;
mod judge;
mod limits;
mod plan_forms;
mod plans;
mod rules;
mod sandbox;
mod schemas;
mod spine;
mod state_commands;
mod stores;
mod suppressions;
mod validate;
