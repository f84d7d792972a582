//! Reading the configuration file into settings, with what the command line puts above it.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::json;

use super::{
    Blank, ConfigError, ConfigFinding, DemoOrigin, KeyringLookup, KeyringPlace, Listen, Places,
    RoutingMode, Settings, Surroundings, Warning,
    blank::says_nothing,
    document,
    file::folder_of,
    ourselves::{Whereabouts, refuse_ourselves},
    parse,
    raw::AFTER_RESTART,
    read_text,
    resolve::{keyring_place, parse_with_secrets},
};
use crate::{
    runtime::sync::Guarded,
    storage::in_words,
    text::{Secret, ServerName},
};

/// Gives the value of an environment variable; [`process_environment`] outside tests.
pub type Variables = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Variables of this process. One that is not Unicode counts as not set.
pub fn process_environment() -> Variables {
    Arc::new(|name| std::env::var(name).ok())
}

/// What the command line puts above the file, for every reading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--listen`, `--http`.
    pub listen: Option<Listen>,
    /// `--mode`.
    pub routing_mode: Option<RoutingMode>,
    /// What names the file, `$MCPPROXY_CONFIG` for example, where it is not in its usual place: then it has to be there.
    pub requested_by: Option<&'static str>,
    /// `--locked`.
    pub lock_file: Option<PathBuf>,
    /// `--demo`: this program, to be run as the bundled demo server.
    pub demo: Option<PathBuf>,
    /// The configuration file and the data folder in use.
    pub places: Option<Places>,
}

/// The name of the bundled demo server.
pub const DEMO: &str = "demo";

/// The program to be run as the bundled demo server, where somebody has started it while the daemon runs. Clones share it.
#[derive(Clone, Default)]
pub(super) struct DemoSwitch(Arc<Guarded<Option<PathBuf>>>);

impl DemoSwitch {
    /// Switches it on; whether it was off.
    pub(super) fn start(&self, program: PathBuf) -> bool {
        let mut runs = self.0.lock();
        let was_off = runs.is_none();
        runs.get_or_insert(program);
        was_off
    }

    /// Switches it off; whether it was on.
    pub(super) fn end(&self) -> bool {
        self.0.lock().take().is_some()
    }
}

/// The name in the file that the demo server cannot have beside it: its own, whatever the case, of an entry that can be used or not.
pub(super) fn in_place_of_demo(settings: &Settings) -> Option<&str> {
    let sound = settings.servers.keys().map(ServerName::as_str);
    let broken = settings.broken.iter().map(|broken| &*broken.name);
    let mut names = sound.chain(broken);
    names
        .find(|name| name.eq_ignore_ascii_case(DEMO))
        .filter(|_| settings.demo.is_none())
}

/// Why a file gives no settings.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It cannot be read.
    #[error("failed to read the configuration {}: {}", file.display(), in_words(reason))]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
    /// It can be read, but not used.
    #[error("the configuration {} cannot be used: {reason}", file.display())]
    Unusable {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        reason: ConfigError,
    },
    /// Somebody named it, and it is not there. What it was to say, who may come in for example, is not known.
    #[error("there is no file {}, which {by} names", file.display())]
    Missing {
        /// The file.
        file: PathBuf,
        /// What names it, `$MCPPROXY_CONFIG` for example.
        by: &'static str,
    },
    /// It had something in it and now it has not; taken for an accident.
    #[error("the configuration {} is gone or empty", .0.display())]
    Gone(PathBuf),
    /// The same at a start, after a daemon with `serverAuth`: it would let everybody in.
    #[error("the configuration {} is gone or empty, and the last daemon with this data folder had `serverAuth`", .0.display())]
    WithoutServerAuth(PathBuf),
}

