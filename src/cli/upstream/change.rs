//! `mcpproxy upstream remove|enable|disable|restart|quarantine`: one verb for some servers.

use std::{
    collections::{BTreeMap, HashSet},
    pin::pin,
    time::Duration,
};

use clap::Args;
use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use tokio::time::timeout;

use super::super::{CommandFailure, Done, Location, Output, connection, outcome, output, secret};
use crate::{
    api::MOST_CHANGED,
    daemon_client::{self, AnswerDeadline, DaemonClient, DaemonError},
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Remove,
    Enable,
    Disable,
    Restart,
    Quarantine,
}

impl Verb {
    /// As it is typed, and as the daemon reads it.
    fn imperative(self) -> &'static str {
        match self {
            Self::Remove => "remove",
            Self::Enable => "enable",
            Self::Disable => "disable",
            Self::Restart => "restart",
            Self::Quarantine => "quarantine",
        }
    }

    fn past(self) -> &'static str {
        match self {
            Self::Remove => "removed",
            Self::Enable => "enabled",
            Self::Disable => "disabled",
            Self::Restart => "restarted",
            Self::Quarantine => "quarantined",
        }
    }

    /// How many servers one request is for. Each restart is waited for by itself.
    fn most_at_once(self) -> usize {
        match self {
            Self::Restart => 1,
            Self::Remove | Self::Enable | Self::Disable | Self::Quarantine => MOST_CHANGED,
        }
    }

    /// The mistake, if this name is that of a tool that can be switched.
    fn mistaken_tool(self, name: &str) -> Option<CommandFailure> {
        if !matches!(self, Self::Enable | Self::Disable) || !name.contains(':') {
            return None;
        }
        let failure = CommandFailure::usage(format!("{name:?} is a tool, not a server"));
        let failure = failure.undone("nothing was changed");
        let (verb, name) = (self.imperative(), as_argument(name));
        Some(failure.next(format!("`mcpproxy tools {verb} {name}`")))
    }
}

/// What programs read: a change or a failure for each server, in the order in which they were named.
#[derive(Serialize)]
struct Changes {
    changes: Vec<Value>,
}

