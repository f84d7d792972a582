//! What the command line does with the files alone, when no daemon runs: the places, the settings as the file has them, edits.

use std::{path::Path, sync::Arc};

use serde_json::{Map, Value};

use super::{
    Location,
    config::{Broken, Report},
    failure::Failure,
    upstream::ServerRow,
};
use crate::{
    catalog::last_known,
    config::{
        self, Asked, BrokenEntry, Change, EditError, Keeper, LoadError, Overrides, Places,
        ServerEntry, Settings, WriteError,
    },
    names::{self, ServerName},
};

/// The configuration file and the data folder of this invocation.
pub(super) struct Files {
    places: Places,
    /// The file may be faulty and a daemon run all the same, on what it last understood.
    settings: Result<Arc<Settings>, LoadError>,
}

impl Files {
    /// Finds the places, and reads the file: it may name the data folder.
    pub(super) fn find(location: &Location) -> Result<Self, Failure> {
        let asked = Asked {
            config_file: location.config.clone(),
            data_dir: location.data_dir.clone(),
        };
        let variables = config::process_environment();
        let places = Places::find(&asked, &*variables)
            .map_err(|error| Failure::failed(error.to_string()))?;
        let settings = Keeper::open(&places.config_file, Overrides::default(), variables)
            .map(|(keeper, _)| keeper.settings());
        Ok(Self { places, settings })
    }

    pub(super) fn places(&self) -> &Places {
        &self.places
    }

    pub(super) fn config_file(&self) -> &Path {
        &self.places.config_file
    }

    pub(super) fn data_dir(&self) -> &Path {
        match &self.settings {
            Ok(settings) => self.places.data_folder(settings),
            Err(_) => &self.places.data_dir,
        }
    }

    /// What the file says.
    pub(super) fn settings(&self) -> Result<&Settings, Failure> {
        self.settings.as_deref().map_err(|error| {
            Failure::failed(error.to_string())
                .next("mend the file, then see `mcpproxy config check`")
        })
    }

    /// What the daemon would refuse, and what it would ignore.
    pub(super) fn check(&self) -> Report {
        let config_file = self.config_file().display().to_string();
        match &self.settings {
            Ok(settings) => Report {
                config_file,
                ok: settings.broken.is_empty(),
                servers: settings.servers.len(),
                error: None,
                broken: settings.broken.iter().map(Broken::from).collect(),
                warnings: settings.warnings.clone(),
            },
            Err(error) => Report {
                config_file,
                ok: false,
                servers: 0,
                error: Some(error.to_string()),
                broken: Vec::new(),
                warnings: Vec::new(),
            },
        }
    }

    /// Every server of the file, sound or not, by name.
    pub(super) fn servers(&self) -> Result<Vec<ServerRow>, Failure> {
        let settings = self.settings()?;
        let sound = settings
            .servers
            .iter()
            .map(|(name, entry)| self.sound_row(name, entry));
        let broken = settings.broken.iter().map(|entry| self.broken_row(entry));
        let mut rows: Vec<ServerRow> = sound.chain(broken).collect();
        rows.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(rows)
    }

    fn sound_row(&self, name: &ServerName, entry: &ServerEntry) -> ServerRow {
        let listing = last_known::load(self.data_dir(), name, &entry.fingerprint);
        let (state, next_step) = if !entry.enabled {
            (
                "Disabled",
                Some(format!(
                    "switch it on with `mcpproxy upstream enable {name}`"
                )),
            )
        } else if entry.quarantined {
            (
                "Quarantined",
                Some("look at its entry, then take `quarantined` out of it".to_owned()),
            )
        } else {
            ("Disconnected", None)
        };
        ServerRow {
            name: name.to_string(),
            transport: Some(entry.transport.label().to_owned()),
            state: state.to_owned(),
            enabled: entry.enabled,
            quarantined: entry.quarantined,
            tools: listing.map(|listing| listing.tools.len() as u64),
            instances: None,
            last_error: None,
            next_step,
        }
    }

    fn broken_row(&self, entry: &BrokenEntry) -> ServerRow {
        ServerRow {
            name: entry.name.clone(),
            transport: None,
            state: "Error".to_owned(),
            enabled: false,
            quarantined: false,
            tools: None,
            instances: None,
            last_error: Some(entry.reason.clone()),
            next_step: Some(format!(
                "mend its entry in {}",
                self.config_file().display()
            )),
        }
    }

    /// Adds a server; says what keeps its entry from being used, if anything does.
    pub(super) fn add(
        &self,
        name: &ServerName,
        entry: Map<String, Value>,
    ) -> Result<Option<String>, Failure> {
        self.edit(Change::AddServer {
            name: name.clone(),
            entry,
        })?;
        let variables = config::process_environment();
        let written = Keeper::open(self.config_file(), Overrides::default(), variables);
        let settings = written.map_or_else(|_| Arc::default(), |(keeper, _)| keeper.settings());
        let broken = settings
            .broken
            .iter()
            .find(|broken| broken.name == name.as_str());
        Ok(broken.map(|broken| broken.reason.clone()))
    }

    pub(super) fn remove(&self, name: &str) -> Result<(), Failure> {
        self.edit(Change::RemoveServer {
            name: name.to_owned(),
        })
    }

    pub(super) fn enable(&self, name: &str) -> Result<(), Failure> {
        self.set_enabled(name, true.into())
    }

    pub(super) fn disable(&self, name: &str) -> Result<(), Failure> {
        self.set_enabled(name, false.into())
    }

    fn set_enabled(&self, name: &str, value: Value) -> Result<(), Failure> {
        self.edit(Change::SetKey {
            server: name.to_owned(),
            path: vec!["enabled".to_owned()],
            value,
        })
    }

    fn edit(&self, change: Change) -> Result<(), Failure> {
        match config::write(self.config_file(), &[change]) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.edit_failure(error)),
        }
    }

    fn edit_failure(&self, error: WriteError) -> Failure {
        let failure = Failure::failed(error.to_string());
        match error {
            WriteError::Edit(EditError::ServerExists(name)) => failure.next(format!(
                "choose another name, or take it out first with `mcpproxy upstream remove {name}`"
            )),
            WriteError::Edit(EditError::UnknownServer(name)) => {
                failure.next(self.suggestion(&name))
            }
            WriteError::Edit(_) => failure.next("mend the file, then see `mcpproxy config check`"),
            WriteError::Locked(_) | WriteError::Io { .. } => failure
                .next("make sure that the file and its folder can be written, then try again"),
        }
    }

    /// What to do about a server that is not there.
    pub(super) fn suggestion(&self, wanted: &str) -> String {
        let settings = self.settings.as_deref().ok();
        let sound = settings
            .into_iter()
            .flat_map(|settings| settings.servers.keys());
        match names::closest(wanted, sound.map(ServerName::as_str)) {
            Some(close) => format!("did you mean {close:?}?"),
            None => "`mcpproxy upstream list` shows the servers there are".to_owned(),
        }
    }
}

impl From<&BrokenEntry> for Broken {
    fn from(entry: &BrokenEntry) -> Self {
        Self {
            name: entry.name.clone(),
            reason: entry.reason.clone(),
        }
    }
}
