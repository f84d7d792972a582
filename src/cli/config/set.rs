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
        let broken = broken_json(&self.value);
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
        made.map_err(|failure| {
            if failure.code != Some(ErrorCode::InvalidArguments) {
                return failure;
            }
            let text = config::read_text(files.config_file()).unwrap_or_default();
            let path = config::keys_of_path(&key, &text);
            if let Some(why) = broken.filter(|_| !takes_text(&path)) {
                let failure = CommandFailure::usage(format!("the value is not valid JSON: {why}"));
                let step = format!(
                    "correct the value, in single quotes: `mcpproxy config set {key} 'VALUE'`"
                );
                return failure.undone("nothing was changed").next(step);
            }
            failure.next_if(step_for(&key, &path))
        })
    }
}

/// The error in a value that looks like JSON and is not. It matters only if the value is refused: `[::1]:8080` is an address.
fn broken_json(value: &str) -> Option<String> {
    let error = serde_json::from_str::<Value>(value).err();
    let error = error.filter(|_| value.starts_with(['{', '[']))?;
    Some(config::json_mistake(value, &error))
}

/// Whether a value of this key need not be JSON, because the key takes a string or does not exist.
fn takes_text(path: &[String]) -> bool {
    let default = config::default_of(path);
    !matches!(config::look_up(path), KeyLookup::Known) || default.is_some_and(|it| it.is_string())
}

/// The step for a key that does not exist, or for a value that a setting does not take. The failure of a server's value has its own.
fn step_for(key: &str, path: &[String]) -> Option<String> {
    match config::look_up(path) {
        KeyLookup::Meant(meant) => Some(format!("`mcpproxy config set {meant} VALUE`")),
        KeyLookup::Unknown => Some("`mcpproxy config schema` lists every key".to_owned()),
        KeyLookup::Known if path.first().is_none_or(|key| key == "mcpServers") => None,
        KeyLookup::Known => {
            let default = config::default_of(path).filter(|value| !value.is_object());
            Some(match default {
                Some(value) => {
                    let value = shell_word(&change::shown(Some(&value)));
                    format!("`mcpproxy config set {key} {value}`")
                }
                None => "`mcpproxy config schema` describes its values".to_owned(),
            })
        }
    }
}
