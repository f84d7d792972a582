//! The failures that callers get for requests to an upstream: which server, why, and what may be done. None shows a secret of the entry or
//! of the login.

use std::{sync::atomic::Ordering, time::Duration};

use super::{handle::Upstream, sharing::Sharing, status::Status};
use crate::{
    authorization::LoginTrouble,
    config::{Transport, duration},
    failure::{ErrorCode, Failure, MAY_HAVE_RUN, NextStep},
    gate::{self, Standing},
    link::LinkError,
    text::{Quoted, names::ServerName},
    upstream::{connect_error::ConnectError, state::State},
    wire::RpcError,
};

/// Why a request was not sent, or is known not to have been processed.
pub enum NotSent {
    /// Its client has another connection to the server from now on; the request goes there.
    Elsewhere,
    /// The server was stopped or replaced meanwhile.
    Stopped(Failure),
    /// The request itself is wrong.
    Wrong(RpcError),
    /// It failed.
    Failed(Failure),
}

impl From<Failure> for NotSent {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Upstream {
    /// Why a request was not sent, with the distinction whether the server was stopped or replaced.
    pub(super) fn stopped(&self, why: Failure) -> NotSent {
        if self.is_stopped() {
            NotSent::Stopped(why)
        } else {
            NotSent::Failed(why)
        }
    }

    /// The failure of a request to a server that could not be connected.
    pub(super) fn unavailable(&self, error: &ConnectError) -> Failure {
        if self.is_login_needed() {
            return self.login_required();
        }
        if let Some(trouble) = self.login_trouble() {
            return self.login_stuck(&trouble);
        }
        let name = self.name();
        let text = format!("{name} is not available: {}", error.outside);
        let hint = format!("Use another tool, or tell the user that {name} is not available.");
        let (code, step) = (ErrorCode::ServerUnavailable, NextStep::ShowServer);
        Failure::for_agents(code, text, hint, step).of_server(name)
    }

    /// What became of a server whose worker was stopped, as the settings say.
    pub(super) fn why_stopped(&self) -> &'static str {
        let settings = self.0.settings.borrow();
        let Some(entry) = settings.servers.get(self.name()) else {
            return match settings.broken_entry(self.name().as_str()) {
                Some(_) => "was changed",
                None => "was removed",
            };
        };
        match gate::standing(entry) {
            Standing::Disabled => "was disabled",
            Standing::Quarantined => "was quarantined",
            Standing::Usable if self.runs_by(entry) => "was stopped",
            Standing::Usable => "was changed",
        }
    }

    /// The failure of a request while the login does not work, which no person can mend.
    fn login_stuck(&self, trouble: &LoginTrouble) -> Failure {
        let text = format!(
            "the server {:?} cannot be used for now: {trouble}",
            self.name()
        );
        let hint = "Use another tool meanwhile, then retry.";
        let (code, step) = (ErrorCode::ServerUnavailable, NextStep::ShowServer);
        Failure::for_agents(code, text, hint, step).of_server(self.name())
    }

    /// The failure of a request while a person has to log in.
    fn login_required(&self) -> Failure {
        let text = format!("the server {:?} needs a login", self.name());
        let hint = "Ask the user to log in; continue without it.";
        let (code, step) = (ErrorCode::LoginRequired, NextStep::LogIn);
        Failure::for_agents(code, text, hint, step).of_server(self.name())
    }

    /// What the program of a server wrote before it was lost during a call, if that is known soon. For the operator only.
    pub async fn last_words(&self) -> Option<Quoted> {
        let is_program = {
            let settings = self.0.settings.borrow();
            let entry = settings.servers.get(self.name());
            entry.is_some_and(|entry| matches!(entry.transport, Transport::Stdio(_)))
        };
        let is_wanted = self.is_stopped() || self.0.is_restarting.load(Ordering::Relaxed);
        if !is_program || is_wanted || self.sharing() != Sharing::All {
            return None;
        }
        self.trouble().await?.wrote.stderr
    }

    /// Why it is not connected, if that is known soon after a request has failed. For the operator only.
    pub async fn trouble(&self) -> Option<ConnectError> {
        /// Its worker sees to it that all is read.
        const SOON: Duration = Duration::from_secs(1);

        let is_lost = |status: &Status| {
            !matches!(status.state, State::Ready { .. }) && status.last_error.is_some()
        };
        let mut status = self.0.status.subscribe();
        let lost = tokio::time::timeout(SOON, status.wait_for(is_lost)).await;
        let lost = lost.ok()?.ok()?;
        lost.last_error.clone()
    }