impl NamedServers {
    pub(super) async fn run(self, verb: Verb, location: &Location, out: Output) -> Done {
        let files = location.files()?;
        if let Some(mistake) = self.names.iter().find_map(|name| verb.mistaken_tool(name)) {
            return Err(mistake);
        }
        let mut daemon = match verb {
            Verb::Restart => connection::open_to_act(&files, out, "nothing was restarted").await?,
            _ => connection::open_or_files(&files, out).await?,
        };
        let used_before = files.secret_uses().unwrap_or_default();
        let mut known = HashSet::new();
        let names = self.names.into_iter();
        let names: Vec<String> = names.filter(|name| known.insert(name.clone())).collect();
        let mut changes = Vec::new();
        let mut failures = Vec::new();
        for names in names.chunks(verb.most_at_once()) {
            let outcomes = request(&files, &mut daemon, verb, names, out).await?;
            for (name, outcome) in names.iter().zip(outcomes) {
                let outcome = match outcome {
                    Ok(change) => end(&mut daemon, verb, name, change, out).await,
                    Err(failure) => Err(failure),
                };
                match outcome {
                    Ok(change) => changes.push(serde_json::to_value(change).unwrap_or_default()),
                    Err(failure) => {
                        changes.push(failed(name, &failure));
                        failures.push(failure);
                    }
                }
            }
        }
        if verb == Verb::Remove {
            note_unused_secrets(&used_before, &files, out);
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

/// Has the servers changed: several by one change of the file. The outcomes have the order of the names; without an answer none is known.
async fn request(
    files: &Files,
    daemon: &mut DaemonClient,
    verb: Verb,
    names: &[String],
    out: Output,
) -> Done<Vec<Done<ServerChange>>> {
    if let [name] = names {
        return Ok(vec![request_one(daemon, verb, name, out).await]);
    }
    if !daemon.is_over_files() {
        return request_several(daemon, verb, names).await;
    }
    let outcomes = match verb {
        Verb::Remove => files.remove_servers(names).await,
        Verb::Quarantine => files.quarantine(names).await,
        Verb::Disable => files.set_enabled(names, Enabled::Off).await,
        Verb::Enable => files.set_enabled(names, Enabled::On).await,
        Verb::Restart => return Err(DaemonError::NotRunning(None).into()),
    };
    let undone = format!("not {}", verb.past());
    let outcomes = outcomes.into_iter().map(|outcome| {
        let outcome = outcome.map_err(|failure| failure.undone(&undone));
        outcome.map_err(CommandFailure::from)
    });
    Ok(outcomes.collect())
}

async fn request_one(
    daemon: &mut DaemonClient,
    verb: Verb,
    name: &str,
    out: Output,
) -> Done<ServerChange> {
    let server = format!("/api/v1/servers/{}", daemon_client::encoded(name));
    let (method, path) = match verb {
        Verb::Remove => (Method::DELETE, server),
        _ => (Method::POST, format!("{server}/{}", verb.imperative())),
    };
    if verb != Verb::Restart {
        let sending = daemon.request(method, &path, "", AnswerDeadline::Daemon);
        return Ok(sending.await?);
    }
    // The answer comes when the server is up, and a first start may download.
    let sending = daemon.request(method, &path, "", AnswerDeadline::Upstream);
    Ok(with_wait_note(name, out, sending).await?)
}

async fn request_several(
    daemon: &mut DaemonClient,
    verb: Verb,
    names: &[String],
) -> Done<Vec<Done<ServerChange>>> {
    #[derive(Deserialize)]
    struct Outcomes {
        changes: Vec<Box<RawValue>>,
    }
    let path = "/api/v1/changes";
    let body = serde_json::json!({ "verb": verb.imperative(), "servers": names }).to_string();
    let sending = daemon.request(Method::POST, path, body, AnswerDeadline::Daemon);
    let Outcomes { changes } = sending.await?;
    let request = format!("POST {path}");
    if changes.len() != names.len() {
        let reason = format!("{} outcomes for {} servers", changes.len(), names.len());
        return Err(DaemonError::BadAnswer { request, reason }.into());
    }
    let outcomes = changes.iter().map(|outcome| {
        let outcome = daemon_client::read_outcome(&request, outcome.get().as_bytes());
        outcome.map_err(CommandFailure::from)
    });
    Ok(outcomes.collect())
}

/// Waits for what the change brings about, and says it.
async fn end(
    daemon: &mut DaemonClient,
    verb: Verb,
    name: &str,
    mut change: ServerChange,
    out: Output,
) -> Done<ServerChange> {
    let past = verb.past();
    match verb {
        Verb::Remove => {
            let file = daemon.in_file().replacen(" in ", " from ", 1);
            out.done(&format!("{past} {name}{file}"));
        }
        Verb::Disable | Verb::Quarantine => {
            out.done(&format!("{past} {name}{}", daemon.in_file()));
        }
        Verb::Enable => {
            change.server = outcome::wait_for(daemon, name, None).await?;
            outcome::say(out, daemon, past, &change.server);
        }
        Verb::Restart => {
            if let Some(error) = &change.server.last_error {
                let failure = CommandFailure::failed(error.clone());
                let failure = failure.undone(&format!("{name} did not start"));
                return Err(CommandFailure {
                    next_step: change.server.next_step.clone(),
                    code: Some(ErrorCode::ServerUnavailable),
                    ..failure
                });
            }
            outcome::say(out, daemon, past, &change.server);
        }
    }
    Ok(change)
}

/// Says which stored secrets nothing uses any more.
fn note_unused_secrets(used_before: &BTreeMap<String, Vec<String>>, files: &Files, out: Output) {
    let used = files.secret_uses().unwrap_or_default();
    let left = used_before.keys().filter(|name| !used.contains_key(*name));
    let left: Vec<&String> = left.collect();
    if left.is_empty() {
        return;
    }
    let stored = secret::stored(files);
    for name in left.into_iter().filter(|name| stored.contains(*name)) {
        let name = as_argument(name);
        out.note(&format!(
            "no server uses the secret {name} now: `mcpproxy secret remove {name}`"
        ));
    }
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
