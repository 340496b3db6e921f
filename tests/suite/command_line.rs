//! The command line itself: help, version, wrong use (product.md, exit codes).

use crate::support::Project;

#[test]
fn version_is_data_and_ends_with_0() {
    let project = Project::empty();
    project.run(["--version"]).exits(0).stdout_has("letterpress ");
}

#[test]
fn an_unknown_command_ends_with_64() {
    let project = Project::empty();
    project.run(["aply"]).exits(64).stderr_has("aply");
}
