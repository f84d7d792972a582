//! The options of a daemon that both `serve` and `service install` take.

use std::path::{Path, PathBuf};

use clap::{Args, builder::PossibleValuesParser};

use crate::{
    cli::{CommandFailure, Done, mistake::whole_number},
    config::{BadListen, Listen, NotLoopback, Settings},
    daemon,
};

/// The options of a daemon, besides those that name the configuration and the data folder. `service install` writes them into its file.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct DaemonOptions {
    /// The address; overrides `listen` in the configuration
    #[arg(long, value_name = "ADDR")]
    pub(super) listen: Option<String>,
    /// The port on 127.0.0.1; 0 chooses a free one
    #[arg(long, value_name = "PORT", value_parser = whole_number(0..=65_535_u16), conflicts_with = "listen")]
    pub(super) port: Option<u16>,
    /// The tools that `/mcp` lists; overrides `routing_mode`
    #[arg(long, value_parser = PossibleValuesParser::new(["retrieve_tools", "direct", "code_execution", "proxy"]))]
    pub(super) mode: Option<String>,
    /// Allow an address that other machines can reach
    #[arg(long)]
    pub(super) insecure: bool,
    /// How much to log
    #[arg(long, value_name = "LEVEL", value_parser = PossibleValuesParser::new(["error", "warn", "info", "debug", "trace"]))]
    pub(super) log_level: Option<String>,
    /// The format of log lines [default: text]
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(["text", "json"]))]
    pub(super) log_format: Option<String>,
    /// Add the bundled demo server, under the name demo
    #[arg(long)]
    pub(super) demo: bool,
    /// Hold every tool that is not in this lock file
    #[arg(long, value_name = "FILE")]
    pub(super) locked: Option<PathBuf>,
}

impl DaemonOptions {
    /// The arguments of `serve`.
    pub(super) fn arguments(&self) -> Done<Vec<String>> {
        let mut all = Vec::new();
        let mut put = |option: &str, value: Option<String>| {
            if let Some(value) = value {
                all.extend([option.to_owned(), value]);
            }
        };
        put("--listen", self.address());
        put("--mode", self.mode.clone());
        put("--log-level", self.log_level.clone());
        put("--log-format", self.log_format.clone());
        if let Some(file) = &self.locked {
            let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
            put("--locked", Some(utf8(&file)?));
        }
        for (flag, is_set) in [("--insecure", self.insecure), ("--demo", self.demo)] {
            all.extend(is_set.then(|| flag.to_owned()));
        }
        Ok(all)
    }

    /// The address that --listen or --port chooses.
    pub(super) fn address(&self) -> Option<String> {
        address_of(self.listen.as_deref(), self.port)
    }

    /// Refuses what `serve` would refuse, before anything is written.
    pub(super) fn check(&self, settings: &Settings) -> Done {
        let listen = match self.address() {
            None => settings.listen,
            Some(address) => read_address(&address)?,
        };
        if let Some(file) = &self.locked {
            daemon::load_lock(file, true)?;
        }
        match listen.for_this_machine() {
            Err(error) if !self.insecure => {
                Err(CommandFailure::failed(error.to_string()).next(NotLoopback::STEP))
            }
            _ => Ok(()),
        }
    }
}

/// The address that a --listen or a --port chooses.
pub(super) fn address_of(listen: Option<&str>, port: Option<u16>) -> Option<String> {
    let port = port.map(|port| format!("127.0.0.1:{port}"));
    listen.map(str::to_owned).or(port)
}

/// Reads an address of the command line.
pub(super) fn read_address(address: &str) -> Done<Listen> {
    let read = address.parse::<Listen>();
    read.map_err(|bad| CommandFailure::usage(bad.what()).next(BadListen::STEP))
}

/// The path as text for a service file.
pub(super) fn utf8(path: &Path) -> Done<String> {
    let text = path
        .to_str()
        .filter(|text| !text.contains(char::is_control));
    text.map(str::to_owned).ok_or_else(|| {
        let path = path.display();
        let what = format!("the path {path} cannot be written into a service file");
        CommandFailure::failed(what).next("use a path of printable UTF-8 characters")
    })
}
