//! Logging in to servers and out of them. A login is a person's: no tool for agents begins one.

use std::{sync::Arc, time::Duration};

use super::{Management, OperatorView, ServerChange, ServerRow, ServerState};
use crate::{
    authorization::{LoginError, ServerLogin},
    config::Transport,
    failure::{ErrorCode, Failure, NextStep, Result},
};

pub use crate::authorization::{LoginProgress, LoginStarted};

/// How long a server may take to answer that it wants a login.
const ASKING: Duration = Duration::from_secs(20);

impl Management {
    /// Begins a login to a server, and gives up one that is under way.
    pub async fn begin_login(&self, name: &str) -> Result<LoginStarted> {
        let login = self.login_of(name)?;
        if !login.has_token()
            && let Some(upstream) = self.0.upstreams.get(name)
        {
            // The server's refusal names its authorization server. If it cannot be reached, the login reports that.
            let _ = tokio::time::timeout(ASKING, upstream.wake()).await;
        }
        let begun = login.begin().await;
        begun.map_err(|error| {
            self.record_login(name, "login", Some(error.to_string()));
            self.login_failed(name, &format!("not logged in to {name}"), &error)
        })
    }

    /// Completes the login under way with the address at which the browser ended.
    pub async fn finish_login(&self, name: &str, address: &str) -> Result<LoginProgress> {
        let login = self.login_of(name)?;
        let finished = login.finish(address).await;
        // The server may have a login already.
        let outcome = format!("no login to {name} was completed");
        finished.map_err(|error| self.login_failed(name, &outcome, &error))?;
        self.login_progress(name, Duration::ZERO).await
    }

    /// The state of the latest login. Waits for its end, but not longer than `patience`.
    pub async fn login_progress(&self, name: &str, patience: Duration) -> Result<LoginProgress> {
        Ok(self.login_of(name)?.progress(patience).await)
    }

    /// Forgets the tokens of a server, and ends its connections; changes nothing where nobody is logged in. Allowed in every state of the
    /// server, because nothing is sent anywhere.
    pub fn log_out(&self, name: &str) -> Result<ServerChange> {
        let view = self.view_in_force();
        let entry = view.settings.servers.get(name);
        let leads_elsewhere = entry.filter(|entry| !entry.may_be_contacted());
        let ended = match leads_elsewhere {
            // An agent wrote this entry, and the tokens belong to the entry that a person wrote before.
            Some(entry) => self.0.logins.forget_tokens(&entry.name),
            None => self.login_in(&view, name)?.log_out(),
        };
        if matches!(ended, Ok(false)) {
            return Ok(ServerChange::of(self.server(name)?, &[]));
        }
        let fault = ended.as_ref().err();
        self.record_login(name, "logout", fault.map(ToString::to_string));
        ended.map_err(|fault| {
            let error = format!("the tokens of {name} were not deleted: {fault}");
            Failure::new(ErrorCode::Internal, error, fault.step()).of_server(name)
        })?;
        Ok(ServerChange::of(self.server(name)?, &["logged_out"]))
    }

    /// The login of a server to which a person may log in.
    fn login_of(&self, name: &str) -> Result<Arc<ServerLogin>> {
        let view = self.view_in_force();
        if let Some(failure) = view.server_refusal(name) {
            let entry = view.settings.servers.get(name);
            let may_be = entry.is_some_and(|entry| entry.may_be_contacted());
            let is_local = entry.is_some_and(|it| matches!(it.transport, Transport::Stdio(_)));
            // A person may log in to a quarantined server to review its tools, but not to one that an agent wrote.
            if !is_local && (failure.code != ErrorCode::ServerQuarantined || !may_be) {
                let failure = self.for_operator(failure);
                return Err(failure.undone(&format!("not logged in to {name}")));
            }
        }
        self.login_in(&view, name)
    }

    /// The login of a server, if it has one.
    fn login_in(&self, view: &OperatorView, name: &str) -> Result<Arc<ServerLogin>> {
        let Some(entry) = view.settings.servers.get(name) else {
            let refusal = view.server_refusal(name);
            let refusal = refusal.map(|failure| self.for_operator(failure));
            let refusal = refusal.map(|failure| failure.undone("nothing was changed"));
            let why = "is not configured";
            let gone = || nothing_to_log_in_to(name, why, NextStep::ShowServer);
            return Err(refusal.unwrap_or_else(gone));
        };
        let login = self.0.logins.of(entry);
        login.ok_or_else(|| {
            let (why, step) = match entry.transport {
                Transport::Stdio(_) => (
                    "needs no login: it runs on this machine",
                    NextStep::ShowServer,
                ),
                Transport::Remote(_) => (
                    "logs in with the `Authorization` in its `headers`",
                    NextStep::fix_key(
                        "headers.Authorization",
                        "correct it, or remove it to log in",
                    ),
                ),
            };
            nothing_to_log_in_to(name, why, step)
        })
    }

    fn login_failed(&self, name: &str, outcome: &str, error: &LoginError) -> Failure {
        // If the server fails for another reason, that one has to be mended first.
        let row = self.server(name).ok();
        let state = row.as_ref().map(|row| row.state);
        let is_open = self.login_of(name).is_ok_and(|login| !login.has_token());
        if matches!(error, LoginError::NoPlace(_)) && is_open && state == Some(ServerState::Ready) {
            let why = "needs no login: it works without one";
            return nothing_to_log_in_to(name, why, NextStep::ShowServer);
        }
        let row = row.filter(|row| row.is_failing() && row.state != ServerState::Authenticating);
        if let (
            LoginError::NoPlace(_),
            Some(ServerRow {
                reason: Some(why),
                step: Some(step),
                ..
            }),
        ) = (error, &row)
        {
            let text = format!("{outcome}: {why}");
            let failure = Failure::new(ErrorCode::ServerUnavailable, text, "Correct its entry.");
            return failure.with_step(step.clone().for_all()).of_server(name);
        }
        let (code, step) = if let Some(later) = error.later_step(name) {
            let step = row.and_then(ServerRow::own_step).map(NextStep::for_all);
            (ErrorCode::ServerUnavailable, step.unwrap_or(later))
        } else {
            let step = error.lasting_step(name).unwrap_or(NextStep::LogIn);
            (ErrorCode::LoginRequired, step)
        };
        let hint = match &step {
            NextStep::Act {
                request: Some(words),
                ..
            } => &**words,
            _ => "try again",
        };
        let text = format!("{outcome}: {error}");
        let failure = Failure::new(code, text, hint);
        failure.with_step(step).of_server(name)
    }

    fn record_login(&self, name: &str, action: &'static str, error: Option<String>) {
        self.0.activity.note_change(action, name, error);
    }
}

fn nothing_to_log_in_to(name: &str, why: &str, step: NextStep) -> Failure {
    let error = format!("nothing was changed: {name} {why}");
    let hint = "Its entry shows how mcpproxy reaches it.";
    let failure = Failure::new(ErrorCode::InvalidArguments, error, hint);
    failure.with_step(step).of_server(name)
}
