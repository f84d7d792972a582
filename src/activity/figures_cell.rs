//! The sums of some calls: their number, outcomes, durations, clients and callers. Pure.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::outcome::is_failure;
use crate::{telemetry::metrics::CountedCall, text::moment};

/// Limit: names of clients, and of callers, in a sum.
pub(super) const MOST_NAMED: usize = 20;

/// Limit: classes of durations in a cell. When there are more, the two nearest are joined.
const MOST_TIMES: usize = 32;

/// The sums of calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CallSums {
    /// The number of finished calls.
    pub calls: u64,
    /// The number of failed calls: `failed`, `tool_error`, `rpc_error` and `invalid`.
    pub failed: u64,
    /// The number of refused calls.
    pub refused: u64,
    /// The median duration in microseconds of calls that reached a server, accurate to an eighth, or less where a tool's durations of an
    /// hour differ more than 256-fold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median_us: Option<u64>,
    /// The duration in microseconds that 95 of 100 calls did not exceed, as accurate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_us: Option<u64>,
    /// The time of the last call, if that was in the last 24 hours (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// The names of the clients that called; at most 20.
    pub clients: Vec<String>,
    /// The callers; at most 20.
    pub callers: Vec<String>,
}

/// The sums of some calls while they are counted.
#[derive(Debug, Clone, Default)]
pub(super) struct Cell {
    pub(super) calls: u64,
    pub(super) failed: u64,
    refused: u64,
    /// When the last of them ended, in milliseconds since 1970.
    pub(super) last: Option<u64>,
    /// The classes of durations in their order, and the number of calls of each.
    times: Vec<(u8, u32)>,
    clients: Vec<Arc<str>>,
    callers: Vec<Arc<str>>,
}

impl Cell {
    pub(super) fn add(
        &mut self,
        call: CountedCall<'_>,
        client: Option<&Arc<str>>,
        caller: Option<&Arc<str>>,
    ) {
        self.calls += call.calls;
        self.last = self.last.max(Some(call.millis));
        match call.outcome {
            outcome if is_failure(outcome) => self.failed += call.calls,
            "refused" => self.refused += call.calls,
            _ => (),
        }
        let reached = !matches!(call.outcome, "refused" | "invalid");
        for took in call.took.iter().filter(|_| reached) {
            let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
            self.add_times(class_of(us), 1);
        }
        put(&mut self.clients, client);
        put(&mut self.callers, caller);
    }

    fn add_times(&mut self, class: u8, times: u32) {
        match self.times.binary_search_by_key(&class, |(class, _)| *class) {
            Ok(at) => self.times[at].1 += times,
            Err(at) => self.times.insert(at, (class, times)),
        }
        if self.times.len() > MOST_TIMES {
            self.join_nearest();
        }
    }

    /// Joins the two classes that are nearest to each other; of several such pairs that with the fewest calls. The rarer class is added to the
    /// other.
    fn join_nearest(&mut self) {
        let pairs = self.times.windows(2).enumerate();
        let near = |(_, pair): &(usize, &[(u8, u32)])| {
            let times = u64::from(pair[0].1) + u64::from(pair[1].1);
            (pair[1].0 - pair[0].0, times)
        };
        let Some((at, pair)) = pairs.min_by_key(near) else {
            return;
        };
        let times = pair[0].1.saturating_add(pair[1].1);
        let class = if pair[0].1 > pair[1].1 {
            pair[0].0
        } else {
            pair[1].0
        };
        self.times[at] = (class, times);
        self.times.remove(at + 1);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.calls += other.calls;
        self.failed += other.failed;
        self.refused += other.refused;
        self.last = self.last.max(other.last);
        for (class, times) in &other.times {
            match self.times.binary_search_by_key(class, |(class, _)| *class) {
                Ok(at) => self.times[at].1 += times,
                // Without a limit: the sum lives only for one answer, and there are at most 256 classes.
                Err(at) => self.times.insert(at, (*class, *times)),
            }
        }
        put(&mut self.clients, &other.clients);
        put(&mut self.callers, &other.callers);
    }

    pub(super) fn sums(&self, last: Option<u64>) -> CallSums {
        let names = |names: &[Arc<str>]| names.iter().map(ToString::to_string).collect();
        CallSums {
            calls: self.calls,
            failed: self.failed,
            refused: self.refused,
            median_us: self.percentile(50),
            p95_us: self.percentile(95),
            last: last.map(moment::utc_millis),
            clients: names(&self.clients),
            callers: names(&self.callers),
        }
    }

    /// The duration in microseconds that so many of a hundred calls did not exceed.
    fn percentile(&self, of_hundred: u64) -> Option<u64> {
        let timed: u64 = self.times.iter().map(|(_, times)| u64::from(*times)).sum();
        let wanted = timed.saturating_mul(of_hundred).div_ceil(100);
        let mut until = 0;
        let found = self.times.iter().find(|(_, times)| {
            until += u64::from(*times);
            until >= wanted
        });
        found.map(|(class, _)| middle_of(*class))
    }
}

fn put<'a>(names: &mut Vec<Arc<str>>, more: impl IntoIterator<Item = &'a Arc<str>>) {
    for name in more {
        if names.len() < MOST_NAMED && !names.contains(name) {
            names.push(name.clone());
        }
    }
}

/// The class of a duration in microseconds: four classes for each power of two.
fn class_of(us: u64) -> u8 {
    let Some(bits) = us.checked_ilog2().filter(|bits| *bits >= 2) else {
        return u8::try_from(us).unwrap_or(0);
    };
    let quarter = (us >> (bits - 2)) & 3;
    u8::try_from(u64::from(bits) * 4 + quarter).unwrap_or(u8::MAX)
}

fn middle_of(class: u8) -> u64 {
    if class < 8 {
        return class.into();
    }
    let (bits, quarter) = (u32::from(class) / 4, u64::from(class) % 4);
    let width = 1_u64 << (bits - 2);
    (4 + quarter) * width + width / 2
}

#[cfg(test)]
mod tests {
    use proptest::proptest;

    use super::*;

    #[test]
    fn a_duration_far_from_all_others_stays_what_it_is() {
        let mut cell = Cell::default();
        for class in (40..72).chain([120]) {
            cell.add_times(class, 10);
        }
        cell.add_times(120, 100);
        assert_eq!(cell.times.len(), MOST_TIMES);
        assert_eq!(cell.percentile(95), Some(middle_of(120)));
        let all: u32 = cell.times.iter().map(|(_, times)| times).sum();
        assert_eq!(all, 430);
    }

    proptest! {
        #[test]
        fn a_class_has_what_is_near_to_it(us in 0_u64..) {
            let middle = middle_of(class_of(us));
            assert!(middle.abs_diff(us) <= us / 8 + 1, "{us}: {middle}");
        }
    }
}
