//! The verbs over the configuration file and the last known lists, for use without a daemon.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Backing, ConfigReport, Connections, Management, entry_review, writing::not_written};
use crate::{
    activity::{ActivityReader, OperatorChange, UnreadableActivity},
    authorization::Logins,
    catalog::{self, ApprovalRequest, ApprovalWithdrawal, ServerCatalog, Snapshot, saved_listings},
    config::{
        self, Blank, BrokenEntry, ChangeOf, EditError, History, IssuedTokens, KeyringLookup,
        LoadError, NotLoopback, OurAddress, Places, Settings, Supposed, TextChange, Variables,
        WriteError,
    },
    failure::{ErrorCode, Failure, Result},
    gate,
    keyring::{self, Keyring},
    process,
    storage::DiskFault,
    text::names::ServerName,
    trust::approvals::{self, ApprovalStep, Lock},
};

/// The configuration file, which is read anew each time, and the data folder.
pub struct OverFiles {
    places: Places,
    data_dir: PathBuf,
    history: History,
    variables: Variables,
    keyring: KeyringLookup,
}

/// The configuration file.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct WrittenConfig {
    /// The path of the file.
    pub config_file: PathBuf,
    /// Whether the file exists.
    pub exists: bool,
    /// The content, with secrets as `***`; `mcpServers` is by name.
    pub settings: Value,
}

impl Management<OverFiles> {
    /// Verbs over these places. The file may name the data folder.
    pub fn over_files(places: Places, variables: Variables) -> Self {
        let keyring = keyring::lookup(&places, &variables);
        // Only the data folder is wanted: no secret is looked up for that.
        let settings = config::load(&places, &variables, &config::no_values());
        let data_dir = match &settings {
            Ok(settings) => places.data_folder(settings),
            // A daemon may still run, on the last settings that it could read.
            Err(_) => &places.data_dir,
        };
        Self(Arc::new(OverFiles {
            data_dir: data_dir.to_owned(),
            history: History::new(Some(data_dir), None),
            places,
            variables,
            keyring,
        }))
    }

    /// Changes the text of the file. Says whether it did. Blocks.
    pub fn rewrite_text(&self, change: impl Fn(&str) -> Result<String, EditError>) -> Result<bool> {
        let by = ChangeOf::this_task();
        rewrite(&self.0.places, &self.0.history, &by, &change).map_err(|error| not_written(&error))
    }

    /// Where things are.
    pub fn places(&self) -> &Places {
        &self.0.places
    }

    /// The store of secrets that the configuration names.
    pub fn keyring(&self) -> Result<Keyring> {
        let files = &self.0;
        let place = config::secrets_place(&files.places.config_file, &files.variables);
        let place = place.map_err(|error| error.failure())?;
        let folder = keyring::folder_of(&files.places, &place);
        let code = ErrorCode::ConfigUnusable;
        let keyring = Keyring::new(&folder, place.choice, &files.variables);
        keyring.map_err(|error| Failure::new(code, error.to_string(), error.next_step()))
    }

    /// The settings without the values of secrets.
    pub fn settings_without_secrets(&self) -> Result<Settings> {
        let files = &self.0;
        config::load(&files.places, &files.variables, &config::no_values())
            .map_err(|error| error.failure())
    }

    /// The settings without the values of secrets, as if missing variables that the file needs were set.
    pub fn supposed_settings(&self) -> Result<Supposed> {
        let files = &self.0;
        let supposed =
            config::load_supposing(&files.places, &files.variables, &config::no_values());
        supposed.map_err(|error| error.failure())
    }

    /// These supposed settings with the issued tokens, against which entries in clients' files are checked.
    pub fn settings_of_clients(&self) -> Result<Settings> {
        let mut settings = self.supposed_settings()?.settings;
        settings.issued = IssuedTokens::usable(self.data_dir());
        Ok(settings)
    }

