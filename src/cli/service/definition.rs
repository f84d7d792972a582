//! What a service starts: which program, with which arguments. The two service managers write it down each in its own way.

use std::{
    env,
    path::{Path, PathBuf},
};

use crate::{
    cli::{
        carried::{CarriedOptions, utf8},
        failure::CommandFailure,
    },
    management::{Management, OverFiles},
    process,
};

/// Stands in every file that we write, and in nobody else's.
pub(super) const MARK: &str = "Written by `mcpproxy service install`";

/// What a service starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServiceDefinition {
    /// The program, by its whole path.
    pub(super) program: String,
    /// What stands behind it.
    pub(super) arguments: Vec<String>,
    /// Variables that say where folders are. Never secrets.
    pub(super) variables: Vec<(String, String)>,
    /// Where a person may put values for references in the configuration.
    pub(super) environment_file: String,
    /// Where the daemon keeps its logs, under a service manager that keeps none.
    pub(super) log_folder: String,
}

/// What an installed file says that it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Installed {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
}

impl ServiceDefinition {
    /// What is to be started for this configuration with these options.
    pub(super) fn new(
        files: &Management<OverFiles>,
        options: &CarriedOptions,
    ) -> Result<Self, CommandFailure> {
        let places = files.places();
        let mut arguments = vec!["--config".to_owned(), utf8(&places.config_file)?];
        if places.data_dir_given {
            arguments.extend(["--data-dir".to_owned(), utf8(&places.data_dir)?]);
        }
        arguments.push("serve".to_owned());
        arguments.extend(options.arguments()?);
        let folder = env::var("XDG_DATA_HOME").ok();
        let folder = folder.filter(|folder| Path::new(folder).is_absolute());
        let is_chosen = places.data_dir_given || cfg!(target_os = "macos");
        let variables = folder
            .filter(|_| !is_chosen)
            .map(|folder| ("XDG_DATA_HOME".to_owned(), folder));
        Ok(Self {
            program: utf8(&own_program()?)?,
            arguments,
            variables: variables.into_iter().collect(),
            environment_file: utf8(&environment_file(&places.config_file))?,
            log_folder: utf8(&files.data_dir().join("logs"))?,
        })
    }

    /// The same with what an installed file starts.
    pub(super) fn with_arguments_of(self, installed: &Installed) -> Self {
        let config_file = installed.option("--config");
        let environment_file = config_file.map(|file| environment_file(Path::new(file)));
        let environment_file = environment_file.and_then(|file| utf8(&file).ok());
        Self {
            arguments: installed.arguments.clone(),
            environment_file: environment_file.unwrap_or(self.environment_file),
            ..self
        }
    }
}

impl Installed {
    /// The value of an option.
    pub(super) fn option(&self, option: &str) -> Option<&str> {
        let at = self.arguments.iter().position(|found| found == option)?;
        self.arguments.get(at + 1).map(String::as_str)
    }
}

/// Beside the configuration, because it is about it.
fn environment_file(config_file: &Path) -> PathBuf {
    config_file.with_file_name("mcpproxy.env")
}

fn own_program() -> Result<PathBuf, CommandFailure> {
    process::own_program_on_path()
        .map_err(|error| CommandFailure::failed(format!("failed to find our own program: {error}")))
}
