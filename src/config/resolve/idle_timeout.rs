//! The keys `idle_timeout`, `min_idle_timeout` and `max_idle_timeout`.

use std::time::Duration;

use serde_json::Value;

use crate::config::{
    ConfigFinding, IdleTimeout, Transport, Warning, duration, finding::Checked, raw::RawEntry,
};

/// The default bounds of an adaptive timeout.
const MIN: Duration = Duration::from_mins(1);
const MAX: Duration = Duration::from_mins(5);

/// The minimum: with a shorter timeout, each call would start the server again.
const SHORTEST: Duration = Duration::from_secs(1);

/// Checks these keys of an entry.
pub(super) fn idle_timeout(
    raw: &mut RawEntry,
    transport: &Transport,
    warnings: &mut Vec<Warning>,
) -> Checked<IdleTimeout> {
    let least = raw.min_idle_timeout.map(|time| time.0);
    let most = raw.max_idle_timeout.map(|time| time.0);
    let (min, max) = match (least, most) {
        (Some(min), Some(max)) if min > max => {
            let problem = "is longer than `max_idle_timeout`";
            return Err(ConfigFinding::new("min_idle_timeout", problem));
        }
        // If only one is given, the default of the other is adjusted to it.
        (Some(min), max) => (min, max.unwrap_or(min.max(MAX))),
        (None, Some(max)) => (max.min(MIN), max),
        (None, None) => (MIN, MAX),
    };
    let adaptive = IdleTimeout::Adaptive { min, max };
    let chosen = match (raw.idle_timeout.take().map(Value::from), transport) {
        (None, Transport::Stdio(_)) => adaptive,
        (None, Transport::Remote(_)) => IdleTimeout::Never,
        (Some(written), _) if written == "adaptive" => adaptive,
        (Some(written), _) if written == "never" => IdleTimeout::Never,
        (Some(written), _) => match duration::from_json(&written) {
            Some(time) if time >= SHORTEST => IdleTimeout::After(time),
            _ => {
                let accepted =
                    "must be \"adaptive\", \"never\" or a duration of at least 1s such as \"2m\"";
                return Err(ConfigFinding::new("idle_timeout", accepted));
            }
        },
    };
    let mut bounds = [("min_idle_timeout", least), ("max_idle_timeout", most)].into_iter();
    if let Some((key, _)) = bounds.find(|(_, bound)| bound.is_some())
        && chosen != adaptive
    {
        let ignored =
            "`min_idle_timeout` and `max_idle_timeout` bound only \"adaptive\" and are ignored";
        warnings.push(Warning::new(ignored).at(key));
    }
    Ok(chosen)
}
