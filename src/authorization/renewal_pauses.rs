//! When the token of a login may be renewed: at once, or after a pause that grows while renewals fail or bring tokens that the server
//! refuses. Pure: the caller owns the clock.

use std::time::{Duration, Instant};

use http::HeaderValue;

use crate::config::duration;

/// The pause after a renewal that brought nothing. Each further one in a row doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Why a login does not work although nobody has ended it, and when it is renewed again by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginTrouble {
    /// Why, in words that hold no secret.
    pub why: String,
    /// When it is renewed again by itself.
    pub until: Instant,
}

impl LoginTrouble {
    /// How long it is until then.
    pub fn wait(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }
}

impl std::fmt::Display for LoginTrouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let wait = Duration::from_secs(self.wait().as_secs() + 1);
        let wait = duration::show(wait);
        write!(f, "{}; next attempt in {wait}", self.why)
    }
}

/// Why a token is renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RenewalCause {
    /// It has ended, or soon will.
    Age,
    /// The server refused it.
    Refusal,
}

/// The cause of a pause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum PauseCause {
    /// The authorization server neither renewed the token nor refused to.
    #[default]
    FailedRenewal,
    /// The server refused a token that had just been renewed.
    RefusedToken,
}

/// When the tokens of one login may be renewed.
#[derive(Default)]
pub(super) struct RenewalPauses {
    /// Renewals in a row that brought nothing.
    in_vain: u32,
    cause: PauseCause,
    trouble: Option<LoginTrouble>,
    /// The token that replaced a refused one, until the server takes it.
    unproved: Option<HeaderValue>,
}

impl RenewalPauses {
    /// The pause at this moment, if there is one.
    pub(super) fn pausing(&self, now: Instant) -> Option<LoginTrouble> {
        self.trouble.clone().filter(|trouble| now < trouble.until)
    }

    /// The server refused the token in use. Nothing if it is to be renewed at once.
    pub(super) fn refused(&mut self, token: &HeaderValue, now: Instant) -> Option<LoginTrouble> {
        let is_unproved = self.unproved.as_ref() == Some(token);
        if is_unproved {
            // When the pause is over it is renewed after all.
            self.unproved = None;
            let why = "it rejects a newly issued token";
            return Some(self.prolong(PauseCause::RefusedToken, why.to_owned(), now));
        }
        self.pausing(now)
    }

    /// A renewal brought this token.
    pub(super) fn renewed(&mut self, token: &HeaderValue, cause: RenewalCause) {
        if self.cause == PauseCause::FailedRenewal {
            self.in_vain = 0;
        }
        self.trouble = None;
        let is_doubted = cause == RenewalCause::Refusal || self.in_vain > 0;
        self.unproved = is_doubted.then(|| token.clone());
    }

    /// A renewal failed, for this reason.
    pub(super) fn failed(&mut self, why: &str, now: Instant) -> LoginTrouble {
        let why = format!("its login could not be renewed: {why}");
        self.prolong(PauseCause::FailedRenewal, why, now)
    }

    /// The server took the token in use. Whether nothing is left in doubt.
    pub(super) fn accepted(&mut self, token: &HeaderValue, now: Instant) -> bool {
        if self.unproved.as_ref() == Some(token) {
            self.unproved = None;
        }
        if self.cause == PauseCause::RefusedToken && self.pausing(now).is_none() {
            *self = Self::default();
        }
        self.unproved.is_none() && self.cause == PauseCause::FailedRenewal
    }

    fn prolong(&mut self, cause: PauseCause, why: String, now: Instant) -> LoginTrouble {
        let pause = FIRST_PAUSE * (1 << self.in_vain.min(8));
        self.in_vain = self.in_vain.saturating_add(1);
        self.cause = cause;
        let until = now + pause.min(LONGEST_PAUSE);
        let trouble = LoginTrouble { why, until };
        self.trouble = Some(trouble.clone());
        trouble
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(n: u32) -> HeaderValue {
        HeaderValue::try_from(format!("Bearer {n}")).expect("plain text")
    }

    #[test]
    fn a_refused_token_is_renewed_at_once_and_a_loop_slows_down() {
        let (mut pauses, start) = (RenewalPauses::default(), Instant::now());
        let (mut now, mut waits) = (start, Vec::new());
        for n in 0..7 {
            if let Some(trouble) = pauses.refused(&token(n), now) {
                waits.push((trouble.until - now).as_secs());
                assert_eq!(pauses.refused(&token(n), now), Some(trouble.clone()));
                now = trouble.until;
                assert_eq!(pauses.refused(&token(n), now), None, "{n}");
            }
            pauses.renewed(&token(n + 1), RenewalCause::Refusal);
        }
        assert_eq!(waits, [5, 10, 20, 40, 60, 60]);
        assert!(pauses.accepted(&token(7), now));
        assert_eq!(pauses.refused(&token(7), now), None);
    }

    #[test]
    fn a_server_that_takes_some_requests_only_does_not_end_a_pause() {
        let (mut pauses, now) = (RenewalPauses::default(), Instant::now());
        pauses.renewed(&token(1), RenewalCause::Refusal);
        let trouble = pauses.refused(&token(1), now).expect("a pause");
        assert!(!pauses.accepted(&token(1), now));
        assert_eq!(pauses.refused(&token(1), now), Some(trouble));
    }

    #[test]
    fn an_authorization_server_that_is_down_is_asked_more_and_more_seldom() {
        let (mut pauses, now) = (RenewalPauses::default(), Instant::now());
        let waits: Vec<u64> = (0..6)
            .map(|_| (pauses.failed("it is down", now).until - now).as_secs())
            .collect();
        assert_eq!(waits, [5, 10, 20, 40, 60, 60]);
        // That the server still takes the old token says nothing about it.
        assert!(pauses.accepted(&token(0), now));
        let trouble = pauses.pausing(now).expect("a pause");
        assert!(trouble.to_string().contains("next attempt in"), "{trouble}");
        pauses.renewed(&token(1), RenewalCause::Age);
        assert_eq!(pauses.pausing(now), None);
        assert_eq!((pauses.failed("again", now).until - now).as_secs(), 5);
    }
}
