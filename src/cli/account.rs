//! `account`: who the key belongs to, and how much of the period is used (`interface §2.4`, §4.2).

use anstyle::Style;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::service::{self, Service};
use super::terminal::{BOLD, DIM, GREEN, RED, YELLOW};
use super::{Context, Exit, checked, dates, runtime};
use crate::client::AccountDetails;
use crate::untrusted::Untrusted;

/// Show who the API key belongs to, and how many emails of the period are sent
#[derive(Debug, clap::Args)]
pub struct AccountArgs {
    /// The form of the data
    #[arg(long, value_name = "FORM", default_value = "text", env = "LETTERPRESS_ACCOUNT_FORMAT")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Who an API key belongs to.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "letterpress account", rename = "account")]
pub struct AccountJson {
    /// 1. Fields may be added within a format; none is removed or changes its meaning.
    format: u32,
    /// The environment's name.
    environment: String,
    /// The service's address, or `sandbox`.
    base_url: String,
    /// The user's id.
    user_id: u64,
    /// The user's address.
    email: String,
    /// The project's id; null for an account key.
    project_id: Option<String>,
    /// The project's name.
    project_name: Option<String>,
    /// The accounting period; null where the service shows none.
    period: Option<PeriodJson>,
}

/// The accounting period.
#[derive(Debug, Serialize, JsonSchema)]
struct PeriodJson {
    /// As the service says: UTC `YYYY-MM-DD hh:mm:ss`.
    start: String,
    /// As the service says: UTC `YYYY-MM-DD hh:mm:ss`.
    end: String,
    /// Emails included in the period.
    emails_included: Option<i64>,
    /// Emails sent in the period.
    emails_sent: Option<i64>,
}

/// Runs `account`.
///
/// # Errors
///
/// Exit 7 when the key is missing or refused, exit 1 when the service does not answer.
pub fn account(context: &Context, args: &AccountArgs) -> anyhow::Result<Exit> {
    let project = checked::project(context)?;
    let environment = checked::environment(context, &project)?;
    let (name, format) = (environment.name.clone(), args.format);
    runtime::run(async {
        let service = service::connect(context, &project, environment).await?;
        match format {
            Format::Json => context.terminal.json(&as_json(&service, name))?,
            Format::Text => context.terminal.data(as_text(&service, &name, Timestamp::now())),
        }
        service.close().await;
        Ok(Exit::Done)
    })
}

fn as_json(service: &Service, environment: String) -> AccountJson {
    let info = &service.info;
    AccountJson {
        format: 1,
        environment,
        base_url: service.address().to_owned(),
        user_id: info.user_id,
        email: info.email.clone(),
        project_id: info.project_id.clone(),
        project_name: info.project_name.clone(),
        period: info.account_details.as_ref().map(|details| PeriodJson {
            start: details.start_period.clone(),
            end: details.end_period.clone(),
            emails_included: details.emails_by_period,
            emails_sent: details.emails_sent,
        }),
    }
}

fn as_text(service: &Service, environment: &str, now: Timestamp) -> String {
    let info = &service.info;
    let mut text = String::new();
    let mut line = |name: &str, value: String| text.push_str(&format!("{BOLD}{name:<12}{BOLD:#}{value}\n"));
    line("environment", format!("{environment} {DIM}({}){DIM:#}", Untrusted(service.address()).line()));
    line("account", format!("{} {DIM}(user {}){DIM:#}", Untrusted(&info.email).line(), info.user_id));
    let project = match (&info.project_name, &info.project_id) {
        (Some(name), Some(id)) => format!("{} {DIM}({}){DIM:#}", Untrusted(name).line(), Untrusted(id).line()),
        (None, Some(id)) => Untrusted(id).line().to_string(),
        _ => format!("{DIM}none: this is an account key{DIM:#}"),
    };
    line("project", project);
    if let Some(details) = &info.account_details {
        line("period", period(details, now));
        if let Some((words, bar)) = used(details) {
            line("emails", words);
            line("", bar);
        }
    }
    text
}

/// `2026-11-01 to 2026-12-01, 20 of 30 days gone`
fn period(details: &AccountDetails, now: Timestamp) -> String {
    let (start, end) = (Untrusted(&details.start_period).line(), Untrusted(&details.end_period).line());
    let read = dates::from_the_wire(&details.start_period).zip(dates::from_the_wire(&details.end_period));
    let Some((from, to)) = read.filter(|(from, to)| from < to) else { return format!("{start} to {end} UTC") };
    let days = |from: Timestamp, to: Timestamp| (to.as_second() - from.as_second()) / 86_400;
    let (gone, all) = (days(from, now).clamp(0, days(from, to)), days(from, to));
    let short = |at: Timestamp| at.strftime("%Y-%m-%d").to_string();
    format!("{} to {} UTC, {gone} of {all} days gone", short(from), short(to))
}

/// Width of the bar in cells.
const BAR: usize = 40;

fn used(details: &AccountDetails) -> Option<(String, String)> {
    let sent = details.emails_sent?;
    let Some(included) = details.emails_by_period.filter(|included| *included > 0) else {
        return Some((format!("{} sent", grouped(sent)), String::new()));
    };
    #[expect(clippy::cast_precision_loss, reason = "a share for the eye")]
    let share = sent.max(0) as f64 / included as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
    let filled = ((share.clamp(0.0, 1.0) * BAR as f64).round() as usize).max(usize::from(sent > 0));
    let colour: Style = match share {
        share if share >= 1.0 => RED,
        share if share >= 0.8 => YELLOW,
        _ => GREEN,
    };
    let percent = format!("{:.0} %", share * 100.0);
    let words = format!("{} of {} sent, {colour}{percent}{colour:#}", grouped(sent), grouped(included));
    let (full, rest) = ("█".repeat(filled), "░".repeat(BAR - filled));
    Some((words, format!("{colour}{full}{colour:#}{DIM}{rest}{DIM:#}")))
}

/// `1,234,567`
fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::from(if number < 0 { "-" } else { "" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn details(included: Option<i64>, sent: Option<i64>) -> AccountDetails {
        AccountDetails {
            start_period: "2026-11-01 00:00:00".to_owned(),
            end_period: "2026-12-01 00:00:00".to_owned(),
            emails_by_period: included,
            emails_sent: sent,
        }
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn the_period_counts_its_days() {
        let now = "2026-11-21T03:00:00Z".parse().unwrap();
        assert_eq!(period(&details(None, None), now), "2026-11-01 to 2026-12-01 UTC, 20 of 30 days gone");
        let odd = AccountDetails { end_period: "soon".to_owned(), ..details(None, None) };
        assert_eq!(period(&odd, now), "2026-11-01 00:00:00 to soon UTC");
    }

    #[test]
    fn the_bar_is_never_longer_than_full_and_never_empty_for_something() {
        let bar = |included, sent| {
            used(&details(Some(included), Some(sent))).map(|(words, bar)| (plain(&words), plain(&bar)))
        };
        let (words, half) = bar(1_000_000, 500_000).unwrap();
        assert_eq!(words, "500,000 of 1,000,000 sent, 50 %");
        assert_eq!(half.matches('█').count(), 20);
        assert_eq!(bar(1_000_000, 1).unwrap().1.matches('█').count(), 1);
        assert_eq!(bar(100, 250).unwrap().1.chars().count(), BAR);
        assert_eq!(used(&details(None, Some(7))).unwrap().0, "7 sent");
        assert!(used(&details(Some(7), None)).is_none());
    }
}
