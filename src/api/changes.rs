//! `/api/v1/changes`: one verb for several servers, as the command line takes them.

use axum::extract::{State, rejection::BytesRejection};
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Answer, Api, ok, read_body,
    routes::{About, Routes},
    wrong,
};
use crate::{
    failure::error_code::Failure,
    management::{Enabled, Management, ServerChange},
};

/// Limit: servers of one request.
const MOST: usize = 256;

/// How many are changed at the same time: each change waits until its server has followed it.
const AT_ONCE: usize = 8;

/// What is to be done to which servers.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ManyChanges {
    verb: Verb,
    /// The servers, in the order of the answer.
    #[schemars(length(min = 1, max = 256))]
    servers: Vec<String>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Verb {
    Enable,
    Disable,
    Restart,
    Quarantine,
    Remove,
}

/// What came of it, in the order in which the servers were named.
#[derive(Serialize, JsonSchema)]
struct Outcomes {
    changes: Vec<Outcome>,
}

/// Of one server.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Outcome {
    Done(Box<ServerChange>),
    Failed(Failed),
}

/// Why it came to nothing.
#[derive(Serialize, JsonSchema)]
struct Failed {
    /// The server, as it was named.
    name: String,
    error: String,
    /// A code of the closed list.
    code: &'static str,
    hint: String,
}

pub(super) fn routes() -> Routes {
    let about = About::new(
        "changeServers",
        "Enables, disables, restarts, quarantines or removes several servers.",
    );
    let about = about.takes::<ManyChanges>().gives::<Outcomes>();
    Routes::new().post("/api/v1/changes", change, about)
}

async fn change(State(api): State<Api>, body: Result<Bytes, BytesRejection>) -> Answer {
    let wanted: ManyChanges = read_body(body)?;
    if wanted.servers.is_empty() || wanted.servers.len() > MOST {
        return Err(wrong(format!("`servers` names 1 to {MOST} servers")));
    }
    let management = &api.0.management;
    let changes = stream::iter(wanted.servers).map(|name| outcome(management, wanted.verb, name));
    let changes = changes.buffered(AT_ONCE).collect().await;
    ok(&Outcomes { changes })
}

async fn outcome(management: &Management, verb: Verb, name: String) -> Outcome {
    match apply(management, verb, &name).await {
        Ok(change) => Outcome::Done(Box::new(change)),
        Err(failure) => {
            let Failure {
                error, code, hint, ..
            } = management.for_operator(failure);
            Outcome::Failed(Failed {
                name,
                error,
                code: code.as_str(),
                hint,
            })
        }
    }
}

async fn apply(management: &Management, verb: Verb, name: &str) -> Result<ServerChange, Failure> {
    match verb {
        Verb::Enable => management.set_enabled(name, Enabled::On).await,
        Verb::Disable => management.set_enabled(name, Enabled::Off).await,
        Verb::Restart => management.restart_server(name).await,
        Verb::Quarantine => management.quarantine(name).await,
        Verb::Remove => management.remove_server(name).await,
    }
}
