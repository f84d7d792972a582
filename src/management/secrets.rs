//! Secrets by name: which are stored and where, which are missing, and which servers use them. Values are stored and never shown. Every
//! function here blocks.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Files;
use crate::{
    config::{self, is_secret_name},
    failure::{ErrorCode, Failure, NextStep, Result},
    keyring::{Keyring, KeyringError, LONGEST_VALUE, SecretStore, StoredSecrets},
    text::secret::Secret,
};

/// A secret and the servers that use it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SecretRow {
    /// Its name.
    pub name: String,
    /// Where it is stored; null if it is missing.
    pub stored_in: Option<String>,
    /// The servers and keys that refer to it.
    pub used_by: Vec<String>,
}

/// The secrets.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SecretList {
    /// The place for new secrets; null if there is none.
    pub store: Option<String>,
    /// Whether that place is the private file.
    #[serde(default)]
    pub is_file: bool,
    /// Why the platform's keyring is not used.
    pub fault: Option<String>,
    /// What to do about the fault.
    #[serde(skip)]
    pub next_step: Option<String>,
    /// The stored secrets, and missing ones to which entries refer, by name.
    pub secrets: Vec<SecretRow>,
}

/// The users of each secret, by its name.
type SecretUses = BTreeMap<String, Vec<String>>;

impl Files {
    /// The secrets, by name.
    pub fn secrets(&self) -> Result<SecretList> {
        let keyring = self.keyring()?;
        let stored = keyring.stored().map_err(|error| unavailable(&error))?;
        let uses = self.secret_uses().unwrap_or_default();
        Ok(secret_list(&keyring, &stored, uses))
    }

    /// Stores a secret, in place of one of this name.
    pub fn set_secret(&self, name: &str, value: &Secret) -> Result<SecretRow> {
        let keyring = self.keyring_of(name, "stored")?;
        let store = keyring.set(name, value);
        let store = store.map_err(|error| undone(&error, "stored", name))?;
        Ok(self.secret_row(name, Some(keyring.place(store))))
    }

    /// Stores a secret unless one of this name is stored; of two at once the second is refused.
    pub fn add_secret(&self, name: &str, value: &Secret) -> Result<SecretRow> {
        let keyring = self.keyring_of(name, "stored")?;
        let store = keyring.add(name, value);
        let Some(store) = store.map_err(|error| undone(&error, "stored", name))? else {
            let error = format!("nothing was stored: a secret {name:?} already exists");
            let hint = "Choose another name, or leave out \"new\" to replace it.";
            let step = NextStep::act("`mcpproxy secret list` shows its users").or_request(hint);
            return Err(Failure::new(ErrorCode::SecretExists, error, hint).with_step(step));
        };
        Ok(self.secret_row(name, Some(keyring.place(store))))
    }

    /// Removes a secret. Gives its last row.
    pub fn remove_secret(&self, name: &str) -> Result<SecretRow> {
        let keyring = self.keyring_of(name, "removed")?;
        let removed = keyring.remove(name);
        if !removed.map_err(|error| undone(&error, "removed", name))? {
            let error = format!("nothing was removed: no secret {name:?} is stored");
            let failure = Failure::new(ErrorCode::UnknownSecret, error, "Name an existing secret.");
            return Err(failure.with_step(NextStep::ShowSecrets));
        }
        Ok(self.secret_row(name, None))
    }

    /// The keyring for a secret that is to be `done`.
    fn keyring_of(&self, name: &str, done: &str) -> Result<Keyring> {
        check(name)?;
        let keyring = self.keyring();
        keyring.map_err(|failure| failure.with_outcome(&format!("{name} was not {done}")))
    }

    /// The secrets that the file refers to, with their users. The error says why the file cannot be read.
    pub fn secret_uses(&self) -> Result<SecretUses, String> {
        let (text, _) = self.text().map_err(|failure| failure.error)?;
        let file = self.config_file().display();
        config::secret_uses(&text).map_err(|error| format!("{file}: {error}"))
    }

    fn secret_row(&self, name: &str, stored_in: Option<String>) -> SecretRow {
        let mut uses = self.secret_uses().unwrap_or_default();
        SecretRow {
            name: name.to_owned(),
            stored_in,
            used_by: uses.remove(name).unwrap_or_default(),
        }
    }
}

/// The stored secrets and those that are only referred to, as one list.
fn secret_list(keyring: &Keyring, stored: &StoredSecrets, mut uses: SecretUses) -> SecretList {
    let row = |(name, store): (&String, &SecretStore)| SecretRow {
        used_by: uses.remove(name).unwrap_or_default(),
        name: name.clone(),
        stored_in: Some(keyring.place(*store)),
    };
    let mut secrets: Vec<SecretRow> = stored.names.iter().map(row).collect();
    secrets.extend(uses.into_iter().map(|(name, used_by)| SecretRow {
        name,
        stored_in: None,
        used_by,
    }));
    secrets.sort_by(|a, b| a.name.cmp(&b.name));
    SecretList {
        store: stored.store.map(|store| keyring.place(store)),
        is_file: stored.store == Some(SecretStore::File),
        fault: stored.fault.as_ref().map(ToString::to_string),
        next_step: stored.fault.as_ref().map(KeyringError::next_step),
        secrets,
    }
}

/// What is wrong with the value of a secret, if anything.
pub fn secret_value(text: &str) -> Result<(), &'static str> {
    if text.is_empty() {
        return Err("is empty");
    }
    if text.len() > LONGEST_VALUE {
        return Err("is longer than 64 KiB");
    }
    if text.contains('\0') {
        return Err("contains a NUL character");
    }
    Ok(())
}

/// The next step where a name cannot be that of a secret.
pub const SECRET_NAMES: &str =
    "choose a name of at most 128 letters, digits, `.`, `_`, `-` and `/`";

fn check(name: &str) -> Result {
    if is_secret_name(name) {
        return Ok(());
    }
    let error = format!("nothing was done: {name:?} cannot be the name of a secret");
    let failure = Failure::new(ErrorCode::InvalidArguments, error, SECRET_NAMES);
    Err(failure)
}

fn undone(error: &KeyringError, done: &str, name: &str) -> Failure {
    unavailable(error).with_outcome(&format!("{name} was not {done}"))
}

fn unavailable(error: &KeyringError) -> Failure {
    let (code, step) = (ErrorCode::KeyringUnavailable, error.next_step());
    // The command is for a terminal alone.
    let words = step.replace("`mcpproxy config set keyring ", "set `keyring` to `");
    let step = NextStep::act(step).or_request(words.as_str());
    Failure::new(code, error.to_string(), words).with_step(step)
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::Arc};

    use crate::{
        config::{ChosenBy, Places},
        management::Management,
    };

    #[test]
    fn what_uses_secrets_is_not_known_of_a_file_that_cannot_be_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let config_file = folder.path().join("config.json");
        fs::write(&config_file, b"\xff").expect("a file");
        let places = Places {
            config_file,
            data_dir: folder.path().to_owned(),
            data_dir_given: true,
            chosen_by: ChosenBy::Flag,
        };
        let files = Management::over_files(places, Arc::new(|_| None));
        files.secret_uses().expect_err("it is no text");
    }
}
