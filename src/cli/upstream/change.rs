//! `mcpproxy upstream remove|enable|disable|restart|quarantine`: changes one or more servers.

use std::{
    collections::{BTreeMap, HashSet},
    pin::pin,
    time::Duration,
};

use clap::Args;
use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{json, value::RawValue};
use tokio::time::timeout;

use super::super::{
    CommandFailure, Done, Output, client_warnings, connection, outcome, output, secret,
};
use crate::{
    api::{MOST_CHANGED, ServerVerb},
    config::TransportKind,
    daemon_client::{self, AnswerDeadline, DaemonClient, DaemonError},
    failure::ErrorCode,
    management::{Files, ServerChange},
    text::names::as_argument,
};

/// The arguments of these commands.
#[derive(Debug, Args)]
pub(in crate::cli) struct NamedServers {
    /// The servers' names, as `upstream list` shows them
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// Accepted, because scripts write it: nothing is asked
    #[arg(short, long, hide = true)]
    yes: bool,
}

/// A row of the report for programs, which has one for each server, in the order of the arguments.
#[derive(Serialize)]
#[serde(untagged)]
enum ChangeRow {
    Done(Box<ServerChange>),
    Failed {
        name: String,
        error: String,
        code: Option<&'static str>,
        hint: Option<String>,
    },
}

impl ChangeRow {
    fn failed(name: &str, failure: &CommandFailure) -> Self {
        Self::Failed {
            name: name.to_owned(),
            error: failure.in_words(),
            code: failure.code.map(ErrorCode::as_str),
            hint: failure.hint(),
        }
    }
}

impl NamedServers {
    pub(super) async fn run(self, verb: ServerVerb, files: &Files, out: Output) -> Done {
        if let Some(mistake) = self.names.iter().find_map(|name| mistaken_tool(verb, name)) {
            return Err(mistake);
        }
        // Restarts are one request each, because the command waits for each server.
        let (mut daemon, most_at_once) = if verb == ServerVerb::Restart {
            let opened = connection::open_to_act(files, out, "nothing was restarted");
            (opened.await?, 1)
        } else {
            (connection::open_or_files(files, out).await?, MOST_CHANGED)
        };
        let used_before = files.secret_uses();
        let mut known = HashSet::new();
        let names = self.names.into_iter();
        let names: Vec<String> = names.filter(|name| known.insert(name.clone())).collect();
        let mut changes = Vec::new();
        let mut failures = Vec::new();
        for names in names.chunks(most_at_once) {
            let outcomes = match request(&mut daemon, verb, names, out).await {
                Ok(outcomes) => outcomes,
                Err(failure) => {
                    // The outcome of these is not known. The report has the outcomes of the requests before.
                    let rows = names.iter().map(|name| ChangeRow::failed(name, &failure));
                    changes.extend(rows);
                    failures.push(failure);
                    continue;
                }
            };
            for (name, outcome) in names.iter().zip(outcomes) {
                let outcome = match outcome {
                    Ok(change) => conclude(&mut daemon, verb, name, change, out).await,
                    Err(failure) => Err(failure),
                };
                match outcome {
                    Ok(change) => changes.push(ChangeRow::Done(Box::new(change))),
                    Err(failure) => {
                        changes.push(ChangeRow::failed(name, &failure));
                        failures.push(failure);
                    }
                }
            }
        }
        if verb == ServerVerb::Remove {
            note_unused_secrets(used_before, files, out);
            let location = connection::location_of(&daemon);
            client_warnings::warn_of_refused(files, location.as_ref(), out);
        }
        if out.is_json() {
            output::print_value(&json!({ "changes": changes }))?;
        }
        output::report_failures(failures)
    }
}

/// The failure if the name is a tool's, which a command of `mcpproxy tools` enables or disables.
fn mistaken_tool(verb: ServerVerb, name: &str) -> Option<CommandFailure> {
    let typed = match verb {
        ServerVerb::Enable => "enable",
        ServerVerb::Disable => "disable",
        ServerVerb::Restart | ServerVerb::Quarantine | ServerVerb::Remove => return None,
    };
    if !name.contains(':') {
        return None;
    }
    let failure = CommandFailure::usage(format!("{name:?} is a tool, not a server"));
    let failure = failure.undone("nothing was changed");
    let name = as_argument(name);
    Some(failure.next(format!("`mcpproxy tools {typed} {name}`")))
}

