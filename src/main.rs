//! The `letterpress` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    letterpress::cli::main()
}