impl LoadError {
    /// The variables that are missing, without which the file cannot be used as a whole.
    pub fn missing_variables(&self) -> impl Iterator<Item = &str> {
        let findings: &[ConfigFinding] = match self {
            Self::Unusable { reason, .. } => reason.findings(),
            _ => &[],
        };
        findings.iter().filter_map(ConfigFinding::missing_variable)
    }

    /// The next step.
    pub fn next_step(&self) -> String {
        match self {
            Self::Unreadable { .. } => "name a file that you can read with --config".to_owned(),
            Self::Unusable { .. } if self.missing_variables().next().is_some() => {
                "set the variable for the daemon; `mcpproxy config check` shows other mistakes"
                    .to_owned()
            }
            Self::Unusable { .. } => "correct the file, then `mcpproxy config check`".to_owned(),
            Self::Missing { .. } => {
                "correct the name, or create the file: `mcpproxy setup`".to_owned()
            }
            Self::Gone(_) => "put the file back".to_owned(),
            Self::WithoutServerAuth(_) => {
                "put the file back, or write `{}` into it to allow every client".to_owned()
            }
        }
    }
}

/// Where settings come from. `read_again` is made for a blocking thread.
#[derive(Clone)]
pub(super) struct Source {
    pub(super) file: PathBuf,
    pub(super) overrides: Overrides,
    pub(super) variables: Variables,
    pub(super) keyring: KeyringLookup,
    pub(super) demo: DemoSwitch,
    pub(super) whereabouts: Whereabouts,
}

/// The settings of [`AFTER_RESTART`].
#[derive(PartialEq)]
pub(super) struct Fixed {
    listen: Listen,
    data_dir: Option<PathBuf>,
    lock_file: Option<PathBuf>,
    session_key: Option<Secret>,
}

impl Fixed {
    /// The folder of the file counts for nothing where the command line names one.
    pub(super) fn of(settings: &Settings, overrides: &Overrides) -> Self {
        let places = overrides.places.as_ref();
        let is_given = places.is_some_and(|places| places.data_dir_given);
        Self {
            listen: settings.listen,
            data_dir: settings.data_dir.clone().filter(|_| !is_given),
            lock_file: settings.lock_file.clone(),
            session_key: settings.session_key.clone(),
        }
    }

    /// Whether other machines can reach a daemon that began so.
    pub(super) fn is_exposed(&self) -> bool {
        !self.listen.is_loopback()
    }

    pub(super) fn differences(&self, now: &Self) -> Vec<&'static str> {
        let differ = [
            self.listen != now.listen,
            self.data_dir != now.data_dir,
            self.lock_file != now.lock_file,
            self.session_key != now.session_key,
        ];
        let keys = AFTER_RESTART.into_iter().zip(differ);
        keys.filter_map(|(key, differs)| differs.then_some(key))
            .collect()
    }
}

/// What the file says now, without watching it. No file is no fault: the settings are then the defaults, with a hint.
pub fn load(
    places: &Places,
    variables: &Variables,
    keyring: &KeyringLookup,
) -> Result<Settings, LoadError> {
    load_text(
        read(&places.config_file)?.as_deref(),
        places,
        variables,
        keyring,
    )
}

/// What the file would say with this text; nothing for no file.
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

/// Where the file says that secrets are kept, whatever else is wrong with it.
pub fn secrets_place(file: &Path, variables: &Variables) -> Result<KeyringPlace, LoadError> {
    let text = read(file)?.unwrap_or_default();
    let surroundings = Surroundings {
        lookup: &**variables,
        folder: folder_of(file),
    };
    keyring_place(&text, &surroundings).map_err(|reason| LoadError::Unusable {
        file: file.to_owned(),
        reason,
    })
}

/// The text of a file; nothing where there is none.
fn read(file: &Path) -> Result<Option<String>, LoadError> {
    match read_text(file) {
        Ok(text) => Ok(Some(text)),
        Err(reason) if reason.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(reason) => Err(LoadError::Unreadable {
            file: file.to_owned(),
            reason,
        }),
    }
}

