//! Reads the configuration file into settings, with the options of the command line that override it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Blank, ConfigError, DEMO, DemoOrigin, DemoProgram, KeyringLookup, KeyringPlace, Listen,
    LoadError, Places, RoutingMode, Settings, Surroundings, Warning,
    blank::is_blank,
    demo::DemoSwitch,
    document,
    file::folder_of,
    ourselves::{Whereabouts, refuse_ourselves},
    read_text,
    resolve::{keyring_place, parse_with_secrets},
};
use crate::storage::if_there;

/// Gives the value of an environment variable; [`process_environment`] outside tests.
pub type Variables = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The environment variables of this process. One that is not Unicode counts as not set.
pub fn process_environment() -> Variables {
    Arc::new(|name| std::env::var(name).ok())
}

/// The options of the command line that override the file, at every reading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--listen`, `--http`.
    pub listen: Option<Listen>,
    /// `--mode`.
    pub routing_mode: Option<RoutingMode>,
    /// What names the file, such as `$MCPPROXY_CONFIG`, where it is not in its usual place: then it is an error if it does not exist.
    pub requested_by: Option<&'static str>,
    /// `--locked`.
    pub lock_file: Option<PathBuf>,
    /// `--demo`.
    pub demo: Option<DemoProgram>,
    /// The configuration file and the data folder in use.
    pub places: Option<Places>,
}

impl Overrides {
    /// The keys of the file that are overridden, each with the restart after which its value counts. A daemon in the background is always
    /// given a data folder, which a restart looks up again.
    pub(super) fn hidden_keys(&self) -> Vec<(&'static str, &'static str)> {
        let is_folder_given = self
            .places
            .as_ref()
            .is_some_and(|places| places.data_dir_given);
        let all = [
            (
                "listen",
                " without `--listen`, `--port` or `--http`",
                self.listen.is_some(),
            ),
            (
                "routing_mode",
                " without `--mode`",
                self.routing_mode.is_some(),
            ),
            ("lock_file", " without `--locked`", self.lock_file.is_some()),
            (
                "data_dir",
                ", unless `--data-dir` is given",
                is_folder_given,
            ),
        ];
        let hidden = all.into_iter().filter(|(.., is_given)| *is_given);
        hidden.map(|(key, which, _)| (key, which)).collect()
    }
}

/// What a reading does with a text that is the same as before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SameText {
    /// It keeps the settings.
    Keep,
    /// It makes settings of it again: the values of secrets may be others, or a mistake outside the text may be gone.
    ReadAnew,
}

/// What settings are read from. Its methods block.
pub(super) struct Source {
    pub(super) file: PathBuf,
    pub(super) overrides: Overrides,
    pub(super) variables: Variables,
    pub(super) keyring: KeyringLookup,
    pub(super) demo: DemoSwitch,
    pub(super) whereabouts: Whereabouts,
}

/// Reads the file once. If it does not exist, the settings are the defaults, with a hint.
pub fn load(
    places: &Places,
    variables: &Variables,
    keyring: &KeyringLookup,
) -> Result<Settings, LoadError> {
    let text = read(&places.config_file)?;
    load_text(text.as_deref(), places, variables, keyring)
}

/// The settings of this text of the file; nothing is the text of a file that does not exist.
pub fn load_text(
    text: Option<&str>,
    places: &Places,
    variables: &Variables,
    keyring: &KeyringLookup,
) -> Result<Settings, LoadError> {
    let source = Source {
        file: places.config_file.clone(),
        overrides: Overrides::default(),
        variables: Arc::clone(variables),
        keyring: Arc::clone(keyring),
        demo: DemoSwitch::default(),
        whereabouts: Whereabouts::new(Some(places.clone())),
    };
    source.settings(text)
}

/// Where the file says that secrets are kept, also if the rest of it cannot be used.
pub fn secrets_place(file: &Path, variables: &Variables) -> Result<KeyringPlace, LoadError> {
    let text = read(file)?.unwrap_or_default();
    document::read(&text)
        .and_then(|read| keyring_place(&read, &surroundings(file, variables)))
        .map_err(|reason| unusable(file, reason))
}

