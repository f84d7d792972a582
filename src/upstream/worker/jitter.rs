//! Pauses that differ a little from each other.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

/// At most a quarter more, so that servers which failed together do not come back together.
pub(super) fn jittered(pause: Duration) -> Duration {
    let percent = RandomState::new().hash_one(0_u8) % 26;
    pause + pause * u32::try_from(percent).unwrap_or(0) / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_longer_at_random_but_not_by_much() {
        let pause = Duration::from_secs(8);
        let drawn: std::collections::BTreeSet<_> = (0..1_000).map(|_| jittered(pause)).collect();
        assert!(drawn.len() > 10, "{drawn:?}");
        assert!(
            drawn
                .iter()
                .all(|drawn| (pause..=pause * 5 / 4).contains(drawn))
        );
    }
}
