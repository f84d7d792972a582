//! Logging in to servers and out of them. A login is a person's: no tool for agents begins one.

use std::{sync::Arc, time::Duration};

use super::{Management, OperatorView, ServerChange, ServerRow};
use crate::{
    authorization::{LoginError, ServerLogin},
    config::Transport,
    failure::{ErrorCode, Failure, NextStep, Result},
};

pub use crate::authorization::{LoginProgress, LoginStarted};

/// How long a server may take to say that it wants a login.
const ASKING: Duration = Duration::from_secs(20);

impl Management {
    /// Begins a login. One that is under way is given up.
    pub async fn begin_login(&self, name: &str) -> Result<LoginStarted> {
        let login = self.login_of(name)?;
        if !login.is_there()
            && let Some(upstream) = self.0.upstreams.get(name)
        {
            // What the server says when it refuses names the place to log in. That it cannot be reached, the login says.
            let _ = tokio::time::timeout(ASKING, upstream.wake()).await;
        }
        let begun = login.begin().await;
        begun.map_err(|error| {
            self.record_login(name, "login", Some(&error));
            self.login_failed(name, &error)
        })
    }

    /// Ends the login under way with the address that the browser ended at.
    pub async fn finish_login(&self, name: &str, address: &str) -> Result<LoginProgress> {
        let login = self.login_of(name)?;
        let finished = login.finish(address).await;
        finished.map_err(|error| self.login_failed(name, &error))?;
        self.login_progress(name, Duration::ZERO).await
    }

    /// How the login is that was begun last. Waits for its end, but not longer than `patience`.
    pub async fn login_progress(&self, name: &str, patience: Duration) -> Result<LoginProgress> {
        Ok(self.login_of(name)?.progress(patience).await)
    }

    /// Forgets the tokens of a server, and ends its connections. Where nobody is logged in nothing changes. A person may do that whatever
    /// the server's state: nothing is sent anywhere.
    pub fn log_out(&self, name: &str) -> Result<ServerChange> {
        let view = self.view_in_force();
        let entry = view.settings.servers.get(name);
        let leads_elsewhere = entry.filter(|entry| !entry.may_be_contacted());
        let ended = match leads_elsewhere {
            // An agent wrote it, and the tokens are for what a person had written.
            Some(entry) => self.0.logins.forget_tokens(&entry.name),
            None => self.login_in(&view, name)?.log_out(),
        };
        if ended == Ok(false) {
            return Ok(ServerChange::of(self.server(name)?, &[]));
        }
        self.record_login(name, "logout", ended.as_ref().err());
        ended.map_err(|error| {
            let error = format!("failed to log out of {name:?}: {error}");
            let hint = "Check that mcpproxy can write to the data folder, then try again.";
            Failure::new(ErrorCode::Internal, error, hint).of_server(name)
        })?;
        Ok(ServerChange::of(self.server(name)?, &["logged_out"]))
    }

    /// The login of a server that may be contacted and that one can log in to.
    fn login_of(&self, name: &str) -> Result<Arc<ServerLogin>> {
        let view = self.view_in_force();
        if let Some(failure) = view.server_refusal(name) {
            let may_be = view.settings.servers.get(name);
            let may_be = may_be.is_some_and(|entry| entry.may_be_contacted());
            // A person may log in to what is held to see what it lists, but not to what an agent wrote.
            if failure.code != ErrorCode::ServerQuarantined || !may_be {
                let failure = self.for_operator(failure);
                return Err(failure.undone(&format!("not logged in to {name}")));
            }
        }
        self.login_in(&view, name)
    }

    /// The login of a server that one can log in to.
    fn login_in(&self, view: &OperatorView, name: &str) -> Result<Arc<ServerLogin>> {
        let Some(entry) = view.settings.servers.get(name) else {
            let refusal = view.server_refusal(name);
            let refusal = refusal.map(|failure| self.for_operator(failure));
            let refusal = refusal.map(|failure| failure.undone("nothing was changed"));
            return Err(refusal.unwrap_or_else(|| nothing_to_log_in_to(name, "it is not there")));
        };
        let login = self.0.logins.of(entry);
        login.ok_or_else(|| {
            let why = match entry.transport {
                Transport::Stdio(_) => "it runs on this machine",
                Transport::Remote(_) => "its entry has an `Authorization` in `headers`",
            };
            nothing_to_log_in_to(name, why)
        })
    }

    fn login_failed(&self, name: &str, error: &LoginError) -> Failure {
        // A server that fails for another reason needs no key for that.
        let row = self.server(name).ok().filter(ServerRow::is_failing);
        let other = row.filter(|row| {
            row.step
                .as_ref()
                .is_some_and(|step| *step != NextStep::LogIn)
        });
        if let (
            LoginError::NoPlace(_),
            Some(ServerRow {
                reason: Some(why),
                step: Some(step),
                ..
            }),
        ) = (error, other)
        {
            let text = format!("not logged in to {name}: {why}");
            let failure = Failure::new(ErrorCode::ServerUnavailable, text, "Correct its entry.");
            return failure.with_step(step).of_server(name);
        }
        let text = format!("not logged in to {name}: {error}");
        let log_in = NextStep::LogIn.at_terminal(name);
        let (hint, step) = match error {
            LoginError::Failed(_) => ("Try again.", NextStep::LogIn),
            LoginError::Unreachable(_) => {
                let row = self.server(name).ok();
                let step = row.and_then(ServerRow::own_step);
                let hint = "Check its `url`, and whether it runs.";
                (hint, step.unwrap_or_else(|| NextStep::act(hint)))
            }
            LoginError::Unsafe(_) => {
                let step = format!(
                    "if it speaks https: `mcpproxy upstream patch {name} url=https://…`, then {log_in}"
                );
                let hint = "If it speaks https, change its `url`, then log in.";
                (hint, NextStep::act(step))
            }
            LoginError::NotRegistered(_) => {
                let step = format!(
                    "register a client there by hand, then `mcpproxy upstream patch {name} oauth.client_id=ID` and {log_in}"
                );
                let hint = "Register a client there by hand, set `oauth.client_id` in its entry, then log in.";
                (hint, NextStep::act(step))
            }
            LoginError::NoPlace(_) => {
                let step = format!(
                    "if it needs a key: `mcpproxy secret set {name}-Authorization`, then `mcpproxy upstream patch {name} 'headers.Authorization=Bearer ${{keyring:{name}-Authorization}}'`"
                );
                let hint = "If it needs a key, store it as a secret, and refer to that in `headers.Authorization` of its entry.";
                (hint, NextStep::act(step))
            }
        };
        let code = match error {
            LoginError::Unreachable(_) => ErrorCode::ServerUnavailable,
            _ => ErrorCode::LoginRequired,
        };
        let failure = Failure::new(code, text, hint);
        failure.with_step(step).of_server(name)
    }

    fn record_login(&self, name: &str, action: &'static str, error: Option<&LoginError>) {
        let error = error.map(ToString::to_string);
        self.0.activity.note_change(action, name, error);
    }
}

fn nothing_to_log_in_to(name: &str, why: &str) -> Failure {
    let error = format!("nothing was changed: {name} needs no login: {why}");
    let hint = "Its entry shows how mcpproxy reaches it.";
    let failure = Failure::new(ErrorCode::InvalidArguments, error, hint);
    failure.with_step(NextStep::ShowServer).of_server(name)
}
