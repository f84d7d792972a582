//! `mcpproxy upstream remove|enable|disable|restart|quarantine`: one verb for some servers.

use std::{collections::HashMap, pin::pin, time::Duration};

use clap::Args;
use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::timeout;

use super::super::{CommandFailure, Done, Location, Output, connection, outcome, output, secret};
use crate::{
    daemon_client::{self, AnswerDeadline, DaemonClient},
    failure::ErrorCode,
    management::{Enabled, Files, ServerChange},
    text::names::as_argument,
};

/// The servers that are meant.
#[derive(Debug, Args)]
pub(in crate::cli) struct NamedServers {
    /// The servers' names, as `upstream list` shows them
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// Accepted, because scripts write it: nothing is asked
    #[arg(short, long, hide = true)]
    yes: bool,
}

/// What to do with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verb {
    Remove,
    Enable,
    Disable,
    Restart,
    Quarantine,
}

/// What programs read: a change or a failure for each server, in the order in which they were named.
#[derive(Serialize, Deserialize)]
struct Changes {
    changes: Vec<Value>,
}

impl NamedServers {
    pub(super) async fn run(self, verb: Verb, location: &Location, out: Output) -> Done {
        let files = location.files()?;
        let mut daemon = match verb {
            Verb::Restart => connection::open_to_act(&files, out, "nothing was restarted").await?,
            _ => connection::open_or_files(&files, out).await?,
        };
        let used_before = files.secret_uses().unwrap_or_default();
        let mut changes = Vec::new();
        let mut failures = Vec::new();
        let mut made = at_once(&files, &mut daemon, verb, &self.names).await;
        for name in &self.names {
            match done(&mut daemon, verb, name, made.remove(name), out).await {
                Ok(change) => changes.push(serde_json::to_value(change).unwrap_or_default()),
                Err(failure) => {
                    changes.push(failed(name, &failure));
                    failures.push(failure);
                }
            }
        }
        let used = files.secret_uses().unwrap_or_default();
        let left = used_before.keys().filter(|name| !used.contains_key(*name));
        let left: Vec<&String> = left.filter(|_| verb == Verb::Remove).collect();
        let stored = if left.is_empty() {
            Vec::new()
        } else {
            secret::stored(&files)
        };
        for name in left.into_iter().filter(|name| stored.contains(*name)) {
            let name = as_argument(name);
            out.note(&format!(
                "no server uses the secret {name} now: `mcpproxy secret remove {name}`"
            ));
        }
        if out.is_json() {
            output::json(&output::as_json(&Changes { changes })?)?;
        }
        output::overall(failures)
    }
}

fn failed(name: &str, failure: &CommandFailure) -> Value {
    serde_json::json!({
        "name": name,
        "error": failure.in_words(),
        "code": failure.code.map(ErrorCode::as_str),
        "hint": failure.hint(),
    })
}

/// Makes the changes of several servers by one change of the file. Of one that is not here the reason is not known yet.
async fn at_once(
    files: &Files,
    daemon: &mut DaemonClient,
    verb: Verb,
    names: &[String],
) -> HashMap<String, ServerChange> {
    if names.len() < 2 || verb == Verb::Restart {
        return HashMap::new();
    }
    let changes: Vec<Option<ServerChange>> = if daemon.is_over_files() {
        let outcomes = match verb {
            Verb::Remove => files.remove_servers(names).await,
            Verb::Quarantine => files.quarantine(names).await,
            Verb::Disable => files.set_enabled(names, Enabled::Off).await,
            Verb::Enable | Verb::Restart => files.set_enabled(names, Enabled::On).await,
        };
        outcomes.into_iter().map(Result::ok).collect()
    } else {
        let body = serde_json::json!({ "verb": verb, "servers": names }).to_string();
        let deadline = AnswerDeadline::Daemon;
        let sending = daemon.request(Method::POST, "/api/v1/changes", body, deadline);
        let made: Option<Changes> = sending.await.ok();
        let made = made.map(|made| made.changes).unwrap_or_default();
        let read = made.into_iter().map(serde_json::from_value);
        read.map(Result::ok).collect()
    };
    let made = names.iter().cloned().zip(changes);
    made.filter_map(|(name, change)| Some((name, change?)))
        .collect()
}

async fn done(
    daemon: &mut DaemonClient,
    verb: Verb,
    name: &str,
    made: Option<ServerChange>,
    out: Output,
) -> Done<ServerChange> {
    if let (Verb::Enable | Verb::Disable, Some(_)) = (verb, name.split_once(':')) {
        let verb = past(verb).trim_end_matches('d');
        let failure = CommandFailure::usage(format!("{name:?} is a tool, not a server"));
        let failure = failure.undone("nothing was changed");
        return Err(failure.next(format!("`mcpproxy tools {verb} {}`", as_argument(name))));
    }
    let server = format!("/api/v1/servers/{}", daemon_client::encoded(name));
    let (method, path) = match verb {
        Verb::Remove => (Method::DELETE, server),
        Verb::Enable => (Method::POST, format!("{server}/enable")),
        Verb::Disable => (Method::POST, format!("{server}/disable")),
        Verb::Quarantine => (Method::POST, format!("{server}/quarantine")),
        Verb::Restart => (Method::POST, format!("{server}/restart")),
    };
    let mut change: ServerChange = if let Some(made) = made {
        made
    } else if verb == Verb::Restart {
        // The answer comes when the server is up, and a first start may download.
        let sending = daemon.request(method, &path, "", AnswerDeadline::Upstream);
        with_wait_note(name, out, sending).await?
    } else {
        let sending = daemon.request(method, &path, "", AnswerDeadline::Daemon);
        sending.await?
    };
    if verb == Verb::Enable {
        change.server = outcome::wait_for(daemon, name, None).await?;
    }
    let server = &change.server;
    if verb == Verb::Restart
        && let Some(error) = &server.last_error
    {
        let failure = CommandFailure::failed(error.clone());
        let failure = failure.undone(&format!("{name} did not start"));
        return Err(CommandFailure {
            next_step: server.next_step.clone(),
            code: Some(ErrorCode::ServerUnavailable),
            ..failure
        });
    }
    match verb {
        Verb::Remove | Verb::Disable | Verb::Quarantine => {
            let file = daemon.in_file();
            let file = match verb {
                Verb::Remove => file.replacen(" in ", " from ", 1),
                _ => file,
            };
            out.done(&format!("{} {name}{file}", past(verb)));
        }
        Verb::Enable | Verb::Restart => outcome::say(out, daemon, past(verb), server),
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
        "waiting for {name}; Ctrl-C stops waiting, not the server"
    ));
    waiting.await
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
