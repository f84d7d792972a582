//! The states of one upstream and their transitions, as a pure function. Clock, process and socket belong to the worker.

use std::time::Duration;

/// The state of an upstream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum State {
    /// Not connected; the next call, or an operator, connects it.
    #[default]
    Asleep,
    /// Being started or dialled. `failures` counts those in a row before this attempt.
    Connecting {
        /// Attempts in a row that came to nothing.
        failures: u32,
    },
    /// Connected and listed.
    Ready {
        /// Attempts in a row that came to nothing before this connection; forgotten once it has proved healthy.
        failures: u32,
    },
    /// Lost or not reached; tried again by itself when the pause is over, or at once when somebody asks.
    Waiting {
        /// Attempts in a row that came to nothing.
        failures: u32,
    },
    /// A person has to log in to it first. Seldom tried in between: the server may have changed its mind.
    Authenticating {
        /// Attempts in a row that came to nothing.
        failures: u32,
    },
    /// Given up until somebody asks; never so for a remote server.
    Failed {
        /// Attempts in a row that came to nothing.
        failures: u32,
    },
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StateEvent {
    /// A call, an operator or the settings want it connected.
    Wanted,
    /// Connected and listed.
    Opened,
    /// An attempt failed.
    NotOpened(Need, Retries),
    /// The connection ended.
    Lost(Need, Retries, ConnectionHealth),
    /// The pause before the next attempt is over.
    PauseOver,
    /// Nobody used it for its idle time.
    Unused,
    /// The server takes no request before a person has logged in; what there was of a connection or an attempt is gone.
    LoginNeeded,
    /// A person has logged in.
    LoggedIn,
    /// An operator wants it connected anew; what there was of a connection or an attempt is gone.
    Restarted,
}

/// Whether the upstream should be connected even if nobody calls: it stays connected by its settings, or its lists are unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// It should.
    Permanent,
    /// A call will wake it.
    OnDemand,
}

/// Whether there is an end to attempts that fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retries {
    /// A remote server comes back by itself, and trying costs next to nothing: it is tried for as long as it is configured, even if
    /// nobody calls.
    Unlimited,
    /// A program that does not start is not started for ever, and only where it is needed.
    Limited,
    /// A server that waits for approval is tried when it is set up, and then when a person asks for it.
    None,
}

/// How long the connection lasted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionHealth {
    /// At least [`HEALTHY_AFTER`].
    Proved,
    /// Less: a fast exit.
    Brief,
}

/// What the worker does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Start or dial it.
    Connect,
    /// Try again by itself after this time, jitter to be added.
    Pause(Duration),
    /// Let the connection go.
    Disconnect,
    /// Nothing.
    Nothing,
}

/// A connection that lasted this long has proved healthy.
pub(super) const HEALTHY_AFTER: Duration = Duration::from_mins(1);

/// How long a server that wants a login is left alone.
const LOGIN_PAUSE: Duration = Duration::from_mins(10);

/// Failures in a row after which a program is not started by itself any more.
pub(super) const GIVE_UP_AFTER: u32 = 5;

impl State {
    /// Attempts in a row that came to nothing.
    pub(super) fn failures(self) -> u32 {
        match self {
            Self::Asleep => 0,
            Self::Connecting { failures }
            | Self::Ready { failures }
            | Self::Waiting { failures }
            | Self::Authenticating { failures }
            | Self::Failed { failures } => failures,
        }
    }

