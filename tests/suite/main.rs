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

mod cache;
mod http;
mod interface;
mod sandbox;
mod spine;
mod support;

mod account;
mod architecture;
mod bad_input;
mod command_line;
mod docs;
mod doctor;
mod findings;
mod plans;
mod rules;
mod schemas;
mod state_commands;
mod suppressions;
mod validate;
