//! Tries a server that is not configured, so that nothing is written of one that does not work.

use std::{io, sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::trial::{Trial, TrialOutcome};
use crate::{
    config::Settings,
    failure::NextStep,
    process::{ChildLedger, LoginPath},
};

/// More than any default of `init_timeout`, after which an attempt ends by itself.
const WITHIN: Duration = Duration::from_mins(9);

/// The result of a trial.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct TriedServer {
    /// Whether the server listed its tools.
    pub works: bool,
    /// The number of its tools.
    pub tools: Option<usize>,
    /// Why it does not work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<NextStep>,
    /// The last lines of its stderr, if it does not work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
}

/// Starts or contacts the one server of these settings, and ends it again. `ending` ends it early.
pub async fn try_new(
    settings: Settings,
    ledger: ChildLedger,
    login_path: LoginPath,
    ending: CancellationToken,
) -> io::Result<TriedServer> {
    let trial = Trial {
        settings: Arc::new(settings),
        data_dir: None,
        ledger: Some(ledger),
        login_path,
        within: WITHIN,
        ending,
    };
    let tried = Box::pin(trial.run()).await?.pop();
    Ok(match tried.map(|(_, outcome)| outcome) {
        Some(TrialOutcome::Answered { tools, .. }) => TriedServer {
            works: true,
            tools: Some(tools),
            ..TriedServer::default()
        },
        Some(TrialOutcome::Failed { error, log }) => TriedServer {
            reason: Some(error.whole()),
            step: Some(error.step),
            log,
            ..TriedServer::default()
        },
        Some(TrialOutcome::Late) | None => TriedServer {
            reason: Some("no connection in time".to_owned()),
            ..TriedServer::default()
        },
    })
}
