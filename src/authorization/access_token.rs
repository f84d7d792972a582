//! A token that is in use, and when it is renewed. Pure but for the clock.

use std::time::{SystemTime, UNIX_EPOCH};

use http::HeaderValue;

use super::login_file::Grant;

/// A token is renewed when this part of its life is over, in percent.
const RENEWED_AT: u64 = 80;

/// Up to so many percent of its life earlier, so that tokens of one moment are not renewed in one moment.
const JITTER: u64 = 5;

/// How long before its end a token is not sent any more, in seconds: it must not end on its way.
const MARGIN: u64 = 5;

/// A token that is younger than so many seconds is sent whatever its declared life: some end as they come, and each request would be
/// preceded by a renewal. The server refuses it where it has ended.
const YOUNGEST: u64 = 5;

/// A token in use.
pub(super) struct AccessToken {
    /// `Bearer …`, marked as sensitive.
    pub(super) header: HeaderValue,
    /// Whether there is something to renew it with.
    pub(super) is_renewable: bool,
    received: u64,
    /// In seconds; nothing where the server does not say.
    lifetime: Option<u64>,
}

impl AccessToken {
    /// What a grant gives, unless no header can carry it.
    pub(super) fn of(grant: &Grant) -> Option<Self> {
        let text = format!("Bearer {}", grant.access_token.reveal());
        let mut header = HeaderValue::try_from(text).ok()?;
        header.set_sensitive(true);
        Some(Self {
            header,
            is_renewable: grant.refresh_token.is_some(),
            received: grant.received,
            lifetime: grant.lifetime,
        })
    }

    /// Whether it is not to be sent any more.
    pub(super) fn has_ended(&self, now: u64) -> bool {
        self.is_older(now, |lifetime| lifetime - MARGIN.min(lifetime / 10))
    }

    /// Whether it is time to renew it.
    pub(super) fn is_due(&self, now: u64) -> bool {
        let percent = RENEWED_AT - self.received % (JITTER + 1);
        self.is_older(now, |lifetime| lifetime.saturating_mul(percent) / 100)
    }

    /// Whether it is older than this part of its declared life, which counts only after a moment: see [`YOUNGEST`].
    fn is_older(&self, now: u64, part: impl Fn(u64) -> u64) -> bool {
        let age = self.lifetime.map(|lifetime| part(lifetime).max(YOUNGEST));
        age.is_some_and(|age| now >= self.received.saturating_add(age))
    }
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Secret;

    fn token(lifetime: Option<u64>) -> AccessToken {
        AccessToken::of(&Grant {
            access_token: Secret::new("t"),
            refresh_token: Some(Secret::new("r")),
            received: 1_200,
            lifetime,
            ..Grant::default()
        })
        .expect("a token")
    }

    #[test]
    fn a_token_is_renewed_in_time_and_not_sent_after_its_end() {
        let hour = token(Some(3600));
        assert!(!hour.is_due(1_200 + 2_600) && hour.is_due(1_200 + 2_900));
        assert!(!hour.has_ended(1_200 + 3_594) && hour.has_ended(1_200 + 3_595));
        let forever = token(None);
        assert!(!forever.is_due(u64::MAX) && !forever.has_ended(u64::MAX));
        let brief = token(Some(1));
        assert!(!brief.has_ended(1_204) && brief.has_ended(1_205));
        let ended = token(Some(0));
        assert!(!ended.has_ended(1_204) && !ended.is_due(1_204));
        assert!(ended.has_ended(1_205) && ended.is_due(1_205));
        assert!(token(Some(u64::MAX)).header.is_sensitive());
    }
}
