//! Points in time as records and people write them: RFC 3339 in UTC, to the millisecond.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::config::duration;

const DAY: i64 = 86_400;

const DAY_MILLIS: u64 = 86_400_000;

/// Milliseconds since 1970; what is before counts as 1970.
pub(super) fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// What the first of so many digits counts.
const FIRST_PLACE: [i64; 5] = [0, 1, 10, 100, 1_000];

/// `2026-11-21T20:44:19.123Z`.
pub(super) fn show(millis: u64) -> String {
    let seconds = i64::try_from(millis / 1_000).unwrap_or(i64::MAX);
    let (days, rest) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (year, month, day) = date_of(days);
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    let fraction = i64::try_from(millis % 1_000).unwrap_or(0);
    if !(0..10_000).contains(&year) {
        return format!(
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:03}Z"
        );
    }
    let parts = [
        (year, 4, '-'),
        (month, 2, '-'),
        (day, 2, 'T'),
        (hour, 2, ':'),
        (minute, 2, ':'),
        (second, 2, '.'),
        (fraction, 3, 'Z'),
    ];
    let mut shown = String::with_capacity(24);
    for (number, digits, after) in parts {
        let mut place = FIRST_PLACE[digits];
        while place > 0 {
            let digit = u8::try_from(number / place % 10).unwrap_or(0);
            shown.push(char::from(b'0' + digit));
            place /= 10;
        }
        shown.push(after);
    }
    shown
}

/// Reads a point in time: a date, a date with a time in UTC, the beginning of `today` or `yesterday` there, or how long ago (`90m`, `2d`).
pub(super) fn read(text: &str, now: SystemTime) -> Option<u64> {
    let text = text.trim();
    if let Some(ago) = duration::parse(text) {
        let then = now.checked_sub(ago).unwrap_or(UNIX_EPOCH);
        return Some(millis(then));
    }
    let days_ago = match text {
        "today" => Some(0),
        "yesterday" => Some(1),
        _ => None,
    };
    if let Some(days_ago) = days_ago {
        let days = millis(now) / DAY_MILLIS;
        return days.saturating_sub(days_ago).checked_mul(DAY_MILLIS);
    }
    let (date, time) = match text.split_once(['T', 't', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let mut parts = date.splitn(3, '-');
    let (year, month, day) = (
        number(&mut parts, 4)?,
        number(&mut parts, 2)?,
        number(&mut parts, 2)?,
    );
    let days = days_until(year, month, day)?;
    let of_day = match time {
        Some(time) => read_time(time)?,
        None => Duration::ZERO,
    };
    let of_days = u64::try_from(days).ok()?.checked_mul(DAY_MILLIS)?;
    of_days.checked_add(u64::try_from(of_day.as_millis()).ok()?)
}

fn read_time(text: &str) -> Option<Duration> {
    let text = text.trim_end_matches(['Z', 'z']);
    let (text, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = text.splitn(3, ':');
    let (hour, minute) = (number(&mut parts, 2)?, number(&mut parts, 2)?);
    let second = match parts.next() {
        Some(second) => number(&mut std::iter::once(second), 2)?,
        None => 0,
    };
    if !(0..24).contains(&hour) || !(0..60).contains(&minute) || !(0..=60).contains(&second) {
        return None;
    }
    if !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
    let seconds = u64::try_from(hour * 3_600 + minute * 60 + second).ok()?;
    Some(Duration::from_secs(seconds) + Duration::from_millis(digits.parse().ok()?))
}

/// A number of at most so many digits.
fn number<'a>(parts: &mut impl Iterator<Item = &'a str>, digits: usize) -> Option<i64> {
    let text = parts.next()?;
    let is_number = (1..=digits).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

/// The date so many days after 1970-01-01 (proleptic Gregorian calendar, in eras of 400 years that begin in March).
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// The days from 1970-01-01 to a date, if there is such a date.
fn days_until(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let shifted = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (shifted.div_euclid(400), shifted.rem_euclid(400));
    let from_march = (month + 9) % 12;
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    (date_of(days) == (year, month, day)).then_some(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_795_293_859_123;

    #[track_caller]
    fn check(text: &str, expected: impl Into<Option<u64>>) {
        let now = UNIX_EPOCH + Duration::from_millis(NOW);
        assert_eq!(read(text, now), expected.into(), "{text:?}");
    }

    #[test]
    fn times_are_read_as_they_are_shown() {
        for time in [0, 951_782_400_000, 951_868_799_999, NOW, 4_102_444_800_000] {
            check(&show(time), time);
        }
        assert_eq!(show(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(show(NOW), "2026-11-21T20:44:19.123Z");
    }

    #[test]
    fn times_are_read_as_people_write_them() {
        check("2000-02-29", 951_782_400_000);
        check("2000-02-29 00:01", 951_782_460_000);
        check("2000-02-29T00:01:00.5Z", 951_782_460_500);
        check("today", 1_795_219_200_000);
        check("yesterday", 1_795_219_200_000 - 86_400_000);
        check("0s", NOW);
        check("1h", NOW - 3_600_000);
        check("365d", NOW - 365 * 86_400_000);
        for bad in [
            "",
            "x",
            "2001-02-29",
            "2000-13-01",
            "2000-00-01",
            "2000-01-32",
            "2000-01",
            "2000-1-1T24:00",
            "2000-01-01T1",
            "2000-01-01T00:00+02:00",
            "2000-01-01T00:00:00.x",
            "-5",
            "1969-12-31",
            "99999-01-01",
        ] {
            check(bad, None);
        }
    }
}
