//! `mcpproxy config`: finds, checks, shows and changes the configuration file.

mod change;
mod check;
mod edit;
mod get;
mod history;
mod set;
mod undo;

use clap::Subcommand;
use serde_json::json;

pub(super) use self::{check::trust_daemon, history::by_agents};

use self::{
    check::ConfigCheck, get::ConfigGet, history::ConfigHistoryList, set::ConfigSet,
    undo::ConfigUndo,
};
use super::{Done, Location, Output, output};
use crate::{config, management::Files};

/// Find, check, show or change the configuration file
#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Print the path of the configuration file
    ///
    /// --config names the file, else `$MCPPROXY_CONFIG`, else `$MCP_CONFIG_PATH`. Without these, the file is `mcp_config.json` in the platform's
    /// configuration folder, or in `~/.mcpproxy` if only that one exists.
    Path,
    /// Open the configuration file in your editor, then check it
    ///
    /// The editor is `$VISUAL`, else `$EDITOR`, else `vi`.
    Edit,
    Check(ConfigCheck),
    /// Print the JSON Schema of the configuration file
    ///
    /// For editors: save it next to the configuration file, and add `"$schema": "./mcp_config.schema.json"` to that file.
    Schema,
    Get(ConfigGet),
    Set(ConfigSet),
    History(ConfigHistoryList),
    Undo(ConfigUndo),
}

impl ConfigCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        let files = location.files()?;
        match self {
            Self::Path => print_path(&files, out),
            Self::Edit => {
                edit::edit(&files).await?;
                // The file may name another data folder now.
                ConfigCheck::default().run(&location.files()?, out).await
            }
            Self::Check(check) => check.run(&files, out).await,
            Self::Schema => output::print_line(config::schema().trim_end()),
            Self::Get(get) => get.run(&files, out).await,
            Self::Set(set) => set.run(&files, out).await,
            Self::History(list) => list.run(&files, out).await,
            Self::Undo(undo) => undo.run(&files, out).await,
        }
    }
}

fn print_path(files: &Files, out: Output) -> Done {
    let config_file = files.config_file();
    if !out.is_json() {
        return output::print_line(&config_file.to_string_lossy());
    }
    let (data_dir, exists) = (files.data_dir(), config_file.exists());
    output::print_value(
        &json!({ "config_file": config_file, "data_dir": data_dir, "exists": exists }),
    )
}