    /// The next state, and what to do.
    #[must_use]
    pub(super) fn on(self, event: StateEvent) -> (Self, Action) {
        match (self, event) {
            (_, StateEvent::LoginNeeded) => (
                Self::Authenticating {
                    failures: self.failures().saturating_add(1),
                },
                Action::Pause(LOGIN_PAUSE),
            ),
            (Self::Asleep, StateEvent::Wanted)
            | (_, StateEvent::Restarted)
            | (Self::Authenticating { .. } | Self::Waiting { .. }, StateEvent::LoggedIn) => {
                (Self::Connecting { failures: 0 }, Action::Connect)
            }
            (Self::Waiting { failures }, StateEvent::Wanted | StateEvent::PauseOver)
            | (Self::Authenticating { failures }, StateEvent::PauseOver)
            | (Self::Failed { failures }, StateEvent::Wanted) => {
                (Self::Connecting { failures }, Action::Connect)
            }
            (Self::Connecting { failures }, StateEvent::Opened) => {
                (Self::Ready { failures }, Action::Nothing)
            }
            (Self::Connecting { failures }, StateEvent::NotOpened(need, retries))
            | (
                Self::Ready { failures },
                StateEvent::Lost(need, retries, ConnectionHealth::Brief),
            ) => after_failure(failures.saturating_add(1), need, retries),
            (Self::Ready { .. }, StateEvent::Lost(need, retries, ConnectionHealth::Proved)) => {
                match (need, retries) {
                    (Need::OnDemand, _) | (_, Retries::None) => (Self::Asleep, Action::Nothing),
                    (Need::Permanent, _) => {
                        (Self::Waiting { failures: 0 }, Action::Pause(pause(0)))
                    }
                }
            }
            (Self::Ready { .. }, StateEvent::Unused) => (Self::Asleep, Action::Disconnect),
            // News that came too late, or something that is under way already.
            (state, _) => (state, Action::Nothing),
        }
    }
}

fn after_failure(failures: u32, need: Need, retries: Retries) -> (State, Action) {
    let again = (
        State::Waiting { failures },
        Action::Pause(pause(failures - 1)),
    );
    match (retries, need) {
        (Retries::Unlimited, _) => again,
        (Retries::Limited, Need::Permanent) if failures < GIVE_UP_AFTER => again,
        // The next call, or a person, connects it; until then nothing is tried.
        (Retries::Limited | Retries::None, _) => (State::Failed { failures }, Action::Nothing),
    }
}

