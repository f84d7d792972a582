//! The result of a check of the configuration file, and what to do about it.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ServerRow;
use crate::config::{BrokenEntry, NotLoopback, Warning};

/// The result of a check of the configuration file.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ConfigReport {
    /// The path of the file.
    pub config_file: String,
    /// Whether the file has no mistakes.
    pub ok: bool,
    /// The number of usable servers.
    pub servers: usize,
    /// Why the file as a whole cannot be used.
    pub error: Option<String>,
    /// What to do about `error`.
    #[serde(skip)]
    pub error_step: Option<String>,
    /// The first of `faults`, if it is the address.
    #[serde(skip)]
    pub refused_listen: Option<NotLoopback>,
    /// The missing variables, if nothing else makes the whole file unusable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_variables: Vec<String>,
    /// The mistakes that keep a daemon from starting or from working as intended.
    #[serde(default)]
    pub faults: Vec<String>,
    /// The servers whose entries cannot be used.
    pub broken: Vec<BrokenEntry>,
    /// The keys without effect.
    pub warnings: Vec<Warning>,
}

impl ConfigReport {
    /// Whether the file is there.
    pub fn has_file(&self) -> bool {
        Path::new(&self.config_file).exists()
    }

    /// What to do about the file.
    pub fn fix(&self) -> &'static str {
        if self.has_file() {
            "`mcpproxy config edit`"
        } else {
            "correct the name, or create the file: `mcpproxy setup`"
        }
    }

    /// What to do about the first of `faults`.
    pub fn fault_step(&self) -> String {
        let refused = self.refused_listen.as_ref();
        refused.map_or_else(|| self.fix().to_owned(), NotLoopback::step_in_file)
    }

    /// Has this as the only mistake of the file as a whole: the running daemon rejects it.
    pub fn reject(&mut self, why: &str, step: String) {
        self.ok = false;
        self.error = Some(format!("the running daemon rejects the file: {why}"));
        self.error_step = Some(step);
        self.faults.clear();
        // Such as the one that the file is empty.
        self.warnings.clear();
    }

    /// Takes back mistakes that a daemon that runs on this file does not have: it may have variables that are missing here. `rows` are its
    /// servers.
    pub fn beside_daemon(&mut self, rows: &[ServerRow]) {
        let is_sound = |name: &str| {
            let row = rows.iter().find(|row| row.name == name);
            row.is_some_and(|row| !row.unusable)
        };
        let lacking = self.broken.extract_if(.., |broken| {
            broken.lacks_variable() && is_sound(&broken.name)
        });
        let lacking: Vec<BrokenEntry> = lacking.collect();
        self.servers += lacking.len();
        self.warnings.extend(lacking.into_iter().map(|broken| {
            let what = "here; the running daemon has it and uses the entry";
            Warning {
                server: Some(broken.name),
                ..Warning::new(format!("{} {what}", broken.reason))
            }
        }));
        if !self.missing_variables.is_empty() {
            self.error = None;
            let missing = std::mem::take(&mut self.missing_variables);
            self.warnings.push(Warning::new(format!(
                "the running daemon uses the file, but this shell lacks {}",
                missing.join(", ")
            )));
        }
        self.ok = self.error.is_none() && self.faults.is_empty() && self.broken.is_empty();
    }
}
