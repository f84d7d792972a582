//! How many questions the client of one call may get, and for how long.

use std::time::Duration;

/// How long a client may take to answer a question on the stream of its request.
pub(super) const LIVE_ANSWER: Duration = Duration::from_mins(10);

/// How long a client may take to call again with its answers.
const ROUND: Duration = Duration::from_mins(2);

/// How long a call may wait, over all rounds, for its client to call again.
const ALL_ROUNDS: Duration = Duration::from_mins(10);

/// Limit: rounds of one call.
const ROUNDS: usize = 16;

/// What is left of the rounds of one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RoundBudget {
    /// How many rounds of questions there were.
    rounds: usize,
    /// How long it has waited for its client to call again; a round that runs counts in full.
    waited: Duration,
}

impl RoundBudget {
    /// Why the client may not get one more round; nothing if it may.
    pub(super) fn used_up(self) -> Option<String> {
        let minutes = ALL_ROUNDS.as_secs() / 60;
        if self.rounds >= ROUNDS {
            Some(format!(
                "this call has had {ROUNDS} rounds of questions, the most that a call may have"
            ))
        } else if self.waited >= ALL_ROUNDS {
            Some(format!(
                "this call has waited {minutes} min for answers, the longest that a call may wait"
            ))
        } else {
            None
        }
    }

    /// A round of questions begins on the client's stream.
    pub(super) fn begin_live(&mut self) {
        self.rounds += 1;
    }

    /// A round begins for which the client has to call again. How long it may take.
    pub(super) fn begin_parked(&mut self) -> Duration {
        self.rounds += 1;
        let round = ROUND.min(ALL_ROUNDS.saturating_sub(self.waited));
        self.waited += round;
        round
    }

    /// The client came back before the round was over.
    pub(super) fn give_back(&mut self, unused: Duration) {
        self.waited = self.waited.saturating_sub(unused);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_counted() {
        let mut budget = RoundBudget::default();
        for _ in 0..ROUNDS {
            assert_eq!(budget.used_up(), None);
            let round = budget.begin_parked();
            budget.give_back(round);
        }
        assert!(
            budget
                .used_up()
                .is_some_and(|why| why.contains("16 rounds"))
        );
        let mut live = RoundBudget::default();
        (0..ROUNDS).for_each(|_| live.begin_live());
        assert!(live.used_up().is_some());
    }

    #[test]
    fn no_call_waits_longer_than_all_rounds() {
        let mut budget = RoundBudget::default();
        let mut rounds = Duration::ZERO;
        while budget.used_up().is_none() {
            let round = budget.begin_parked();
            assert!(!round.is_zero() && round <= ROUND);
            rounds += round;
        }
        assert_eq!(rounds, ALL_ROUNDS);
        assert!(budget.used_up().is_some_and(|why| why.contains("10 min")));
    }

    #[test]
    fn what_a_client_does_not_use_of_a_round_is_left() {
        let mut budget = RoundBudget::default();
        for _ in 0..6 {
            budget.begin_parked();
            budget.give_back(Duration::from_secs(30));
        }
        assert_eq!(budget.used_up(), None);
        assert_eq!(budget.begin_parked(), Duration::from_mins(1));
        assert!(budget.used_up().is_some());
    }
}
