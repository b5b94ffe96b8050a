//! Times as a person reads them. Pure: the caller says what the time is and where.

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const WEEK: i64 = 7 * DAY;
const YEAR: i64 = 365 * DAY;

/// How long ago `at` was, in its largest sensible unit; a time in the future counts as this moment.
pub(crate) fn age(now: i64, at: i64) -> String {
    let passed = now.saturating_sub(at).max(0);
    let (count, unit) = match passed {
        ..MINUTE => (passed / SECOND, "s"),
        MINUTE..HOUR => (passed / MINUTE, "m"),
        HOUR..DAY => (passed / HOUR, "h"),
        DAY..WEEK => (passed / DAY, "d"),
        WEEK..YEAR => (passed / WEEK, "w"),
        YEAR.. => (passed / YEAR, "y"),
    };
    format!("{count}{unit}")
}

/// The moment on the clock of `zone`.
pub(crate) fn clock(at: i64, zone: &TimeZone) -> String {
    match Timestamp::from_millisecond(at) {
        Ok(moment) => moment.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        // Outside of what a calendar holds; the number still says something.
        Err(_) => at.to_string(),
    }
}

/// Reads `90`, `90s`, `15m`, `4h` or `2d`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let refusal = || format!("`{text}` is not a duration: expected a number with s, m, h or d, such as `90s` or `15m`");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return Err(refusal()),
    };
    let count: u64 = digits.parse().map_err(|_| refusal())?;
    count.checked_mul(unit).map(Duration::from_secs).ok_or_else(refusal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_one_unit() {
        for (passed, expected) in [
            (-5 * HOUR, "0s"),
            (0, "0s"),
            (59 * SECOND + 999, "59s"),
            (MINUTE, "1m"),
            (HOUR - 1, "59m"),
            (DAY - 1, "23h"),
            (6 * DAY, "6d"),
            (WEEK, "1w"),
            (51 * WEEK, "51w"),
            (2 * YEAR, "2y"),
        ] {
            assert_eq!(age(10 * YEAR, 10 * YEAR - passed), expected);
        }
    }

    #[test]
    fn the_clock_is_that_of_the_zone() {
        assert_eq!(clock(0, &TimeZone::UTC), "1970-01-01 00:00:00");
        assert_eq!(clock(i64::MAX, &TimeZone::UTC), i64::MAX.to_string());
    }

    #[test]
    fn durations_have_a_unit_or_are_seconds() {
        for (text, seconds) in [("90", 90), ("0s", 0), ("15m", 900), ("4h", 14_400), ("2d", 172_800)] {
            assert_eq!(parse_duration(text), Ok(Duration::from_secs(seconds)));
        }
        for text in ["", "m", "5w", "1h30m", "-5s", "1.5h", "99999999999999999999s", "ß"] {
            assert!(parse_duration(text).unwrap_err().starts_with(&format!("`{text}` is not a duration")));
        }
    }
}
