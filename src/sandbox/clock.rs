//! What time it is for the service, and how the interface writes it.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// The machine's clock, moved by a fixed span, so that a test can try the day after.
#[derive(Debug, Clone, Copy, Default)]
pub struct Clock {
    /// How far the service is ahead of the machine.
    pub ahead: SignedDuration,
}

impl Clock {
    /// The moment, UTC.
    pub fn now(&self) -> Timestamp {
        Timestamp::now() + self.ahead
    }
}

const FORMAT: &str = "%Y-%m-%d %H:%M:%S";

/// UTC `YYYY-MM-DD hh:mm:ss`.
pub fn text(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).strftime(FORMAT).to_string()
}

/// The day of a moment, `YYYY-MM-DD` in UTC.
pub fn day(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d").to_string()
}

/// Reads UTC `YYYY-MM-DD hh:mm:ss`, exactly.
pub fn parse(text: &str) -> Option<Timestamp> {
    let at = DateTime::strptime(FORMAT, text).ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp();
    (self::text(at) == text).then_some(at)
}

/// First moment of the month of `at`, and of the month after.
pub fn month(at: Timestamp) -> (Timestamp, Timestamp) {
    let zoned = at.to_zoned(TimeZone::UTC);
    let first = zoned.first_of_month().and_then(|day| day.start_of_day()).unwrap_or(zoned);
    let next = first.checked_add(jiff::Span::new().months(1)).unwrap_or_else(|_| first.clone());
    (first.timestamp(), next.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_interface_s_form_is_read() {
        assert!(parse("2026-02-28 23:59:59").is_some());
        for wrong in [
            "2026-02-29 00:00:00",
            "2026-2-28 00:00:00",
            "2026-02-28T00:00:00Z",
            "2026-02-28",
            "",
            " 2026-02-28 00:00:00",
        ] {
            assert!(parse(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_month_ends_where_the_next_begins() {
        let (first, next) = month(parse("2026-12-31 23:59:59").unwrap());
        assert_eq!((text(first).as_str(), text(next).as_str()), ("2026-12-01 00:00:00", "2027-01-01 00:00:00"));
    }
}
