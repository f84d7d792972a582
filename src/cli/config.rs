//! `mcpproxy config`: which configuration file counts, and whether it is sound.

use clap::{Args, Subcommand};
use serde::Serialize;

use super::{
    failure::CommandFailure,
    location::Location,
    output::{self, Format, OutputOption},
};
use crate::management::{ConfigReport, Management, OverFiles};

/// Say which configuration file counts, or check it
#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    Path(ConfigPath),
    Check(ConfigCheck),
}

/// Print the path of the configuration file
///
/// It is the one given by --config, else by `$MCPPROXY_CONFIG`, else by `$MCP_CONFIG_PATH`, else the one in the platform's
/// configuration folder, else an existing `~/.mcpproxy/mcp_config.json`. The file need not exist yet.
#[derive(Debug, Args)]
pub(super) struct ConfigPath {
    #[command(flatten)]
    output: OutputOption,
}

/// Check the configuration file: what the daemon would refuse, what it would ignore
///
/// Ends with 0 when every entry can be used, and with 1 when the file or one of its servers cannot. Warnings alone are no
/// failure. References like `${NAME}` are looked up in the environment of this command, which may differ from the daemon's.
#[derive(Debug, Args)]
pub(super) struct ConfigCheck {
    #[command(flatten)]
    output: OutputOption,
}

#[derive(Serialize)]
struct Paths<'a> {
    config_file: &'a std::path::Path,
    data_dir: &'a std::path::Path,
    exists: bool,
}

impl ConfigCommand {
    pub(super) fn run(self, location: &Location) -> Result<(), CommandFailure> {
        let files = location.files()?;
        match self {
            Self::Path(path) => path.run(&files),
            Self::Check(check) => check.run(&files),
        }
    }
}

impl ConfigPath {
    fn run(self, files: &Management<OverFiles>) -> Result<(), CommandFailure> {
        let config_file = files.config_file();
        match self.output.format {
            Format::Table => output::exactly(&config_file.to_string_lossy()),
            Format::Json => output::json(&output::as_json(&Paths {
                config_file,
                data_dir: files.data_dir(),
                exists: config_file.exists(),
            })?),
        }
    }
}

impl ConfigCheck {
    fn run(self, files: &Management<OverFiles>) -> Result<(), CommandFailure> {
        let report = files.check();
        if self.output.format == Format::Json {
            output::json(&output::as_json(&report)?)?;
        } else {
            show(&report)?;
        }
        if let Some(error) = report.error {
            return Err(CommandFailure::failed(error)
                .next("correct the file; a running daemon keeps the last good one in force"));
        }
        let file = &report.config_file;
        match report.broken.len() {
            0 => Ok(()),
            broken => Err(CommandFailure::failed(format!(
                "{broken} of the servers in {file} cannot be used"
            ))
            .next("correct their entries; the others are not affected")),
        }
    }
}

fn show(report: &ConfigReport) -> Result<(), CommandFailure> {
    let broken = report.broken.iter().map(|entry| {
        [
            "broken server".to_owned(),
            entry.name.clone(),
            entry.reason.clone(),
        ]
    });
    let warnings = report
        .warnings
        .iter()
        .map(|warning| ["warning".to_owned(), "-".to_owned(), warning.clone()]);
    let findings: Vec<[String; 3]> = broken.chain(warnings).collect();
    if !findings.is_empty() {
        output::table(["FINDING", "SERVER", "WHAT"], findings)?;
    }
    if report.ok {
        let usable = match report.servers {
            1 => "1 server".to_owned(),
            servers => format!("{servers} servers"),
        };
        output::note(&format!("{} is sound, with {usable}", report.config_file));
    }
    Ok(())
}
