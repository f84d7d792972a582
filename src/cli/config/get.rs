//! `mcpproxy config get`: shows the configuration file, or one value of it.

use clap::Args;
use serde_json::Value;

use super::{
    super::{CommandFailure, Done, Output, output, unusable_file::refuse_unusable},
    check::running,
};
use crate::{
    config::{self, KeyLookup},
    management::Files,
};

/// Show the configuration file, or one value of it
///
/// Secrets are shown as `***`. For a KEY that is not in the file, the command shows the default value.
#[derive(Debug, Args)]
pub(in crate::cli) struct ConfigGet {
    /// The key, such as `activity.max_age`
    #[arg(value_name = "KEY")]
    key: Option<String>,
}

impl ConfigGet {
    pub(super) async fn run(self, files: &Files, out: Output) -> Done {
        let text = config::read_text(files.config_file()).unwrap_or_default();
        if text.trim().is_empty() {
            // A running daemon keeps the settings of the former file, which this file does not show.
            let daemon = running(files, out).await;
            refuse_unusable(files, daemon.map(|(status, _)| status), "nothing was shown")?;
        }
        let written = files.written_config()?.settings;
        let Some(key) = self.key else {
            return output::print_value(&written);
        };
        let path = config::keys_of_path(&key, &text);
        if let [list, name, ..] = &path[..]
            && list == "mcpServers"
            && (written.get(list)).is_none_or(|all| all.is_object() && all.get(name).is_none())
        {
            let failure = CommandFailure::failed(format!("no server {name:?} is configured"));
            return Err(failure.next("`mcpproxy upstream list` shows the configured servers"));
        }
        let found = path.iter().try_fold(&written, |value, key| value.get(key));
        let value = found.cloned().or_else(|| config::default_of(&path));
        match value {
            None => Err(without_value(&key, config::look_up(&path))),
            Some(Value::String(text)) if !out.is_json() => output::print_line(&text),
            Some(value) => output::print_value(&value),
        }
    }
}

/// The failure for a key that has neither a value nor a default.
fn without_value(key: &str, known: KeyLookup) -> CommandFailure {
    let step = match known {
        KeyLookup::Known => {
            let what = format!("`{key}` is not set and has no default value");
            let step = format!("`mcpproxy config set {key} VALUE` sets it");
            return CommandFailure::failed(what).next(step);
        }
        KeyLookup::Meant(meant) => format!("did you mean `mcpproxy config get {meant}`?"),
        KeyLookup::Unknown => "`mcpproxy config schema` lists every key".to_owned(),
    };
    CommandFailure::failed(format!("there is no key `{key}`")).next(step)
}
