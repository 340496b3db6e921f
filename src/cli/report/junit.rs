//! Findings as JUnit: a test case per template, failed by its errors; warnings are its output.

use std::collections::BTreeMap;
use std::io;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::concise;
use crate::desired::Key;
use crate::diagnostic::{Diagnostic, Severity};
use crate::untrusted::Untrusted;

/// Writes the report. `templates` is the templates folder below the root.
///
/// # Errors
///
/// What the stream fails with.
pub fn write<'k>(
    out: &mut dyn io::Write,
    templates: &str,
    keys: impl Iterator<Item = &'k Key>,
    findings: &[Diagnostic],
) -> io::Result<()> {
    let mut cases: BTreeMap<String, Vec<&Diagnostic>> = keys.map(|key| (key.to_string(), Vec::new())).collect();
    for finding in findings {
        let below = finding.location.path.strip_prefix(templates).map(|rest| rest.trim_start_matches('/'));
        // The nearest template folder above the file; what belongs to none is a case of its own path.
        let owner = below.and_then(|path| {
            let folders = std::iter::once(path).chain(path.rmatch_indices('/').map(|(at, _)| &path[..at]));
            folders.into_iter().find(|folder| cases.contains_key(*folder)).map(str::to_owned)
        });
        cases.entry(owner.unwrap_or_else(|| finding.location.path.clone())).or_default().push(finding);
    }
    let mut suite = TestSuite::new("letterpress validate");
    for (name, findings) in cases {
        let (errors, others): (Vec<&Diagnostic>, Vec<&Diagnostic>) =
            findings.into_iter().partition(|finding| finding.severity == Severity::Error);
        let lines =
            |list: &[&Diagnostic]| list.iter().map(|finding| concise::line(finding)).collect::<Vec<_>>().join("\n");
        let status = match errors.first() {
            None => TestCaseStatus::success(),
            Some(first) => {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                status.set_type(first.rule.name);
                status.set_message(Untrusted(&first.message).line().to_string());
                status.set_description(lines(&errors));
                status
            }
        };
        let mut case = TestCase::new(Untrusted(&name).line().to_string(), status);
        case.set_classname("letterpress");
        if !others.is_empty() {
            case.set_system_out(lines(&others));
        }
        suite.add_test_case(case);
    }
    let mut report = Report::new("letterpress");
    report.add_test_suite(suite);
    report.serialize(&mut *out).map_err(io::Error::other)
}
