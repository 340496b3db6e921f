//! Dates as people write them, sent as UTC `YYYY-MM-DD hh:mm:ss` (`interface §2.3`, §4.1).

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

/// Reads `2026-11-01`, `2026-11-01 08:30`, `2026-11-01T08:30:00+01:00`, or a while ago: `7d`, `2w`, `12h`. Without an offset it is UTC.
///
/// # Errors
///
/// A sentence fragment that shows what can be written.
pub fn read(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    let text = text.trim();
    let utc = |at: DateTime| at.to_zoned(TimeZone::UTC).ok().map(|at| at.timestamp());
    let written = || {
        if let Ok(at) = text.parse::<Timestamp>() {
            return Some(at);
        }
        if let Ok(day) = text.parse::<Date>()
            && text.len() <= 10
        {
            return utc(day.into());
        }
        if let Ok(at) = text.parse::<DateTime>() {
            return utc(at);
        }
        let span: Span = text.parse().ok()?;
        let ago = if span.is_negative() { span } else { span.negate() };
        now.to_zoned(TimeZone::UTC).checked_add(ago).ok().map(|at| at.timestamp())
    };
    written().ok_or_else(|| {
        "not a date: write `2026-11-01`, `2026-11-01 08:30`, `2026-11-01T08:30:00+01:00`, or a while ago as `7d`, `2w`, `12h`"
            .to_owned()
    })
}

/// The service's form.
#[must_use]
pub fn on_the_wire(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Reads the service's form.
#[must_use]
pub fn from_the_wire(text: &str) -> Option<Timestamp> {
    let at: DateTime = text.parse().ok()?;
    at.to_zoned(TimeZone::UTC).ok().map(|at| at.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_as_people_write_them() {
        let now: Timestamp = "2026-11-21T03:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("2026-11-01", "2026-11-01 00:00:00"),
            ("2026-11-01 08:30", "2026-11-01 08:30:00"),
            ("2026-11-01 08:30:15", "2026-11-01 08:30:15"),
            ("2026-11-01T08:30:00+01:00", "2026-11-01 07:30:00"),
            ("2026-11-01T08:30:00Z", "2026-11-01 08:30:00"),
            ("7d", "2026-11-14 03:00:00"),
            ("2w", "2026-11-07 03:00:00"),
            ("12h", "2026-11-20 15:00:00"),
            ("1mo", "2026-10-21 03:00:00"),
            (" 90 days ago ", "2026-08-23 03:00:00"),
        ] {
            assert_eq!(read(text, now).map(on_the_wire), Ok(expected.to_owned()), "{text}");
        }
        for text in ["", "yesterday-ish", "2026-13-01", "01.11.2026", "9999999y"] {
            assert!(read(text, now).is_err(), "{text}");
        }
    }

    #[test]
    fn the_form_of_the_wire_is_read_back() {
        let at = from_the_wire("2026-11-01 08:30:15").unwrap();
        assert_eq!(on_the_wire(at), "2026-11-01 08:30:15");
        assert_eq!(from_the_wire("soon"), None);
    }
}
