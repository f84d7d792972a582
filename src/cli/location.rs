//! Which configuration and data folder a command means.

use std::path::PathBuf;

use super::failure::{CommandFailure, Done};
use crate::{
    config::{self, Places, RequestedPlaces},
    daemon_client::DaemonError,
    management::{Files, Management},
};

/// Which configuration and data folder is meant. Commands and daemon find each other through the data folder.
#[derive(Debug, clap::Args)]
pub(super) struct Location {
    /// The configuration file, instead of `$MCPPROXY_CONFIG`, `$MCP_CONFIG_PATH` or the usual place
    #[arg(long, global = true, value_name = "FILE", hide = true)]
    config: Option<PathBuf>,
    /// The folder for the local socket, logs and last-known lists, instead of the usual place
    #[arg(long, global = true, value_name = "DIR", hide = true)]
    data_dir: Option<PathBuf>,
}

impl Location {
    /// These two, in place of those of the command line.
    pub(super) fn named(config: Option<PathBuf>, data_dir: Option<PathBuf>) -> Self {
        Self { config, data_dir }
    }

    /// The operator's verbs over the files there.
    pub(super) fn files(&self) -> Done<Files> {
        let requested = RequestedPlaces {
            config_file: self.config.clone(),
            data_dir: self.data_dir.clone(),
        };
        let variables = config::process_environment();
        let places = Places::find(&requested, &*variables)
            .map_err(|error| CommandFailure::failed(error.to_string()))?;
        let files = Management::over_files(places, variables);
        if self.data_dir.is_some() && files.data_dir().is_file() {
            return Err(DaemonError::NoFolder(files.data_dir().to_owned()).into());
        }
        if files.config_file().is_dir() {
            files.written_config()?;
        }
        Ok(files)
    }
}
