//! `rate_limit`: how much one caller may ask.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{
    fields::{BadField, ObjectFields},
    unknown_keys,
};

/// How often a caller may ask, and how much at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// The time after which one more request is allowed.
    pub interval: Duration,
    /// How many may come at once after a while of silence.
    pub burst: u32,
}

impl RateLimit {
    /// Takes a request out of a bucket that is full again at `full`: when it is then, or after what time there will be a request in it.
    pub fn take(self, full: Instant, now: Instant) -> Result<Instant, Duration> {
        let until_full = full.saturating_duration_since(now);
        let room = self.interval.saturating_mul(self.burst - 1);
        match until_full.checked_sub(room) {
            Some(wait) if !wait.is_zero() => Err(wait),
            _ => Ok(now + until_full + self.interval),
        }
    }
}

/// Limit: requests in one unit of time. More is no limit.
const MOST: u32 = 1_000_000;

const ACCEPTED: &str =
    "must be a number of requests a minute, or a text such as \"10/s\", \"600/m\" or \"1000/h\"";

/// Reads the limit, and what should be said of it.
pub(super) fn read(
    fields: &mut ObjectFields<'_>,
) -> Result<(Option<RateLimit>, Vec<String>), BadField> {
    let Some(mut limit) = fields.object("rate_limit")? else {
        return Ok((None, Vec::new()));
    };
    let written = limit.resolved("per_caller")?;
    let known = ["per_caller", "burst"];
    let Some(written) = written else {
        let left = limit.keys();
        let meant = left
            .iter()
            .find(|key| unknown_keys::meant(key, &known) == Some("per_caller"));
        if let Some(key) = meant {
            return Err(limit.bad(key, unknown_keys::refused(key, &known)));
        }
        return Err(limit.bad("per_caller", format_args!("is missing: it {ACCEPTED}")));
    };
    let (count, unit) = rate(&written).ok_or_else(|| limit.bad("per_caller", ACCEPTED))?;
    let burst = limit.count("burst", 1..=MOST as usize)?;
    let burst = burst.and_then(|burst| u32::try_from(burst).ok());
    let read = RateLimit {
        interval: unit / count,
        burst: burst.unwrap_or(count),
    };
    Ok((Some(read), limit.unknown(&known)))
}

/// So many in this time.
fn rate(written: &Value) -> Option<(u32, Duration)> {
    let (count, unit) = match written {
        Value::Number(number) => (number.as_u64()?, "m"),
        Value::String(text) => {
            let (count, unit) = text.split_once('/').unwrap_or((text, "m"));
            (count.trim().parse().ok()?, unit.trim())
        }
        _ => return None,
    };
    let unit = match unit {
        "s" => Duration::from_secs(1),
        "m" => Duration::from_mins(1),
        "h" => Duration::from_hours(1),
        _ => return None,
    };
    let count = u32::try_from(count)
        .ok()
        .filter(|count| (1..=MOST).contains(count))?;
    Some((count, unit))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rates_are_read_as_people_write_them() {
        let check = |written: Value, expected: Option<(u32, u64)>| {
            let expected = expected.map(|(count, unit)| (count, Duration::from_secs(unit)));
            assert_eq!(rate(&written), expected, "{written}");
        };
        check(json!(60), Some((60, 60)));
        check(json!("10/s"), Some((10, 1)));
        check(json!("1000 / h"), Some((1000, 3600)));
        check(json!("7"), Some((7, 60)));
        for bad in [
            json!(0),
            json!(-1),
            json!(1.5),
            json!("10/d"),
            json!("x"),
            json!([]),
            json!(9_999_999),
        ] {
            check(bad, None);
        }
    }
}
