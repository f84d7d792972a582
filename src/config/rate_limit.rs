//! The key `rate_limit`: how many requests one caller may send.

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::values::{Scalar, WholeNumber, schema_as};

/// The rate of one caller, as a bucket of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(from = "RawLimit")]
pub struct RateLimit {
    /// The time after which one more request is in the bucket.
    pub interval: Duration,
    /// How many requests a full bucket has.
    pub burst: u32,
}

impl RateLimit {
    /// Takes a request out of a bucket that is full again at the time `full`. Gives the new time at which it will be full, or, if it is
    /// empty, how long to wait for a request.
    pub fn take(self, full: Instant, now: Instant) -> Result<Instant, Duration> {
        let until_full = full.saturating_duration_since(now);
        let room = self.interval.saturating_mul(self.burst - 1);
        match until_full.checked_sub(room) {
            Some(wait) if !wait.is_zero() => Err(wait),
            _ => Ok(now + until_full + self.interval),
        }
    }
}

/// The maximum of requests in one unit of time; a higher number would not limit anything.
const MOST: usize = 1_000_000;

/// `rate_limit` as it is written.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct RawLimit {
    /// Requests a minute, or "10/s", "600/m", "1000/h".
    per_caller: Rate,
    /// Number of requests that a caller may send at once; by default the number in `per_caller`.
    burst: Option<WholeNumber<1, MOST, 1>>,
}

/// A number of requests in a unit of time.
#[derive(Deserialize)]
#[serde(try_from = "Scalar")]
struct Rate(u32, Duration);
schema_as!(Rate, Scalar);

impl TryFrom<Scalar> for Rate {
    type Error = &'static str;

    fn try_from(written: Scalar) -> Result<Self, Self::Error> {
        let (count, unit) = rate(&written.into()).ok_or(
            "must be a number of requests a minute, at least 1, or a string such as \"10/s\", \"600/m\" or \"1000/h\"",
        )?;
        Ok(Self(count, unit))
    }
}

impl From<RawLimit> for RateLimit {
    fn from(raw: RawLimit) -> Self {
        let Rate(count, unit) = raw.per_caller;
        let burst = raw.burst.and_then(|burst| u32::try_from(burst.0).ok());
        Self {
            interval: unit / count,
            burst: burst.unwrap_or(count),
        }
    }
}

schema_as!(RateLimit, RawLimit);

/// Reads the number of requests, and the unit of time.
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
        .filter(|count| (1..=MOST).contains(&(*count as usize)))?;
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
