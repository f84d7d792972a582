//! `/api/v1/commands`: whether the command of a server is there, before anything is added. Nothing is started.

use std::path::PathBuf;

use axum::extract::{Query, State, rejection::QueryRejection};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Answer, Api, blocking, ok,
    routes::{About, Routes},
    wrong,
};
use crate::process::{BaseEnvironment, find_program};

pub(super) fn routes() -> Routes {
    let about = About::new(
        "findCommand",
        "Which file a command of a server would run, looked for where servers are started; nothing is started.",
    );
    Routes::new().get(
        "/api/v1/commands",
        find,
        about.asks::<CommandQuery>().gives::<FoundCommand>(),
    )
}

/// What an entry would start.
#[derive(Deserialize, JsonSchema)]
struct CommandQuery {
    /// The command as the entry has it: a name that is looked for on `PATH`, or a path.
    #[schemars(length(min = 1))]
    command: String,
    /// The folder that the entry has it started in: a relative path counts from there.
    cwd: Option<String>,
    /// The `PATH` that the entry sets.
    path: Option<String>,
}

/// Whether a command is there.
#[derive(Serialize, JsonSchema)]
struct FoundCommand {
    /// Whether it is.
    found: bool,
    /// The file that would run.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// Why none would.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// What to do about that.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_step: Option<String>,
}

async fn find(
    State(api): State<Api>,
    query: Result<Query<CommandQuery>, QueryRejection>,
) -> Answer {
    let Query(query) = query.map_err(wrong)?;
    if query.command.is_empty() {
        return Err(wrong("`command` is empty"));
    }
    let settings = api.0.management.settings_in_force();
    let login_path = api.0.login_path.get().await;
    let found = blocking(move || {
        let base = BaseEnvironment::new(&settings.environment, login_path.as_deref());
        let cwd = query.cwd.filter(|cwd| !cwd.is_empty()).map(PathBuf::from);
        find_program(&query.command, cwd, query.path, &base)
    });
    ok(&match found.await? {
        Ok(file) => FoundCommand {
            found: true,
            file: Some(file.display().to_string()),
            reason: None,
            next_step: None,
        },
        Err(error) => FoundCommand {
            found: false,
            file: None,
            reason: Some(error.reason()),
            next_step: Some(error.next_step().to_owned()),
        },
    })
}
