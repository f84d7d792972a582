//! `/api/v1/commands`: the program of a server's command, looked for before the server is added. Nothing is started.

use std::path::{Path, PathBuf};

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, Api, Params, Route, Routes, blocking, ok, wrong};
use crate::{
    config::{self, Surroundings, with_variables},
    process::{BaseEnvironment, closest_program, find_program},
    text::secret::Secrets,
};

pub(super) fn routes() -> Routes {
    vec![
        Route::get("/api/v1/commands", find)
            .about(
                "findCommand",
                "Finds the program that a server's command would run; starts nothing.",
            )
            .asks::<CommandQuery>()
            .gives::<FoundCommand>(),
    ]
}

/// The command of an entry.
#[derive(Deserialize, JsonSchema)]
struct CommandQuery {
    /// The `command` of the entry, a name on `PATH` or a path. Variables such as `${HOME}` are resolved in all three parameters.
    #[schemars(length(min = 1))]
    command: String,
    /// The `cwd` of the entry, to which a path in `command` is relative. It is itself relative to the folder of the configuration file;
    /// `~/` is the home folder.
    cwd: Option<String>,
    /// The `PATH` in the `env` of the entry.
    path: Option<String>,
}

/// The program of a command.
#[derive(Default, Serialize, JsonSchema)]
struct FoundCommand {
    /// Whether the program was found.
    found: bool,
    /// Whether mcpproxy searched for it; false if the command refers to a secret or to an unset variable.
    judged: bool,
    /// The file that would run.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// Why it was not found, or not searched for.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_step: Option<String>,
    /// A program that was probably meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    closest: Option<String>,
}

async fn find(State(api): State<Api>, Params(query): Params<CommandQuery>) -> Answer {
    if query.command.is_empty() {
        return Err(wrong("`command` is empty"));
    }
    let management = &api.0.management;
    let settings = management.settings_in_force();
    let file = management.config_file().to_owned();
    let login_path = api.0.login_path.get().await;
    let found = blocking(move || {
        let base = BaseEnvironment::new(&settings.environment, login_path.as_deref());
        match query.into_entry(&file) {
            Ok((entry, values)) => {
                let values = Secrets::new(values);
                entry.found(&base, &values).without(&values)
            }
            Err(unjudged) => unjudged,
        }
    });
    ok(&found.await?)
}

/// The values of an entry, with its references resolved.
struct EntryCommand {
    command: String,
    cwd: Option<PathBuf>,
    path: Option<String>,
}

impl CommandQuery {
    /// The values as an entry of this file would have them, and the values of the variables in them.
    fn into_entry(self, file: &Path) -> Result<(EntryCommand, Vec<String>), FoundCommand> {
        let variables = config::process_environment();
        let surroundings = Surroundings {
            lookup: &*variables,
            folder: file.parent().unwrap_or(Path::new("/")),
        };
        let mut values = Vec::new();
        let mut read = |key: &str, text: &str| match with_variables(text, &*variables) {
            Ok(whole) => {
                values.extend(whole.values);
                Ok(whole.text)
            }
            Err(why) => Err(FoundCommand {
                reason: Some(format!("not checked: `{key}` {why}")),
                next_step: Some(NOT_JUDGED.to_owned()),
                ..FoundCommand::default()
            }),
        };
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        let command = read("command", &self.command)?;
        let cwd = given(self.cwd).map(|cwd| read("cwd", &cwd)).transpose()?;
        let path = given(self.path)
            .map(|path| read("path", &path))
            .transpose()?;
        let entry = EntryCommand {
            command,
            cwd: cwd.map(|cwd| surroundings.path(&cwd)),
            path,
        };
        Ok((entry, values))
    }
}

/// The next step where a reference cannot be resolved here.
const NOT_JUDGED: &str = "add the server; its row shows the reason if it cannot start";

impl EntryCommand {
    fn found(self, base: &BaseEnvironment, values: &Secrets) -> FoundCommand {
        let hidden = |text: &str| values.redacted(text).into_owned();
        let judged = FoundCommand {
            judged: true,
            ..FoundCommand::default()
        };
        match find_program(&self.command, self.cwd.as_deref(), self.path, base) {
            Ok(file) => FoundCommand {
                found: true,
                file: Some(file.display().to_string()),
                ..judged
            },
            Err(error) => FoundCommand {
                reason: Some(error.to_string()),
                next_step: Some(error.step().shown(hidden).at_terminal("")),
                closest: closest_program(&error),
                ..judged
            },
        }
    }
}

impl FoundCommand {
    /// Masks the values of variables, which may be credentials.
    fn without(mut self, values: &Secrets) -> Self {
        let texts = [&mut self.file, &mut self.reason];
        for text in texts.into_iter().flatten() {
            *text = values.redacted(text).into_owned();
        }
        self
    }
}
