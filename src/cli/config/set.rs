//! `mcpproxy config set`: changes one value.

use clap::Args;
use http::Method;
use serde_json::Value;

use super::{
    super::{CommandFailure, Done, Output, output::shell_word},
    change,
};
use crate::{
    config::{self, KeyLookup},
    failure::ErrorCode,
    management::{ConfigEdit, ConfigPatch, EditPath, Files},
};

/// Change a value, and show the difference
///
/// Comments and order are kept. The value is JSON or plain text; `null` removes the key.
#[derive(Debug, Args)]
pub(in crate::cli) struct ConfigSet {
    /// The key, such as `activity.max_age`
    #[arg(value_name = "KEY")]
    key: String,
    /// The new value
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: String,
    /// Show what would change, and write nothing
    #[arg(long)]
    dry_run: bool,
}

impl ConfigSet {
    pub(super) async fn run(self, files: &Files, out: Output) -> Done {
        let key = self.key.clone();
        if key.is_empty() {
            let failure = CommandFailure::usage("the key is empty").undone("nothing was changed");
            return Err(failure.next("`mcpproxy config schema` lists every key"));
        }
        if self.value.starts_with(['{', '['])
            && let Err(error) = serde_json::from_str::<Value>(&self.value)
        {
            let why = config::json_mistake(&self.value, &error);
            let failure = CommandFailure::usage(format!("the value is not valid JSON: {why}"));
            let step = format!("`mcpproxy config set {key} VALUE`, in single quotes for the shell");
            return Err(failure.undone("nothing was changed").next(step));
        }
        let edit = ConfigEdit {
            path: EditPath::Dotted(self.key),
            value: None,
            typed: Some(self.value),
        };
        let dry_run = self.dry_run;
        let request = ConfigPatch {
            changes: vec![edit],
            dry_run,
            seen: None,
        };
        let route = (Method::PATCH, "/api/v1/config");
        let made = change::make(files, route, &request, dry_run, out).await;
        let path = config::keys_of_path(&key, "");
        let is_wrong = |failure: &CommandFailure| {
            let is_server = path.first().is_none_or(|key| key == "mcpServers");
            failure.code == Some(ErrorCode::InvalidArguments) && !is_server
        };
        made.map_err(|failure| match config::look_up(&path) {
            KeyLookup::Meant(meant) => failure.next(format!("`mcpproxy config set {meant} VALUE`")),
            KeyLookup::Unknown => failure.next("`mcpproxy config schema` lists every key"),
            KeyLookup::Known if is_wrong(&failure) => {
                let default = config::default_of(&path).filter(|value| !value.is_object());
                let text = default.map(|value| change::shown(Some(&value)));
                let step = match text {
                    Some(text) => format!("`mcpproxy config set {key} {}`", shell_word(&text)),
                    None => "`mcpproxy config schema` describes its values".to_owned(),
                };
                failure.next(step)
            }
            KeyLookup::Known => failure,
        })
    }
}
