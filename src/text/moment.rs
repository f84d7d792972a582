//! Moments in UTC, as text and as milliseconds since 1970. The only door to `chrono`.

use std::time::{SystemTime, UNIX_EPOCH};

use chrono::{DateTime, Datelike, NaiveDate, NaiveTime, SecondsFormat, Timelike, Utc};

/// Milliseconds of a minute.
pub const MINUTE: u64 = 60_000;

/// Milliseconds of an hour.
pub const HOUR: u64 = 60 * MINUTE;

/// Milliseconds of a day.
pub const DAY: u64 = 24 * HOUR;

/// Milliseconds since 1970; 0 for earlier moments.
pub fn millis(moment: SystemTime) -> u64 {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A moment as `2026-07-28T12:34:56Z`.
pub fn utc(moment: SystemTime) -> String {
    utc_seconds(millis(moment) / 1_000)
}

/// Milliseconds since 1970 as `2026-11-21T20:44:19.123Z`.
pub fn utc_millis(millis: u64) -> String {
    date(millis).to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Seconds since 1970 as `2026-07-28T12:34:56Z`.
pub fn utc_seconds(seconds: u64) -> String {
    date(seconds.saturating_mul(1_000)).to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// A moment as `2026-07-28T12:34:56.123456Z`. Written digit by digit: each log line has one, and `format!` takes ten times as long.
pub fn utc_micros(moment: SystemTime) -> String {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    let date = date(millis(moment));
    let mut text = *b"0000-00-00T00:00:00.000000Z";
    for (place, mut number) in [
        (0..4, date.year().unsigned_abs()),
        (5..7, date.month()),
        (8..10, date.day()),
        (11..13, date.hour()),
        (14..16, date.minute()),
        (17..19, date.second()),
        (20..26, since.subsec_micros()),
    ] {
        for digit in text[place].iter_mut().rev() {
            *digit += u8::try_from(number % 10).unwrap_or_default();
            number /= 10;
        }
    }
    str::from_utf8(&text).unwrap_or_default().to_owned()
}

/// Whether a text is a day of the calendar, as `2026-07-28`.
pub fn is_day(text: &str) -> bool {
    let day = NaiveDate::parse_from_str(text, "%Y-%m-%d");
    day.is_ok_and(|day| day.to_string() == text)
}

/// Reads a date, or a date with a time in UTC, as milliseconds since 1970.
pub fn read(text: &str) -> Option<u64> {
    let (day, time) = match text.split_once(['T', 't', ' ']) {
        Some((day, time)) => (day, time.trim_end_matches(['Z', 'z'])),
        None => (text, "00:00"),
    };
    let day = NaiveDate::parse_from_str(day, "%Y-%m-%d").ok()?;
    let time = NaiveTime::parse_from_str(time, "%H:%M:%S%.f")
        .or_else(|_| NaiveTime::parse_from_str(time, "%H:%M"))
        .ok()?;
    u64::try_from(day.and_time(time).and_utc().timestamp_millis()).ok()
}

fn date(millis: u64) -> DateTime<Utc> {
    let date = i64::try_from(millis).ok();
    date.and_then(DateTime::from_timestamp_millis)
        .unwrap_or(DateTime::<Utc>::MAX_UTC)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn moments_are_written_in_utc_and_read_back() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_785_242_096, "2026-07-28T12:34:56Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc_seconds(seconds), expected);
            assert_eq!(utc(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
            let later = UNIX_EPOCH + Duration::new(seconds, 20_340_999);
            assert_eq!(utc_micros(later), expected.replace('Z', ".020340Z"));
            assert_eq!(read(expected), Some(seconds * 1_000));
            let with_millis = expected.replace('Z', ".007Z");
            assert_eq!(utc_millis(seconds * 1_000 + 7), with_millis);
            assert_eq!(read(&with_millis), Some(seconds * 1_000 + 7));
        }
        assert!(!utc_millis(u64::MAX).is_empty());
        let far = UNIX_EPOCH + Duration::from_secs(1 << 40);
        assert_eq!(utc_micros(far).len(), 27);
    }
}
