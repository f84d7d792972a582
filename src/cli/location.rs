//! The options --config and --data-dir, and the files that they choose.

use std::path::PathBuf;

use super::failure::{CommandFailure, Done};
use crate::{
    config::{self, Places, RequestedPlaces},
    daemon_client::DaemonError,
    management::{Files, Management},
};

/// The options of every command that choose the configuration and the data folder. Commands find the daemon by its data folder.
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
    /// A location with these options, instead of those of the command line.
    pub(super) fn named(config: Option<PathBuf>, data_dir: Option<PathBuf>) -> Self {
        Self { config, data_dir }
    }

    /// The files at this location. Fails if the data folder is a file.
    pub(super) fn files(&self) -> Done<Files> {
        let requested = RequestedPlaces {
            config_file: self.config.clone(),
            data_dir: self.data_dir.clone(),
        };
        let variables = config::process_environment();
        let places = Places::find(&requested, &*variables)
            .map_err(|error| CommandFailure::failed(error.to_string()))
            .map_err(|failure| failure.next("set $HOME, or use --config and --data-dir"))?;
        let files = Management::over_files(places, variables);
        if self.data_dir.is_some() && files.data_dir().is_file() {
            return Err(DaemonError::NoFolder(files.data_dir().to_owned()).into());
        }
        Ok(files)
    }
}
