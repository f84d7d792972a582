//! The rate limit of each caller: a bucket of requests that fills with time (a token bucket).

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{config::RateLimit, runtime::sync::Guarded};

/// Limit: callers that are counted. Beyond that, those with the fullest buckets are forgotten.
const MOST: usize = 10_000;

/// Whose requests are counted together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum BucketOwner {
    /// The requests of a subject.
    Subject(Box<str>),
    /// The requests from an address without a credential.
    Address(IpAddr),
    /// The requests of a connection.
    Connection(Arc<str>),
}

impl BucketOwner {
    /// By an address; of IPv6 by its network of 64 bits, because each customer has a whole one.
    pub(super) fn address(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V6(v6) => {
                let [a, b, c, d, ..] = v6.segments();
                Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
            }
            v4 @ IpAddr::V4(_) => v4,
        })
    }
}

/// When the bucket of each caller will be full again. Callers that are missing here have a full one.
#[derive(Debug, Default)]
pub(super) struct Buckets(Guarded<HashMap<BucketOwner, Instant>>);

impl Buckets {
    /// Takes one request out of a bucket; the error is the time until there will be one.
    pub(super) fn take(
        &self,
        counted: BucketOwner,
        limit: RateLimit,
        now: Instant,
    ) -> Result<(), Duration> {
        let mut full_at = self.0.lock();
        let full = full_at.get(&counted).copied().unwrap_or(now);
        let full = limit.take(full, now)?;
        if full_at.len() >= MOST && !full_at.contains_key(&counted) {
            make_room(&mut full_at, now);
        }
        full_at.insert(counted, full);
        Ok(())
    }
}

/// Forgets callers with a full bucket, or else the half whose buckets are fullest.
fn make_room(full_at: &mut HashMap<BucketOwner, Instant>, now: Instant) {
    full_at.retain(|_, at| *at > now);
    if full_at.len() < MOST {
        return;
    }
    let mut times: Vec<Instant> = full_at.values().copied().collect();
    let (_, median, _) = times.select_nth_unstable(MOST / 2);
    let median = *median;
    full_at.retain(|_, at| *at > median);
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: RateLimit = RateLimit {
        interval: Duration::from_secs(1),
        burst: 3,
    };

    #[expect(clippy::needless_pass_by_value, reason = "names and numbers alike")]
    fn subject(name: impl ToString) -> BucketOwner {
        BucketOwner::Subject(name.to_string().into())
    }

    #[test]
    fn a_bucket_is_emptied_at_once_and_fills_slowly() {
        let (buckets, start) = (Buckets::default(), Instant::now());
        let take = |name: &str, after: f64| {
            let now = start + Duration::from_secs_f64(after);
            buckets.take(subject(name), LIMIT, now)
        };
        for _ in 0..3 {
            assert_eq!(take("a", 0.0), Ok(()));
        }
        assert_eq!(take("a", 0.0), Err(Duration::from_secs(1)));
        assert_eq!(take("a", 0.5), Err(Duration::from_millis(500)));
        assert_eq!(take("b", 0.5), Ok(()), "another caller is not concerned");
        assert_eq!(take("a", 1.0), Ok(()));
        assert!(take("a", 1.5).is_err());
        for _ in 0..3 {
            assert_eq!(take("a", 60.0), Ok(()), "no more than the burst is saved");
        }
        assert!(take("a", 60.0).is_err());
    }

    #[test]
    fn so_many_callers_are_counted_and_no_more() {
        let (buckets, start) = (Buckets::default(), Instant::now());
        for n in 0..3 * MOST {
            let at = start + Duration::from_micros(n as u64);
            assert_eq!(buckets.take(subject(n), LIMIT, at), Ok(()));
            assert!(buckets.0.lock().len() <= MOST);
        }
    }

    #[test]
    fn a_network_of_ipv6_is_one_caller() {
        let of = |text: &str| BucketOwner::address(text.parse().expect("an address"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
        assert_ne!(of("10.0.0.2"), of("10.0.0.1"));
    }
}
