//! Reads and writes durations in the form of the configuration: `"2m"`, `"1h30m"`, `"500ms"`, or a number of seconds.

use std::time::Duration;

use serde_json::Value;

/// The longest accepted duration: a point in time plus a duration must not overflow.
const LONGEST: Duration = Duration::from_hours(365 * 24);

/// The accepted forms, for error texts.
pub(super) const ACCEPTED: &str =
    "a duration such as \"30s\", \"2m\" or \"1h30m\", or a number of seconds, at most 365 days";

/// Reads a duration in JSON: a string with units, or a number of seconds.
pub(super) fn from_json(value: &Value) -> Option<Duration> {
    match value {
        Value::String(text) => parse(text),
        Value::Number(number) => number
            .as_f64()
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .filter(|duration| *duration <= LONGEST),
        _ => None,
    }
}

/// Reads text such as `"1h30m"`: numbers, also with decimals, each with one of the units `ms`, `s`, `m`, `h` and `d`. Only `"0"` needs no
/// unit. The maximum is 365 days.
pub fn parse(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at_checked(digits)?;
        let letters = after
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(letters)?;
        let seconds = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        let part = Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()?;
        total = total.checked_add(part)?;
        rest = after;
    }
    (total <= LONGEST).then_some(total)
}

/// Writes a duration in the form that [`parse`] reads, down to milliseconds.
pub fn show(duration: Duration) -> String {
    written(duration, ["h", "m", "s", "ms"], "")
}

/// Writes a duration for a sentence, such as `1 h 30 min`.
pub fn in_words(duration: Duration) -> String {
    written(duration, [" h", " min", " s", " ms"], " ")
}

fn written(duration: Duration, units: [&str; 4], between: &str) -> String {
    if duration.is_zero() {
        return format!("0{}", units[2]);
    }
    let seconds = duration.as_secs();
    let counts = [
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60,
        u64::from(duration.subsec_millis()),
    ];
    let parts = counts.iter().zip(units).filter(|(count, _)| **count > 0);
    let parts: Vec<String> = parts
        .map(|(count, unit)| format!("{count}{unit}"))
        .collect();
    parts.join(between)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(input: &str, milliseconds: impl Into<Option<u64>>) {
        let expected = milliseconds.into().map(Duration::from_millis);
        assert_eq!(parse(input), expected, "{input:?}");
    }

    #[test]
    fn durations_are_numbers_with_units() {
        check("2m", 120_000);
        check("30s", 30_000);
        check("1h30m", 5_400_000);
        check("500ms", 500);
        check("1.5s", 1_500);
        check(" 1d ", 86_400_000);
        check("0s", 0);
        check("0", 0);
        for bad in [
            "",
            "30",
            "s",
            "m2",
            "-1s",
            "1e3s",
            "1 m",
            "1x",
            ".s",
            "1.2.3s",
            "inf",
            "366d",
            "99999999999999999999h",
            "2µs",
        ] {
            check(bad, None);
        }
    }

    #[test]
    fn a_plain_number_counts_seconds() {
        assert_eq!(from_json(&json!(90)), Some(Duration::from_secs(90)));
        assert_eq!(from_json(&json!(0.5)), Some(Duration::from_millis(500)));
        for bad in [json!(-1), json!(1e300), json!(true), json!(["2m"])] {
            assert_eq!(from_json(&bad), None, "{bad}");
        }
    }

    #[test]
    fn what_is_shown_reads_back() {
        for text in ["2m", "1h30m", "500ms", "1m1s250ms", "0s", "48h"] {
            assert_eq!(show(parse(text).expect("a duration")), text);
        }
    }
}
