//! `/api/v1/changes`: a change of several servers by one change of the file.

use std::collections::HashSet;

use axum::extract::State;
use futures_util::stream::{self, StreamExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, Json, Route, Routes, Verbs, failure_words::for_sender, ok, wrong};
use crate::{
    failure::{RestFailure, Result},
    management::{Enabled, ServerChange},
};

/// Limit: servers of one request. Each is held in memory until all are done.
pub const MOST_CHANGED: usize = 256;

/// How many servers are restarted at the same time.
const AT_ONCE: usize = 8;

/// A change of several servers.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ManyChanges {
    /// The change.
    verb: ServerVerb,
    /// The servers, in the order of the answer.
    #[schemars(length(min = 1, max = 256))]
    servers: Vec<String>,
}

/// A change of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerVerb {
    /// Enables it.
    Enable,
    /// Disables it.
    Disable,
    /// Restarts it.
    Restart,
    /// Quarantines it.
    Quarantine,
    /// Removes it.
    Remove,
}

impl ServerVerb {
    /// What was done, in words.
    pub fn past(self) -> &'static str {
        match self {
            Self::Enable => "enabled",
            Self::Disable => "disabled",
            Self::Restart => "restarted",
            Self::Quarantine => "quarantined",
            Self::Remove => "removed",
        }
    }
}

/// The results, in the order of the request.
#[derive(Serialize, JsonSchema)]
struct Outcomes {
    /// The results.
    changes: Vec<Outcome>,
}

/// The result for a server.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Outcome {
    Done(Box<ServerChange>),
    Failed(Failed),
}

/// A failed change.
#[derive(Serialize, JsonSchema)]
struct Failed {
    /// The name of the server, as in the request.
    name: String,
    #[serde(flatten)]
    failure: RestFailure,
}

pub(super) fn routes<V: Verbs>() -> Routes<V> {
    vec![
        Route::post("/api/v1/changes", change::<V>)
            .about(
                "changeServers",
                "Enables, disables, quarantines or removes several servers in one change of the configuration file, or restarts them.",
            )
            .takes::<ManyChanges>()
            .gives::<Outcomes>(),
    ]
}

async fn change<V: Verbs>(State(verbs): State<V>, Json(wanted): Json<ManyChanges>) -> Answer {
    check_count(&wanted.servers)?;
    if let Some(name) = repeated(&wanted.servers) {
        return Err(wrong(format!("`servers` names {name:?} twice")));
    }
    let (management, names) = (verbs.management(), &wanted.servers[..]);
    let outcomes = match wanted.verb {
        ServerVerb::Enable => management.set_enabled(names, Enabled::On).await,
        ServerVerb::Disable => management.set_enabled(names, Enabled::Off).await,
        ServerVerb::Quarantine => management.quarantine(names).await,
        ServerVerb::Remove => management.remove_servers(names).await,
        ServerVerb::Restart => {
            let restart = |name: String| {
                let verbs = verbs.clone();
                async move { verbs.restart(&name).await }
            };
            let restarts = stream::iter(names.to_vec()).map(restart);
            restarts.buffered(AT_ONCE).collect().await
        }
    };
    let outcomes = names.iter().zip(outcomes);
    let changes = outcomes.map(|(name, outcome)| shown(wanted.verb, name, outcome));
    ok(&Outcomes {
        changes: changes.collect(),
    })
}

/// Refuses a request for no server, or for too many.
pub(super) fn check_count(servers: &[String]) -> Answer<()> {
    if (1..=MOST_CHANGED).contains(&servers.len()) {
        return Ok(());
    }
    Err(wrong(format!(
        "`servers` must name 1 to {MOST_CHANGED} servers"
    )))
}

fn repeated(names: &[String]) -> Option<&String> {
    let mut known = HashSet::new();
    names.iter().find(|name| !known.insert(*name))
}

/// The result for a server, with a failure that says what was not done.
fn shown(verb: ServerVerb, name: &str, outcome: Result<ServerChange>) -> Outcome {
    match outcome {
        Ok(change) => Outcome::Done(Box::new(change)),
        Err(failure) => {
            let failure = failure.undone(&format!("not {}", verb.past()));
            Outcome::Failed(Failed {
                name: name.to_owned(),
                failure: RestFailure::of(for_sender(failure)),
            })
        }
    }
}
