//! The command that a service starts. A comment in the service file repeats it, for `mcpproxy service status`.

use std::{env, path::Path};

use crate::{
    cli::{
        Done,
        daemon_options::{DaemonOptions, utf8},
        failure::own_program,
    },
    management::Files,
    process,
    storage::DataFile,
};

/// Marks the files that `mcpproxy service install` wrote.
pub(super) const MARK: &str = "Written by `mcpproxy service install`";

/// The name of the file where a person may put values for references in the configuration.
pub(super) const ENVIRONMENT_FILE: &str = "mcpproxy.env";

/// Begins the line that repeats the command.
const STARTS: &str = "Starts: ";

/// A program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandLine {
    /// The absolute path.
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
}

/// A service: its command and environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServiceDefinition {
    pub(super) command: CommandLine,
    /// Variables that name folders, never secrets.
    pub(super) variables: Vec<(String, String)>,
    /// The file where a person may put values for references in the configuration.
    pub(super) environment_file: String,
    /// The folder of the daemon's logs, under a service manager that keeps none.
    pub(super) log_folder: String,
}

impl ServiceDefinition {
    /// The service for this configuration and these options.
    pub(super) fn new(files: &Files, options: &DaemonOptions) -> Done<Self> {
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
            command: CommandLine {
                program: utf8(&own_program(process::own_program_on_path())?)?,
                arguments,
            },
            variables: variables.into_iter().collect(),
            // Beside the configuration.
            environment_file: utf8(&places.config_file.with_file_name(ENVIRONMENT_FILE))?,
            log_folder: utf8(&DataFile::Logs.within(files.data_dir()))?,
        })
    }
}

impl CommandLine {
    /// The line that repeats the command: JSON without `--`, which an XML comment must not contain.
    pub(super) fn record(&self) -> String {
        let words = serde_json::json!([self.program, self.arguments]);
        format!("{STARTS}{}", words.to_string().replace("--", r"-\u002d"))
    }

    /// The command that a service file repeats.
    pub(super) fn recorded_in(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.split_once(STARTS))?.1;
        let (program, arguments) = serde_json::from_str(line).ok()?;
        Some(Self { program, arguments })
    }

    /// The value of an option among the arguments.
    pub(super) fn option(&self, option: &str) -> Option<&str> {
        let at = self.arguments.iter().position(|found| found == option)?;
        self.arguments.get(at + 1).map(String::as_str)
    }
}