/// 1 s, 2 s, 4 s … at most a minute.
fn pause(failures: u32) -> Duration {
    Duration::from_secs((1 << failures.min(6)).min(60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(events: &[StateEvent], expected: &[(State, Action)]) {
        let mut state = State::Asleep;
        let mut path = Vec::new();
        for event in events {
            let (next, action) = state.on(*event);
            state = next;
            path.push((next, action));
        }
        assert_eq!(path, expected);
    }

    const FAILED: StateEvent = StateEvent::NotOpened(Need::Permanent, Retries::Limited);

    #[test]
    fn a_call_wakes_and_idleness_puts_to_sleep() {
        check(
            &[
                StateEvent::Wanted,
                StateEvent::Wanted,
                StateEvent::Opened,
                StateEvent::Unused,
            ],
            &[
                (State::Connecting { failures: 0 }, Action::Connect),
                (State::Connecting { failures: 0 }, Action::Nothing),
                (State::Ready { failures: 0 }, Action::Nothing),
                (State::Asleep, Action::Disconnect),
            ],
        );
    }

    #[test]
    fn failures_in_a_row_pause_longer_and_end_after_five() {
        let mut state = State::Asleep.on(StateEvent::Wanted).0;
        let mut pauses = Vec::new();
        loop {
            let (next, action) = state.on(FAILED);
            state = next;
            let Action::Pause(pause) = action else { break };
            pauses.push(pause.as_secs());
            state = state.on(StateEvent::PauseOver).0;
        }
        assert_eq!(
            (pauses, state),
            (vec![1, 2, 4, 8], State::Failed { failures: 5 })
        );
        assert_eq!(state.on(StateEvent::PauseOver), (state, Action::Nothing));
        assert_eq!(state.on(StateEvent::Wanted).1, Action::Connect);
    }

    #[test]
    fn what_waits_for_approval_is_tried_once_unless_a_person_asks() {
        for need in [Need::Permanent, Need::OnDemand] {
            let begun = State::Asleep.on(StateEvent::Wanted).0;
            let failed = begun.on(StateEvent::NotOpened(need, Retries::None));
            assert_eq!(failed, (State::Failed { failures: 1 }, Action::Nothing));
            assert_eq!(failed.0.on(StateEvent::Wanted).1, Action::Connect);
            for health in [ConnectionHealth::Brief, ConnectionHealth::Proved] {
                let lost = StateEvent::Lost(need, Retries::None, health);
                let lost = State::Ready { failures: 0 }.on(lost);
                assert_eq!(lost.1, Action::Nothing, "{need:?} {health:?}");
            }
        }
    }

    #[test]
    fn a_remote_server_is_tried_every_minute_for_ever() {
        for need in [Need::Permanent, Need::OnDemand] {
            let mut state = State::Asleep.on(StateEvent::Wanted).0;
            let mut pauses = Vec::new();
            for _ in 0..100 {
                let (next, action) = state.on(StateEvent::NotOpened(need, Retries::Unlimited));
                let Action::Pause(pause) = action else {
                    panic!("{action:?} in {next:?}")
                };
                pauses.push(pause.as_secs());
                state = next.on(StateEvent::PauseOver).0;
            }
            assert_eq!(pauses[..8], [1, 2, 4, 8, 16, 32, 60, 60], "{need:?}");
            assert_eq!(state, State::Connecting { failures: 100 });
        }
    }

    #[test]
    fn fast_exits_count_as_failures_and_a_healthy_life_forgets_them() {
        let ready = State::Ready { failures: 3 };
        assert_eq!(
            ready.on(StateEvent::Lost(
                Need::Permanent,
                Retries::Limited,
                ConnectionHealth::Brief
            )),
            (
                State::Waiting { failures: 4 },
                Action::Pause(Duration::from_secs(8))
            )
        );
        assert_eq!(
            ready.on(StateEvent::Lost(
                Need::Permanent,
                Retries::Limited,
                ConnectionHealth::Proved
            )),
            (
                State::Waiting { failures: 0 },
                Action::Pause(Duration::from_secs(1))
            )
        );
    }

    #[test]
    fn a_server_that_wants_a_login_is_left_alone_until_there_is_one() {
        let waiting = State::Authenticating { failures: 1 };
        let connecting = State::Connecting { failures: 0 };
        let pause = Action::Pause(LOGIN_PAUSE);
        assert_eq!(connecting.on(StateEvent::LoginNeeded), (waiting, pause));
        let ready = State::Ready { failures: 0 };
        assert_eq!(ready.on(StateEvent::LoginNeeded), (waiting, pause));
        assert_eq!(waiting.on(StateEvent::Wanted), (waiting, Action::Nothing));
        for (event, failures) in [
            (StateEvent::LoggedIn, 0),
            (StateEvent::Restarted, 0),
            (StateEvent::PauseOver, 1),
        ] {
            let expected = (State::Connecting { failures }, Action::Connect);
            assert_eq!(waiting.on(event), expected, "{event:?}");
        }
        assert_eq!(ready.on(StateEvent::LoggedIn), (ready, Action::Nothing));
        let again = (State::Connecting { failures: 0 }, Action::Connect);
        let waiting = State::Waiting { failures: 3 };
        assert_eq!(waiting.on(StateEvent::LoggedIn), again);
    }

    #[test]
    fn what_nobody_needs_is_not_restarted_by_itself() {
        let lost = State::Ready { failures: 0 }.on(StateEvent::Lost(
            Need::OnDemand,
            Retries::Limited,
            ConnectionHealth::Proved,
        ));
        assert_eq!(lost, (State::Asleep, Action::Nothing));
        let failed = State::Connecting { failures: 0 }
            .on(StateEvent::NotOpened(Need::OnDemand, Retries::Limited));
        assert_eq!(failed, (State::Failed { failures: 1 }, Action::Nothing));
        assert_eq!(failed.0.on(StateEvent::Wanted).1, Action::Connect);
    }

    #[test]
    fn a_restart_forgets_whatever_was_before() {
        let anew = (State::Connecting { failures: 0 }, Action::Connect);
        for state in [
            State::Asleep,
            State::Connecting { failures: 2 },
            State::Ready { failures: 1 },
            State::Waiting { failures: 3 },
            State::Failed { failures: 5 },
        ] {
            assert_eq!(state.on(StateEvent::Restarted), anew, "{state:?}");
        }
    }

    #[test]
    fn pauses_end_at_a_minute() {
        assert_eq!(pause(40), Duration::from_mins(1));
    }
}
