//! What a worker does when its server requires a login, and when a person has logged in.

use std::time::Duration;

use super::Worker;
use crate::{
    authorization::LoginStatus,
    failure::NextStep,
    upstream::{
        calls::handle::UpstreamShared,
        connect_error::ConnectError,
        state::{State, StateEvent},
    },
};

/// The reason that clients get. It names no step: a model can do none.
const OUTSIDE: &str = "it needs a login";

/// How long calls in flight may take to end when the server takes no more.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// How often to look whether they have ended.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

impl Worker {
    /// The error that callers get while a person has to log in.
    pub(super) fn wants_login(&self) -> ConnectError {
        let reason = match self.shared.login_status() {
            LoginStatus::Needed(reason) => reason,
            _ => OUTSIDE.to_owned(),
        };
        ConnectError {
            outside: OUTSIDE.into(),
            ..ConnectError::plain(&reason, NextStep::LogIn)
        }
    }

    /// The error of a failed attempt. While the login does not work, that is the reason, whatever the server says.
    pub(super) fn with_login_trouble(&self, error: ConnectError) -> ConnectError {
        let Some(trouble) = self.shared.login_trouble() else {
            return error;
        };
        ConnectError {
            retry_after: Some(trouble.wait()),
            ..ConnectError::plain(&trouble.why, NextStep::Wait)
        }
    }

    /// The server requires a login: no attempt is made before there is one, but for a rare look whether that is still so.
    pub(super) async fn put_off_until_login(&mut self, failed: Option<ConnectError>) {
        let mut error = self.wants_login();
        if let Some(failed) = failed {
            error.reason = format!("{} ({})", error.reason, failed.reason);
        }
        let (server, reason) = (&self.entry.name, &error.reason);
        tracing::warn!(%server, %reason, "server needs a login");
        self.record_error("login needed", reason);
        self.set_status(|status| status.last_error = Some(error.clone()));
        self.apply(StateEvent::LoginNeeded).await;
        self.answer_waiters(&Err(error));
    }

    /// The status of the login has changed: the server takes no more requests, or takes them again.
    pub(super) async fn login_changed(&mut self) {
        match (self.shared.is_login_needed(), self.life.state) {
            (true, State::Ready { .. }) => {
                // No new calls; those that were refused have their answers on the way.
                self.shared.live.store(None);
                let shared = self.shared.clone();
                let _ = tokio::time::timeout(LAST_ANSWERS, unused(&shared)).await;
                self.disconnect().await;
                self.put_off_until_login(None).await;
            }
            (true, State::Waiting { .. } | State::Failed { .. }) => {
                self.put_off_until_login(None).await;
            }
            (false, State::Authenticating { .. } | State::Waiting { .. })
                if self.shared.login_trouble().is_none() =>
            {
                // A caller that waits for the outcome of the login waits for the attempt that follows.
                self.set_status(|status| {
                    status.settled = false;
                    status.last_error = None;
                });
                self.apply(StateEvent::LoggedIn).await;
            }
            // An attempt reports its own outcome, and a sleeping server needs none.
            _ => (),
        }
    }
}

/// Returns when no call is in flight.
async fn unused(shared: &UpstreamShared) {
    while shared.usage.in_flight() > 0 {
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}
