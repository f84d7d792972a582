//! The platform's keyring and the private file as one keyring: which of them is used, and in which order.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

#[cfg(target_os = "macos")]
use super::keychain::Keychain as Platform;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
use super::no_platform::NoPlatform as Platform;
#[cfg(target_os = "linux")]
use super::secret_service::SecretService as Platform;
use super::{KeyringError, error::PLATFORM, file::SecretsFile, question::KeyringQuestions};
use crate::{
    config::{KeyringChoice, Variables},
    runtime::sync::Guarded,
    text::Secret,
};

/// The environment variable that overrides the key `keyring` of the configuration.
const VARIABLE: &str = "MCPPROXY_KEYRING";

/// How long reading may take. An unlocked keyring answers in milliseconds; one that shows a dialog is not waited for.
const READING: Duration = Duration::from_secs(3);

/// How long a change may take: the keyring may show a dialog that a person answers.
const CHANGING: Duration = Duration::from_mins(2);

/// Limit: bytes of a value. A longer one is probably a file.
pub const LONGEST_VALUE: usize = 64 << 10;

/// Held while a secret is added: the platform's keyring cannot check and add in one step.
static ADDING: Guarded<()> = Guarded::new(());

/// Where a secret is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecretStore {
    /// The platform's keyring.
    Platform,
    /// The private file in the data folder.
    File,
}

/// The stored secrets, without their values.
#[derive(Debug, PartialEq, Eq)]
pub struct StoredSecrets {
    /// The names, each with its store.
    pub names: BTreeMap<String, SecretStore>,
    /// The store of a new secret; nothing if none can be stored.
    pub store: Option<SecretStore>,
    /// Why the platform's keyring is not used, or could not be read.
    pub fault: Option<KeyringError>,
}

/// Secrets by name. Clones are the same keyring.
#[derive(Clone)]
pub struct Keyring {
    choice: KeyringChoice,
    platform: Platform,
    file: SecretsFile,
    questions: KeyringQuestions,
}

impl fmt::Display for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.path().display();
        match self.choice {
            KeyringChoice::Platform => f.write_str(PLATFORM),
            KeyringChoice::File => write!(f, "the file {file}"),
            KeyringChoice::Auto => write!(f, "{PLATFORM} or the file {file}"),
        }
    }
}

impl Keyring {
    /// The keyring of a data folder. `$MCPPROXY_KEYRING` overrides the choice of the configuration.
    pub fn new(
        data_dir: &Path,
        configured: KeyringChoice,
        variables: &Variables,
    ) -> Result<Self, KeyringError> {
        let choice = match variables(VARIABLE).filter(|word| !word.is_empty()) {
            None => configured,
            Some(word) => KeyringChoice::parse(&word).ok_or(KeyringError::UnknownChoice(word))?,
        };
        Ok(Self {
            choice,
            platform: Platform::new(variables),
            file: SecretsFile::in_folder(data_dir),
            questions: KeyringQuestions::default(),
        })
    }

    /// The same keyring, with a queue that it shares with other keyrings.
    pub(super) fn sharing(self, questions: &KeyringQuestions) -> Self {
        Self {
            questions: questions.clone(),
            ..self
        }
    }

    /// The value of each of these secrets, or why it cannot be read. The Secret Service shows no dialog for it.
    pub(super) fn values(
        &self,
        names: &BTreeSet<String>,
    ) -> BTreeMap<String, Result<Secret, KeyringError>> {
        let (found, fault) = match self.platform_values(names) {
            Ok(found) => (found, None),
            Err(error) => (BTreeMap::new(), Some(error)),
        };
        let in_file = match self.choice {
            KeyringChoice::Platform => Ok(BTreeMap::new()),
            KeyringChoice::Auto | KeyringChoice::File => self.file.read(),
        };
        let value = |name: &String| {
            let in_file_too = || in_file.as_ref().ok()?.get(name);
            if let Some(value) = found.get(name).or_else(in_file_too) {
                return Ok(value.clone());
            }
            Err(match (&fault, &in_file) {
                (Some(KeyringError::Absent(_)), Ok(_)) if self.choice == KeyringChoice::Auto => {
                    let file = self.place(SecretStore::File);
                    KeyringError::Missing(name.clone(), file)
                }
                (Some(fault), Ok(_)) | (_, Err(fault)) => fault.clone(),
                (None, Ok(_)) => KeyringError::Missing(name.clone(), self.to_string()),
            })
        };
        let names = names.iter();
        names.map(|name| (name.clone(), value(name))).collect()
    }

    fn platform_values(
        &self,
        names: &BTreeSet<String>,
    ) -> Result<BTreeMap<String, Secret>, KeyringError> {
        if self.choice == KeyringChoice::File {
            return Ok(BTreeMap::new());
        }
        let names = names.clone();
        self.ask(READING, move |platform, until| {
            platform.values(&names, until)
        })
    }