impl Source {
    /// What the text says; nothing is the text of a file that is not there.
    pub(super) fn settings(&self, text: Option<&str>) -> Result<Settings, LoadError> {
        match text {
            Some(text) => {
                let mut settings = self.parse(text)?;
                if says_nothing(Some(text)) {
                    let warning =
                        "the file is empty; a running daemon keeps its last good configuration";
                    settings.warnings.push(Warning::new(warning));
                }
                Ok(settings)
            }
            None => self.without_file(),
        }
    }

    /// The text and the settings that a daemon begins with.
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

    /// The settings, where the text is not the known one or the file is known to have a fault.
    pub(super) fn read_again(
        &self,
        known: Option<&str>,
        is_faulty: bool,
    ) -> Result<Option<(Option<String>, Settings)>, LoadError> {
        let text = read(&self.file)?;
        if Blank::after(known).is_accident(text.as_deref()) {
            return Err(LoadError::Gone(self.file.clone()));
        }
        if !is_faulty && known == text.as_deref() {
            return Ok(None);
        }
        let settings = self.settings(text.as_deref())?;
        Ok(Some((text, settings)))
    }

    fn parse(&self, text: &str) -> Result<Settings, LoadError> {
        let folder = folder_of(&self.file);
        let surroundings = Surroundings {
            lookup: &*self.variables,
            folder,
        };
        let read = document::read(text);
        let settings =
            read.and_then(|read| parse_with_secrets(&read, &surroundings, &self.keyring));
        let settings = settings.map_err(|reason| LoadError::Unusable {
            file: self.file.clone(),
            reason,
        })?;
        Ok(self.overridden(settings))
    }

    fn without_file(&self) -> Result<Settings, LoadError> {
        if let Some(by) = self.overrides.requested_by {
            return Err(LoadError::Missing {
                file: self.file.clone(),
                by,
            });
        }
        let mut settings = self.parse("")?;
        settings.warnings.push(Warning::new(format!(
            "no configuration file yet; `mcpproxy setup` creates {}",
            self.file.display()
        )));
        Ok(settings)
    }

    fn overridden(&self, mut settings: Settings) -> Settings {
        settings.listen = self.overrides.listen.unwrap_or(settings.listen);
        settings.is_exposed = !settings.listen.is_loopback();
        if let Some(file) = &self.overrides.lock_file {
            settings.lock_file = Some(file.clone());
        }
        if let Some(mode) = self.overrides.routing_mode {
            settings.routing_mode = mode;
        }
        let requested = self.demo.0.lock().clone();
        if let Some(program) = &self.overrides.demo {
            if !self.add_demo(program, DemoOrigin::CommandLine, &mut settings) {
                settings.warnings.push(Warning::new(format!(
                    "the demo server was not added: a server {DEMO:?} is configured"
                )));
            }
        } else if let Some(program) = requested
            && !self.add_demo(&program, DemoOrigin::Request, &mut settings)
        {
            // It does not come back when that entry goes.
            self.demo.end();
            tracing::info!("the demo server ended: an entry with its name is configured");
        }
        let us = self.whereabouts.address(&settings.listen);
        refuse_ourselves(&mut settings, &us);
        settings
    }

    /// Adds the demo server, unless a server of that name is configured; whether it did.
    fn add_demo(&self, program: &Path, origin: DemoOrigin, settings: &mut Settings) -> bool {
        if in_place_of_demo(settings).is_some() {
            return false;
        }
        let entry = json!({ "command": program.to_string_lossy().replace("${", "$${"), "args": ["demo-server"] });
        let text = json!({ "mcpServers": { DEMO: entry } }).to_string();
        let surroundings = Surroundings {
            lookup: &|_| None,
            folder: folder_of(&self.file),
        };
        let Ok(demo) = parse(&text, &surroundings) else {
            return false;
        };
        settings.servers.extend(demo.servers);
        settings.demo = Some(origin);
        true
    }
}