/// Changes the servers by one request. The outcomes have the order of the names.
async fn request(
    daemon: &mut DaemonClient,
    verb: ServerVerb,
    names: &[String],
    out: Output,
) -> Done<Vec<Done<ServerChange>>> {
    #[derive(Deserialize)]
    struct Outcomes {
        changes: Vec<Box<RawValue>>,
    }
    let path = "/api/v1/changes";
    let body = json!({ "verb": verb, "servers": names }).to_string();
    let Outcomes { changes } = match (verb, names) {
        (ServerVerb::Restart, [name]) => {
            // The answer comes when the server has started, and a first start may download.
            let deadline = AnswerDeadline::Upstream;
            let sending = daemon.request(Method::POST, path, body, deadline);
            with_wait_note(name, out, sending).await?
        }
        _ => daemon.ask_for(Method::POST, path, body).await?,
    };
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

/// Says the outcome of a change, which for an enabled server is its start.
async fn conclude(
    daemon: &mut DaemonClient,
    verb: ServerVerb,
    name: &str,
    mut change: ServerChange,
    out: Output,
) -> Done<ServerChange> {
    let past = verb.past();
    if change.changed.is_empty() && verb != ServerVerb::Restart {
        out.note(&format!("{name} is already {past}"));
        if verb == ServerVerb::Enable {
            change.server = outcome::wait_for(daemon, name, None).await?;
        }
        return Ok(change);
    }
    match verb {
        ServerVerb::Remove => out.done(&format!("{past} {name}{}", daemon.in_file("from"))),
        ServerVerb::Disable | ServerVerb::Quarantine => {
            out.done(&format!("{past} {name}{}", daemon.in_file("in")));
        }
        ServerVerb::Enable => {
            change.server = outcome::wait_for(daemon, name, None).await?;
            outcome::say(out, daemon, past, &change.server);
        }
        ServerVerb::Restart => {
            if let Some(error) = &change.server.last_error {
                let failure = CommandFailure::failed(error.clone());
                let transport = change.server.transport;
                let is_program = transport.is_none_or(|kind| kind == TransportKind::Stdio);
                let verb = if is_program { "start" } else { "connect" };
                let failure = failure.undone(&format!("{name} did not {verb}"));
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

/// The secrets that the configuration refers to, each with its servers, or why they are not known.
type SecretUses = Result<BTreeMap<String, Vec<String>>, String>;

/// Says which stored secrets no server uses any more.
fn note_unused_secrets(before: SecretUses, files: &Files, out: Output) {
    let left = left_over(before, &files.secret_uses());
    if left.is_empty() {
        return;
    }
    let stored = secret::stored(files);
    for name in left.into_iter().filter(|name| stored.contains(name)) {
        let name = as_argument(&name);
        out.note(&format!(
            "no server uses the secret {name} now: `mcpproxy secret remove {name}`"
        ));
    }
}

/// The secrets that were used before and are not used after; none if either is not known.
fn left_over(before: SecretUses, after: &SecretUses) -> Vec<String> {
    let (Ok(before), Ok(after)) = (before, after) else {
        return Vec::new();
    };
    let left = before.into_keys().filter(|name| !after.contains_key(name));
    left.collect()
}

/// How long a command waits for a server before it says so.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_left_over_where_it_is_known_that_nothing_uses_it() {
        let uses = |names: &[&str]| -> SecretUses {
            let named = names.iter().map(|&name| (name.to_owned(), Vec::new()));
            Ok(named.collect())
        };
        let unknown = || Err("it cannot be read".to_owned());
        assert_eq!(left_over(uses(&["a", "b"]), &uses(&["b"])), ["a"]);
        assert!(left_over(uses(&["a"]), &unknown()).is_empty());
        assert!(left_over(unknown(), &uses(&[])).is_empty());
    }
}
