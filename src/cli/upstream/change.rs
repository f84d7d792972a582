//! `mcpproxy upstream remove|enable|disable|restart|quarantine`: one verb for some servers.

use std::{pin::pin, time::Duration};

use clap::Args;
use http::Method;
use serde::Serialize;
use serde_json::Value;
use tokio::time::timeout;

use super::{
    super::{
        connection,
        failure::CommandFailure,
        location::Location,
        output::{self, Output},
    },
    outcome,
};
use crate::{
    daemon_client::{self, AnswerDeadline, DaemonClient},
    failure::error_code::ErrorCode,
    management::{Enabled, Management, OverFiles, ServerChange},
};

/// The servers that are meant.
#[derive(Debug, Args)]
pub(in crate::cli) struct NamedServers {
    /// The servers' names, as `upstream list` shows them
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
}

/// What to do with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Remove,
    Enable,
    Disable,
    Restart,
    Quarantine,
}

/// What programs read: a change or a failure for each server, in the order in which they were named.
#[derive(Serialize)]
struct Changes {
    changes: Vec<Value>,
}

impl NamedServers {
    pub(super) async fn run(
        self,
        verb: Verb,
        location: &Location,
        out: Output,
    ) -> Result<(), CommandFailure> {
        let files = location.files()?;
        let mut daemon = match connection::open(&files, out).await {
            Ok(daemon) => Some(daemon),
            Err(absent) if absent.is_absence() && verb != Verb::Restart => {
                connection::go_on_without(&absent, out);
                None
            }
            Err(error) => return Err(error.into()),
        };
        let mut changes = Vec::new();
        let mut failures = Vec::new();
        for name in &self.names {
            let done = match &mut daemon {
                Some(daemon) => through(daemon, verb, name, out).await,
                None => in_file(&files, verb, name, out).await,
            };
            match done {
                Ok(change) => changes.push(serde_json::to_value(change).unwrap_or_default()),
                Err(failure) => {
                    changes.push(failed(name, &failure));
                    failures.push((name, failure));
                }
            }
        }
        if out.is_json() {
            output::json(&output::as_json(&Changes { changes })?)?;
        }
        overall(failures, self.names.len())
    }
}

/// One failure of one server is the command's; of several, each is printed by itself.
fn overall(failures: Vec<(&String, CommandFailure)>, of: usize) -> Result<(), CommandFailure> {
    let names: Vec<&str> = failures.iter().map(|(name, _)| name.as_str()).collect();
    let what = format!(
        "{} of {of} servers failed: {}",
        names.len(),
        names.join(", ")
    );
    let mut failures = failures.into_iter().map(|(_, failure)| failure.shown());
    match failures.next() {
        None => Ok(()),
        Some(failure) if of == 1 => Err(failure),
        Some(first) => {
            let code = first.exit_code;
            for failure in std::iter::once(first).chain(failures) {
                output::say_failure(&failure);
            }
            Err(CommandFailure::with_code(what, code).shown())
        }
    }
}

fn failed(name: &str, failure: &CommandFailure) -> Value {
    serde_json::json!({
        "name": name,
        "error": failure.what,
        "code": failure.code.map(ErrorCode::as_str),
        "hint": failure.next_step,
    })
}

async fn through(
    daemon: &mut DaemonClient,
    verb: Verb,
    name: &str,
    out: Output,
) -> Result<ServerChange, CommandFailure> {
    let server = format!("/api/v1/servers/{}", daemon_client::encoded(name));
    let (method, path, deadline) = match verb {
        Verb::Remove => (Method::DELETE, server, AnswerDeadline::Daemon),
        Verb::Enable => (
            Method::POST,
            format!("{server}/enable"),
            AnswerDeadline::Daemon,
        ),
        Verb::Disable => (
            Method::POST,
            format!("{server}/disable"),
            AnswerDeadline::Daemon,
        ),
        Verb::Quarantine => (
            Method::POST,
            format!("{server}/quarantine"),
            AnswerDeadline::Daemon,
        ),
        // The answer comes when the server is up, and a first start may download.
        Verb::Restart => (
            Method::POST,
            format!("{server}/restart"),
            AnswerDeadline::Upstream,
        ),
    };
    let request = format!("{method} {path}");
    let sending = daemon.send(method, &path, "", deadline);
    let answer = if verb == Verb::Restart {
        with_wait_note(name, out, sending).await?
    } else {
        sending.await?
    };
    let mut change: ServerChange = daemon_client::read(&request, &answer)?;
    if verb == Verb::Enable {
        change.server = outcome::wait_for(daemon, name, None).await?;
    }
    let server = &change.server;
    if verb == Verb::Restart
        && let Some(error) = &server.last_error
    {
        let failure = CommandFailure::failed(format!("server {name:?}: {error}"));
        return Err(CommandFailure {
            next_step: server.next_step.clone(),
            code: Some(ErrorCode::ServerUnavailable),
            ..failure
        });
    }
    match verb {
        Verb::Remove | Verb::Disable | Verb::Quarantine => {
            out.note(&format!("{} {name:?}", past(verb)));
        }
        Verb::Enable | Verb::Restart => outcome::say(out, past(verb), server),
    }
    Ok(change)
}

/// How long a command may wait for a server before it says so.
const SILENCE: Duration = Duration::from_secs(2);

async fn with_wait_note<T>(name: &str, out: Output, waiting: impl Future<Output = T>) -> T {
    let mut waiting = pin!(waiting);
    if let Ok(done) = timeout(SILENCE, &mut waiting).await {
        return done;
    }
    out.note(&format!(
        "waiting for {name:?} to connect; `init_timeout` of its entry bounds that (a minute, five for a first start that downloads), \
         and Ctrl-C ends only the waiting"
    ));
    waiting.await
}

async fn in_file(
    files: &Management<OverFiles>,
    verb: Verb,
    name: &str,
    out: Output,
) -> Result<ServerChange, CommandFailure> {
    let change = match verb {
        Verb::Remove => files.remove_server(name).await?,
        Verb::Enable => files.set_enabled(name, Enabled::On).await?,
        Verb::Disable => files.set_enabled(name, Enabled::Off).await?,
        Verb::Quarantine => files.quarantine(name).await?,
        Verb::Restart => return Err(CommandFailure::not_reachable("the daemon is not running")),
    };
    out.note(&format!(
        "{} {name:?} in {}",
        past(verb),
        files.config_file().display()
    ));
    Ok(change)
}

fn past(verb: Verb) -> &'static str {
    match verb {
        Verb::Remove => "removed",
        Verb::Enable => "enabled",
        Verb::Disable => "disabled",
        Verb::Restart => "restarted",
        Verb::Quarantine => "quarantined",
    }
}
