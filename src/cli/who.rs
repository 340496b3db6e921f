//! Who runs this: `user@host`, or what CI says of itself. It is shown to whoever waits for a state, and stands in its history.

/// Who holds a state, for people. Untrusted: it comes from the environment.
#[must_use]
pub fn who() -> String {
    let first = |names: &[&str]| names.iter().find_map(|name| variable(name));
    let job = match (variable("GITHUB_REPOSITORY"), variable("GITHUB_RUN_ID"), variable("CI_JOB_URL")) {
        (Some(repository), Some(run), _) => Some(format!("GitHub {repository} run {run}")),
        (_, _, Some(job)) => Some(format!("GitLab {job}")),
        _ => first(&["BUILD_URL", "BUILDKITE_BUILD_URL", "CIRCLE_BUILD_URL"]),
    };
    let user = first(&["GITHUB_ACTOR", "GITLAB_USER_LOGIN", "USER", "LOGNAME", "USERNAME"]);
    let user = user.unwrap_or_else(|| "somebody".to_owned());
    match job {
        Some(job) => format!("{user} ({job})"),
        None => format!("{user}@{}", rustix::system::uname().nodename().to_string_lossy()),
    }
}

#[expect(clippy::disallowed_methods, reason = "these variables are CI's and the shell's, not options of ours")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