    /// The mistakes that a daemon would find in the file, with --insecure or without.
    pub fn check(&self, is_insecure: bool) -> ConfigReport {
        let read = self.settings();
        let supposed = match &read {
            Ok(_) => None,
            Err(_) => self.0.supposed().ok(),
        };
        let (missing, supposed) = supposed.map_or_else(Default::default, |supposed| {
            (supposed.missing, Some(Arc::new(supposed.settings)))
        });
        let failure = read.as_ref().err();
        let error = failure.map(|failure| failure.error.clone());
        let error_step = failure.map(Failure::terminal_step);
        let settings = read.ok().or(supposed).unwrap_or_default();
        let is_read = error.is_none() || !missing.is_empty();
        let refused = settings.listen.for_this_machine().err();
        let refused_listen = refused.filter(|_| is_read && !is_insecure);
        let faults = is_read.then(|| self.faults(&settings, refused_listen));
        let faults = faults.unwrap_or_default();
        ConfigReport {
            config_file: self.config_file().display().to_string(),
            ok: error.is_none() && settings.broken.is_empty() && faults.is_empty(),
            servers: settings.servers.len(),
            error,
            error_step,
            refused_listen,
            missing_variables: missing.into_iter().collect(),
            faults,
            broken: settings
                .broken
                .iter()
                .cloned()
                .map(BrokenEntry::with_places)
                .collect(),
            warnings: (self.missing_file()).map_or_else(|| settings.all_warnings(), |_| Vec::new()),
        }
    }

    /// The configuration file as written, with secrets masked. Blocks.
    pub fn written_config(&self) -> Result<WrittenConfig> {
        let file = self.config_file();
        let (text, exists) = self.text()?;
        let settings = config::shown_file(&text);
        Ok(WrittenConfig {
            config_file: file.to_owned(),
            exists,
            settings: settings.map_err(|error| {
                let file = file.display();
                Failure::of_config(format!("the configuration {file} cannot be used: {error}"))
            })?,
        })
    }

    /// The text of the file, and whether there is one.
    pub(super) fn text(&self) -> Result<(String, bool)> {
        match config::read_text(self.config_file()) {
            Ok(text) => Ok((text, true)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((String::new(), false)),
            Err(reason) => Err(LoadError::Unreadable {
                file: self.config_file().to_owned(),
                reason,
            }
            .failure()),
        }
    }

    /// The settings as they would be with this server, disabled or not, and without all others. Nothing is written. Blocks.
    pub fn settings_to_try(&self, name: &str, mut entry: Map<String, Value>) -> Result<Settings> {
        entry.shift_remove("enabled");
        entry.shift_remove("disabled");
        let added = self.addition(name, entry)?;
        let (text, _) = self.text()?;
        let text = config::edit_all(&text, &[added])
            .map_err(|error| not_written(&WriteError::Edit(error)))?;
        let files = &self.0;
        let settings =
            config::load_text(Some(&text), &files.places, &files.variables, &files.keyring);
        let mut settings = settings.map_err(|error| error.failure())?;
        if let Some(broken) = settings.broken_entry(name) {
            let (code, step) = (ErrorCode::ServerMisconfigured, broken.step());
            let failure = Failure::new(code, &broken.reason, "Correct its entry.");
            return Err(failure.with_step(step).of_server(name));
        }
        settings.servers.retain(|tried, _| tried.as_str() == name);
        Ok(settings)
    }

    /// A mistake if the configuration file was requested by name and does not exist.
    pub fn missing_file(&self) -> Option<LoadError> {
        let (file, by) = (&self.0.places.config_file, self.0.places.requested_by()?);
        let file = (!file.exists()).then(|| file.clone())?;
        Some(LoadError::Missing { file, by })
    }

    fn faults(&self, settings: &Settings, refused: Option<NotLoopback>) -> Vec<String> {
        // A file that is missing names no address.
        let listen = refused.map(|refused| format!("`listen`: {}", refused.in_file()));
        let missing = self.missing_file().map(|missing| missing.to_string());
        let folder = self.data_dir();
        let folder = (folder.exists() && !folder.is_dir())
            .then(|| format!("`data_dir`: {} is not a folder", folder.display()));
        let lock = settings.lock_file.as_deref().and_then(|file| {
            let error = Lock::load(file).err()?;
            let file = file.display();
            Some(format!("`lock_file`: {file} cannot be used: {error}"))
        });
        [listen, missing, folder, lock]
            .into_iter()
            .flatten()
            .collect()
    }
}

impl OverFiles {
    /// The settings with their secrets, as if missing variables that the file needs were set.
    fn supposed(&self) -> Result<Supposed, LoadError> {
        config::load_supposing(&self.places, &self.variables, &self.keyring)
    }
}

/// The lock file of the settings. One that cannot be used accepts nothing: a daemon would not start with it.
fn lock_of(settings: &Settings) -> Option<Arc<Lock>> {
    let file = settings.lock_file.as_deref()?;
    let lock = Lock::load(file).unwrap_or_default();
    Some(Arc::new(lock.of_file(file)))
}

fn rewrite(
    places: &Places,
    history: &History,
    by: &ChangeOf,
    change: &impl TextChange,
) -> Result<bool, WriteError> {
    config::rewrite(
        &places.config_file,
        Blank::after_last_daemon(places),
        history,
        by,
        change,
    )
}

impl Backing for OverFiles {
    const RUNS: bool = false;