    /// The failure of a request that the connection reports so.
    pub(in crate::upstream) fn failure(&self, error: &LinkError) -> Failure {
        let name = self.name();
        if let (LinkError::Status { status: 401, .. }, Some(trouble)) =
            (error, self.login_trouble())
        {
            return self.login_stuck(&trouble);
        }
        let settings = self.0.settings.borrow().clone();
        let entry = settings.servers.get(name);
        let secrets = entry.map(|entry| self.0.secrets_of(entry));
        let secrets = secrets.unwrap_or_default();
        // An error about an answer may quote the server.
        let shown = |text: String| secrets.redacted(&text).into_owned();
        let sent = |code, text| Failure::new(code, shown(text), MAY_HAVE_RUN);
        let for_agents =
            |code, text, hint: &str, step| Failure::for_agents(code, shown(text), hint, step);
        let failure = match error {
            LinkError::NotDelivered(_)
            | LinkError::NoHost(_)
            | LinkError::NoProxy(_)
            | LinkError::SessionLost(_)
            | LinkError::NoNewSession(_)
            | LinkError::SessionRenewed
            | LinkError::Tls(_) => for_agents(
                ErrorCode::ServerUnavailable,
                format!("{name} is not available: {}", error.outside()),
                "Retry later, or tell the user.",
                // Its row knows more.
                NextStep::ShowServer,
            ),
            LinkError::Lost(why) => sent(
                ErrorCode::ConnectionLost,
                if self.is_stopped() {
                    format!("the server {name:?} {} during the call", self.why_stopped())
                } else if self.0.is_restarting.load(Ordering::Relaxed) {
                    format!("the server {name:?} was restarted during the call")
                } else {
                    format!("the connection to the server {name:?} was lost during the call: {why}")
                },
            ),
            LinkError::NotHttp | LinkError::OddEndpoint(_) | LinkError::Endless(_) => sent(
                ErrorCode::BadUpstreamAnswer,
                format!("the server {name:?} cannot be used: {error}"),
            ),
            LinkError::Broken(why) => sent(
                ErrorCode::BadUpstreamAnswer,
                format!("the answer of server {name:?} cannot be used: {why}"),
            ),
            LinkError::HeaderMismatch(why) => for_agents(
                ErrorCode::ServerUnavailable,
                format!(
                    "the server {name:?} refused the request: it says that the headers do not match the body"
                ),
                "Look the tool up once more; if it is refused again, tell the user.",
                // Its lists were read again, and the request was repeated.
                NextStep::act(shown(format!(
                    "tell its operator that it refused the request twice, with {why}"
                ))),
            ),
            LinkError::Ourselves => for_agents(
                ErrorCode::ServerMisconfigured,
                format!("the server {name:?} is mcpproxy itself"),
                &format!("Tell the user to remove {name} from mcpproxy."),
                NextStep::Remove,
            ),
            LinkError::Status { status: 401, .. } if self.is_login_needed() => {
                return self.login_required();
            }
            LinkError::Status { status: 403, .. } if !self.missing_scopes().is_empty() => {
                let missing = self.missing_scopes().join(", ");
                for_agents(
                    ErrorCode::LoginRequired,
                    format!("the server {name:?} needs more permissions for this: {missing}"),
                    "Ask the user to log in again and grant them; its other tools may work.",
                    NextStep::LogIn,
                )
            }
            LinkError::Status {
                status,
                retry_after,
                text,
            } => after_status(name, *status, *retry_after).with_aside(shown(text.clone())),
        };
        failure.of_server(name)
    }
}

/// The step where a server takes no more requests for now.
fn again(retry_after: Option<Duration>) -> String {
    let wait = retry_after.map(|wait| format!("in {}", duration::in_words(wait)));
    format!("Try again {}", wait.as_deref().unwrap_or("later"))
}

/// The failure after a status that is no answer: only few of them say that the server did nothing.
fn after_status(name: &ServerName, status: u16, retry_after: Option<Duration>) -> Failure {
    let code = ErrorCode::ServerUnavailable;
    let refused = |text: String, hint: &str, step| Failure::for_agents(code, text, hint, step);
    match (status, retry_after) {
        (429, _) | (503, Some(_)) => {
            let text =
                format!("the server {name:?} accepts no more requests for now (HTTP {status})");
            Failure::not_run(ErrorCode::Overloaded, text, again(retry_after))
        }
        // It was connected at this URL. A restart says whether the path is still right.
        (404, _) => refused(
            format!("the server {name:?} now answers HTTP 404"),
            &format!("Tell the user to restart {name} in mcpproxy."),
            NextStep::Restart,
        ),
        (401 | 403, _) => refused(
            format!("the server {name:?} refuses mcpproxy's requests (HTTP {status})"),
            "Tell the user that it may need other credentials.",
            NextStep::fix(NextStep::CREDENTIALS),
        ),
        _ => {
            let text = format!("the server {name:?} answered HTTP {status}");
            Failure::new(ErrorCode::BadUpstreamAnswer, text, MAY_HAVE_RUN)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::NOTHING_RAN;

    #[test]
    fn only_a_status_that_says_so_means_that_nothing_ran() {
        let name = ServerName::parse("web").expect("a name");
        let wait = Some(Duration::from_secs(5));
        let check = |status, wait, may_have_run: bool| {
            let failure = after_status(&name, status, wait);
            let hint = failure.hint.for_model();
            assert_eq!(failure.code.may_have_run(), may_have_run, "{status}");
            assert_eq!(hint == MAY_HAVE_RUN, may_have_run, "{status}");
            assert_eq!(hint.starts_with(NOTHING_RAN), !may_have_run, "{status}");
        };
        for status in [301, 308, 400, 409, 422, 500, 502, 504] {
            check(status, None, true);
            check(status, wait, true);
        }
        check(503, None, true);
        for (status, wait) in [
            (503, wait),
            (429, wait),
            (429, None),
            (404, None),
            (403, None),
        ] {
            check(status, wait, false);
        }
        let failure = after_status(&name, 404, None);
        assert_eq!(failure.error, "the server \"web\" now answers HTTP 404");
        let hint = "Nothing ran. Tell the user to restart web in mcpproxy.";
        assert_eq!(failure.hint.for_model(), hint);
        assert_eq!(failure.hint.for_people(), "", "those are words for models");
        assert_eq!(again(wait), "Try again in 5 s");
    }
}