/// The text of a file; nothing if it does not exist.
fn read(file: &Path) -> Result<Option<String>, LoadError> {
    if_there(read_text(file)).map_err(|reason| LoadError::Unreadable {
        file: file.to_owned(),
        reason,
    })
}

/// What the texts of a file refer to.
pub(super) fn surroundings<'a>(file: &'a Path, variables: &'a Variables) -> Surroundings<'a> {
    Surroundings {
        lookup: &**variables,
        folder: folder_of(file),
    }
}

fn unusable(file: &Path, reason: ConfigError) -> LoadError {
    LoadError::Unusable {
        file: file.to_owned(),
        reason,
    }
}

impl Source {
    /// The settings of a text; nothing is the text of a file that does not exist.
    pub(super) fn settings(&self, text: Option<&str>) -> Result<Settings, LoadError> {
        if let (None, Some(by)) = (text, self.overrides.requested_by) {
            return Err(LoadError::Missing {
                file: self.file.clone(),
                by,
            });
        }
        let mut settings = self.parse(text.unwrap_or_default())?;
        self.put_overrides_above(&mut settings);
        let us = self.whereabouts.address(&settings.listen);
        refuse_ourselves(&mut settings, &us);
        let warning = match text {
            None => format!(
                "no configuration file yet; `mcpproxy setup` creates {}",
                self.file.display()
            ),
            Some(_) if is_blank(text) => {
                "the file is empty; if that is intended, write `{}` into it".to_owned()
            }
            Some(_) => return Ok(settings),
        };
        settings.warnings.push(Warning::new(warning));
        Ok(settings)
    }

    /// Reads the file for the start of a daemon.
    pub(super) fn begin(&self) -> Result<(Option<String>, Settings), LoadError> {
        let text = read(&self.file)?;
        let settings = self.settings(text.as_deref())?;
        let places = self.overrides.places.as_ref();
        let blank = places.map_or_else(Blank::default, Blank::after_last_daemon);
        if blank.is_accident(text.as_deref()) {
            return Err(LoadError::WithoutServerAuth(self.file.clone()));
        }
        Ok((text, settings))
    }

    /// Reads the file again. Nothing if it has the `known` text, for which the settings in force stay as they are.
    pub(super) fn read_again(
        &self,
        known: Option<&str>,
        same_text: SameText,
    ) -> Result<Option<(Option<String>, Settings)>, LoadError> {
        let text = read(&self.file)?;
        if Blank::after(known).is_accident(text.as_deref()) {
            return Err(LoadError::Gone(self.file.clone()));
        }
        if same_text == SameText::Keep && known == text.as_deref() {
            return Ok(None);
        }
        let settings = self.settings(text.as_deref())?;
        Ok(Some((text, settings)))
    }

    fn parse(&self, text: &str) -> Result<Settings, LoadError> {
        let surroundings = surroundings(&self.file, &self.variables);
        document::read(text)
            .and_then(|read| parse_with_secrets(&read, &surroundings, &self.keyring))
            .map_err(|reason| unusable(&self.file, reason))
    }

    fn put_overrides_above(&self, settings: &mut Settings) {
        settings.listen = self.overrides.listen.unwrap_or(settings.listen);
        settings.is_exposed = !settings.listen.is_loopback();
        if let Some(file) = &self.overrides.lock_file {
            settings.lock_file = Some(file.clone());
        }
        if let Some(mode) = self.overrides.routing_mode {
            settings.routing_mode = mode;
        }
        if let Some(program) = &self.overrides.demo {
            if !program.add_to(settings, DemoOrigin::CommandLine) {
                settings.warnings.push(Warning::new(format!(
                    "the demo server was not added: a server {DEMO:?} is configured"
                )));
            }
        } else if let Some(program) = self.demo.program() {
            program.add_to(settings, DemoOrigin::Request);
        }
    }
}