    fn settings(&self) -> Result<Arc<Settings>> {
        let read = config::load(&self.places, &self.variables, &self.keyring);
        let mut settings = read.map_err(|error| error.failure())?;
        settings.issued = IssuedTokens::usable(&self.data_dir);
        Ok(Arc::new(settings))
    }

    fn config_file(&self) -> &Path {
        &self.places.config_file
    }

    fn hidden_keys(&self) -> &[(&'static str, &'static str)] {
        &[]
    }

    fn our_address(&self) -> OurAddress {
        let supposed = self.supposed().map(|supposed| supposed.settings.listen);
        let places = Some(self.places.clone());
        OurAddress::new(Vec::new(), &supposed.unwrap_or_default(), places)
    }

    fn config_error(&self) -> Option<Failure> {
        self.settings().err()
    }

    fn lists(&self, settings: &Settings) -> Arc<Snapshot> {
        let known = settings.listed_entries().filter_map(|entry| {
            let listing = saved_listings::load(&self.data_dir, &entry.name, &entry.fingerprint)?;
            let server = ServerCatalog::ingest(&entry.name, &entry.fingerprint, listing);
            Some((entry.name.clone(), Arc::new(server)))
        });
        let policy = |name: &ServerName| {
            let entry = settings.servers.get(name);
            entry.map_or(approvals::PinPolicy::Untrusted, |entry| {
                gate::policy(settings, entry)
            })
        };
        let known = known.collect();
        let lock = lock_of(settings);
        Arc::new(catalog::with_pins_of_files(
            &self.data_dir,
            known,
            policy,
            lock,
        ))
    }

    fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    fn recent_log(&self, _: &str, _: usize) -> Vec<String> {
        Vec::new()
    }

    async fn forget(&self, server: &str) {
        entry_review::forget(&self.data_dir, server);
        if let Ok(name) = ServerName::parse(server) {
            process::remove_server_logs(&self.data_dir, &name);
            Logins::new(&self.data_dir).forget(&name);
        }
    }

    async fn begin_anew(&self, server: &ServerName) {
        if let Err(error) = approvals::forget(&self.data_dir, server) {
            tracing::warn!(%server, %error, "approvals of the server not removed");
        }
    }

    async fn approve(
        &self,
        request: ApprovalRequest,
        listed: Option<&ServerCatalog>,
    ) -> Result<ApprovalStep> {
        let settings = self.settings()?;
        let lock = lock_of(&settings);
        catalog::approve_in_files(&self.data_dir, &request, listed, lock.as_deref())
    }

    async fn withdraw(&self, withdrawal: ApprovalWithdrawal) -> Result {
        let settings = self.settings()?;
        let lock = lock_of(&settings);
        catalog::withdraw_in_files(&self.data_dir, &withdrawal, lock.as_deref())
    }

    fn connections(&self, _: &str) -> Connections {
        Connections::default()
    }

    /// The log file itself; while a daemon has it open, the daemon answers.
    async fn activity(&self) -> Result<ActivityReader, UnreadableActivity> {
        ActivityReader::of_file(&self.data_dir)
    }

    fn history(&self) -> &History {
        &self.history
    }

    /// Nothing to do: files are read anew each time.
    async fn reread(&self) {}

    /// Nothing runs.
    async fn follows(&self, _: &str) {}

    async fn settles(&self, _: &str, _: Duration) {}

    /// Only a daemon has one.
    async fn stop_demo(&self, _: &str) -> bool {
        false
    }

    /// Only a daemon records what happens.
    fn note(&self, _: OperatorChange) {}

    async fn rewrite(
        &self,
        by: ChangeOf,
        change: impl TextChange + Send + 'static,
    ) -> Result<(), WriteError> {
        let (places, history) = (self.places.clone(), self.history.clone());
        let writing = move || rewrite(&places, &history, &by, &change);
        let written = tokio::task::spawn_blocking(writing).await;
        match written {
            Ok(written) => written.map(drop),
            Err(ended) => {
                let failed = DiskFault::of("write", &self.places.config_file);
                Err(failed(io::Error::other(ended)).into())
            }
        }
    }
}
