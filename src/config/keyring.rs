//! What the configuration says about the secrets that it refers to by name: where they are kept, and what looks them up. The secrets
//! themselves are kept by the room `keyring`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::PathBuf,
    sync::Arc,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::{secret::Secret, spelt};

/// Where secrets are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum KeyringChoice {
    /// In the platform's keyring where one runs, else in a private file.
    #[default]
    Auto,
    /// In the platform's keyring only.
    Platform,
    /// In a private file in the data folder.
    File,
}

spelt!(KeyringChoice { Auto = "auto", Platform = "platform", File = "file" });

/// What a configuration says about the place of its secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyringPlace {
    /// `keyring`.
    pub choice: KeyringChoice,
    /// `data_dir`.
    pub data_dir: Option<PathBuf>,
}

/// Why a secret cannot be used. Clients may read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoSecret {
    /// None of this name is stored.
    Missing,
    /// Secrets are not looked up for this value of the file.
    NotHere,
    /// It cannot be read.
    Unreadable {
        /// Why.
        why: String,
        /// What the operator can do.
        how: String,
    },
}

impl fmt::Display for NoSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => Ok(()),
            Self::NotHere => f.write_str(", and secrets are not looked up here"),
            Self::Unreadable { why, .. } => write!(f, ", which cannot be read: {why}"),
        }
    }
}

/// Gives the values of secrets by name, or says why there is none. Blocks, with a deadline.
pub type KeyringLookup = Arc<
    dyn Fn(&KeyringPlace, &BTreeSet<String>) -> BTreeMap<String, Result<Secret, NoSecret>>
        + Send
        + Sync,
>;

/// Between the braces of a reference, the beginning of one to a secret.
pub(super) const PREFIX: &str = "keyring:";

/// Longer names are mistakes.
const LONGEST_NAME: usize = 128;

/// Whether a secret can have this name: letters, digits, `.`, `_`, `-` and `/`.
pub fn is_secret_name(name: &str) -> bool {
    let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
    !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_good)
}

/// Gives a placeholder for every secret: for readers of settings that start no server.
pub fn no_values() -> KeyringLookup {
    Arc::new(|_, names| {
        let names = names.iter();
        names
            .map(|name| (name.clone(), Ok(Secret::new(placeholder(name)))))
            .collect()
    })
}

/// A value for a variable or a secret that is not known here: as long as any key has to be, and another one for each name.
pub(super) fn placeholder(name: &str) -> String {
    blake3::hash(name.as_bytes()).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_rule() {
        for name in ["a", "github/token", "A.b_c-9"] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["", "a b", "ä", "a}", "a\n", &"x".repeat(129)] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