    /// Whether this value is stored under a name. If that cannot be read, it is not.
    pub fn holds(&self, name: &str, value: &Secret) -> bool {
        let stored = self.values(&BTreeSet::from([name.to_owned()]));
        let stored = stored.get(name).and_then(|found| found.as_ref().ok());
        stored.is_some_and(|stored| stored.reveal() == value.reveal())
    }

    /// Stores a secret, and gives its store. The platform may show a dialog.
    pub fn set(&self, name: &str, value: &Secret) -> Result<SecretStore, KeyringError> {
        if self.choice == KeyringChoice::File {
            return self.set_in_file(name, value);
        }
        let (named, kept) = (name.to_owned(), value.clone());
        let stored = self.ask(CHANGING, move |platform, until| {
            platform.set(&named, &kept, until)
        });
        match stored {
            Ok(()) => {
                if self.choice == KeyringChoice::Auto {
                    // The value in the platform's keyring counts; an older one in the file would stay on the disk for nothing.
                    self.file.remove(name)?;
                }
                Ok(SecretStore::Platform)
            }
            Err(KeyringError::Absent(_)) if self.choice == KeyringChoice::Auto => {
                self.set_in_file(name, value)
            }
            Err(error) => Err(error),
        }
    }

    fn set_in_file(&self, name: &str, value: &Secret) -> Result<SecretStore, KeyringError> {
        self.file.change(|secrets| {
            secrets.insert(name.to_owned(), value.clone());
        })?;
        Ok(SecretStore::File)
    }

    /// Stores a secret unless its name is taken, and gives its store; nothing if the name is taken. The platform may show a dialog.
    pub fn add(&self, name: &str, value: &Secret) -> Result<Option<SecretStore>, KeyringError> {
        let _alone = ADDING.lock();
        let stored = self.stored()?;
        if stored.names.contains_key(name) {
            return Ok(None);
        }
        match (stored.store, stored.fault) {
            // Checked again under the lock of the file, because another process may have added it.
            (Some(SecretStore::File), _) => self.file.change(|secrets| {
                let is_new = !secrets.contains_key(name);
                if is_new {
                    secrets.insert(name.to_owned(), value.clone());
                }
                is_new.then_some(SecretStore::File)
            }),
            (None, Some(fault)) => Err(fault),
            _ => self.set(name, value).map(Some),
        }
    }

    /// Removes a secret from both stores, and says whether it was there. The platform may show a dialog.
    pub fn remove(&self, name: &str) -> Result<bool, KeyringError> {
        let in_file = self.choice != KeyringChoice::Platform && self.file.remove(name)?;
        if self.choice == KeyringChoice::File {
            return Ok(in_file);
        }
        let named = name.to_owned();
        match self.ask(CHANGING, move |platform, until| {
            platform.remove(&named, until)
        }) {
            Ok(removed) => Ok(removed || in_file),
            Err(KeyringError::Absent(_)) if self.choice == KeyringChoice::Auto => Ok(in_file),
            Err(error) => Err(error),
        }
    }

    /// The stored secrets.
    pub fn stored(&self) -> Result<StoredSecrets, KeyringError> {
        let mut names = BTreeMap::new();
        if self.choice != KeyringChoice::Platform {
            let in_file = self.file.read()?.into_keys();
            names.extend(in_file.map(|name| (name, SecretStore::File)));
        }
        let (store, fault) = match self.platform_names() {
            Ok(None) => (Some(SecretStore::File), None),
            Ok(Some(found)) => {
                names.extend(found.into_iter().map(|name| (name, SecretStore::Platform)));
                (Some(SecretStore::Platform), None)
            }
            Err(error) => {
                let file =
                    matches!(error, KeyringError::Absent(_)) && self.choice == KeyringChoice::Auto;
                (file.then_some(SecretStore::File), Some(error))
            }
        };
        Ok(StoredSecrets {
            names,
            store,
            fault,
        })
    }

    /// The names in the platform's keyring; nothing if only the file is used.
    fn platform_names(&self) -> Result<Option<Vec<String>>, KeyringError> {
        if self.choice == KeyringChoice::File {
            return Ok(None);
        }
        self.ask(READING, Platform::names).map(Some)
    }

    /// A store in words.
    pub fn place(&self, store: SecretStore) -> String {
        match store {
            SecretStore::Platform => PLATFORM.to_owned(),
            SecretStore::File => format!("the file {}", self.file.path().display()),
        }
    }

    /// The private file, if it may have secrets.
    pub fn file(&self) -> Option<PathBuf> {
        let may_be = self.choice != KeyringChoice::Platform;
        may_be.then(|| self.file.path().to_owned())
    }

    /// Uses the platform's keyring, and waits for it no longer than `patience`.
    fn ask<T: Send + 'static>(
        &self,
        patience: Duration,
        question: impl FnOnce(&Platform, Instant) -> Result<T, KeyringError> + Send + 'static,
    ) -> Result<T, KeyringError> {
        let platform = self.platform.clone();
        let until = Instant::now() + patience;
        self.questions
            .ask(until, move || question(&platform, until))
    }
}
