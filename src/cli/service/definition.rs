//! What a service starts: which program, with which arguments. Each service manager has a template of its own for it, and both have a line
//! that says it once more, for `mcpproxy service status`.

use std::{
    env,
    path::{Path, PathBuf},
};

use crate::{
    cli::{
        Done,
        carried::{CarriedOptions, utf8},
        failure::own_program,
    },
    management::Files,
    process,
};

/// Stands in every file that we write, and in nobody else's.
pub(super) const MARK: &str = "Written by `mcpproxy service install`";

/// Begins the line that repeats what is started.
const STARTS: &str = "Starts: ";

/// A program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandLine {
    /// By its whole path.
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
}

/// What a service starts, and in which surroundings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServiceDefinition {
    pub(super) command: CommandLine,
    /// Variables that say where folders are. Never secrets.
    pub(super) variables: Vec<(String, String)>,
    /// Where a person may put values for references in the configuration.
    pub(super) environment_file: String,
    /// Where the daemon keeps its logs, under a service manager that keeps none.
    pub(super) log_folder: String,
}

impl ServiceDefinition {
    /// What is to be started for this configuration with these options.
    pub(super) fn new(files: &Files, options: &CarriedOptions) -> Done<Self> {
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
            environment_file: utf8(&environment_file(&places.config_file))?,
            log_folder: utf8(&files.data_dir().join("logs"))?,
        })
    }
}

impl CommandLine {
    /// The line that repeats it: JSON without two hyphens in a row, which no comment of XML may have.
    pub(super) fn record(&self) -> String {
        let words = serde_json::json!([self.program, self.arguments]);
        format!("{STARTS}{}", words.to_string().replace("--", r"-\u002d"))
    }

    /// What a file repeats.
    pub(super) fn recorded_in(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.split_once(STARTS))?.1;
        let (program, arguments) = serde_json::from_str(line).ok()?;
        Some(Self { program, arguments })
    }

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
