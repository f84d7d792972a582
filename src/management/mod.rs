//! The verbs of operators, once for REST, the command line and the tools that agents get.
//!
//! Most verbs need no running daemon: they work over a [`Backing`], which is the parts of a daemon ([`OverDaemon`]) or the configuration
//! file with the last known lists ([`OverFiles`]). Verbs that need a daemon exist for [`OverDaemon`] alone.

mod access;
mod activity;
mod additions;
mod agent_changes;
mod agent_rules;
mod agent_texts;
mod agents;
mod approval;
mod approval_history;
mod backing;
mod config_changes;
mod config_report;
mod contact;
mod definition_diff;
mod demo;
mod entry_review;
mod health;
mod inspection;
mod left_out;
mod login;
mod logs;
mod operator_hints;
mod operator_view;
mod over_daemon;
mod over_files;
mod parameters;
mod patching;
mod secrets;
mod server_changes;
mod server_row;
mod server_state;
mod servers;
mod shown_finding;
mod status;
mod token_letter;
mod token_rows;
mod tokens;
mod tools;
mod what_matters;
mod writing;

use std::{path::Path, sync::Arc};

use self::operator_view::OperatorView;
pub use self::{
    access::{AccessQuestion, AccessVerdict, AskedKind, KnownCallers},
    agents::{AgentChange, AgentRequest, AgentVerb},
    approval::{ApprovalBody, approver},
    backing::{Backing, Connections},
    config_changes::{
        ConfigChange, ConfigEdit, ConfigHistory, ConfigPatch, EditPath, ShutOut, UndoRequest,
    },
    config_report::ConfigReport,
    definition_diff::changed_lines,
    entry_review::{EntryChange, EntryReview},
    health::{HealthReport, UnhealthyServer},
    inspection::{InspectedThing, Inspection},
    left_out::{LEFT_OUT_STEP, LeftOut},
    login::{LoginProgress, LoginStarted},
    logs::{FollowedLog, LogLines, unreadable_log},
    over_daemon::OverDaemon,
    over_files::{OverFiles, WrittenConfig},
    parameters::ShownParameter,
    secrets::{SECRET_NAMES, SecretList, SecretRow, secret_value},
    server_row::ServerRow,
    server_state::ServerState,
    servers::{Enabled, MissingValue, ServerChange, ServerDetails, ServerList},
    shown_finding::{MarkedPart, ShownFinding},
    status::{
        COUNTS_AFTER_RESTART, DaemonLocation, PageLink, ProgramVersion, ServerCounts, StatusReport,
        version_note,
    },
    token_rows::{NewToken, NewlyIssued, TokenList, TokenRow},
    tools::{ShownTool, ToolList, ToolRow},
    what_matters::{ChangeKind, DefinitionChange, WhatMatters},
    writing::blocking,
};
use crate::{
    catalog::Snapshot,
    config::Settings,
    failure::{Failure, Result},
};

/// The operator's verbs. Cheap to clone.
pub struct Management<B = OverDaemon>(Arc<B>);

/// The verbs over the files alone.
pub type Files = Management<OverFiles>;

impl<B> Clone for Management<B> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<B: Backing> Management<B> {
    /// The settings: those in force, or those in the file.
    pub fn settings(&self) -> Result<Arc<Settings>> {
        self.0.settings()
    }

    /// The known tools, prompts and resources of these servers.
    pub fn lists(&self, settings: &Settings) -> Arc<Snapshot> {
        self.0.lists(settings)
    }

    /// The settings with the known lists of their servers.
    fn view(&self) -> Result<OperatorView> {
        let settings = self.settings()?;
        let lists = self.lists(&settings);
        Ok(OperatorView { settings, lists })
    }

    /// The configuration file.
    pub fn config_file(&self) -> &Path {
        self.0.config_file()
    }

    /// The data folder.
    pub fn data_dir(&self) -> &Path {
        self.0.data_dir()
    }

    /// Why the configuration file cannot be used, or is not in force.
    pub fn config_error(&self) -> Option<Failure> {
        self.0.config_error()
    }
}
