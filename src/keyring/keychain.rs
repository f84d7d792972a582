//! The keychain of macOS: secrets are generic passwords of the service `mcpproxy`, with the secret's name as the account.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use security_framework::{
    base::Error,
    item::{ItemClass, ItemSearchOptions, Limit, SearchResult},
    passwords::{delete_generic_password, get_generic_password, set_generic_password},
};

use super::error::KeyringError;
use crate::{config::Variables, text::secret::Secret};

const SERVICE: &str = "mcpproxy";

/// Error codes of the system: no such item; no dialog can be shown; the user closed the dialog.
const NOT_FOUND: i32 = -25300;
const NO_DIALOG: i32 = -25308;
const CANCELLED: i32 = -128;

/// The keychain. The system may show a dialog at any call, and returns when the user answers it: callers wait in another thread.
#[derive(Clone)]
pub(super) struct Keychain;

impl Keychain {
    pub(super) fn new(_: &Variables) -> Self {
        Self
    }

    /// The values of the stored ones among these secrets.
    pub(super) fn values(
        &self,
        names: &BTreeSet<String>,
        _: Instant,
    ) -> Result<BTreeMap<String, Secret>, KeyringError> {
        let mut values = BTreeMap::new();
        for name in names {
            if let Some(bytes) = found(get_generic_password(SERVICE, name))? {
                // The error would have the bytes in it.
                let text = String::from_utf8(bytes).map_err(|_| {
                    KeyringError::Failed(format!("the item {name:?} of the keychain is not text"))
                })?;
                values.insert(name.clone(), Secret::new(text));
            }
        }
        Ok(values)
    }

    pub(super) fn set(&self, name: &str, value: &Secret, _: Instant) -> Result<(), KeyringError> {
        let stored = set_generic_password(SERVICE, name, value.reveal().as_bytes());
        stored.map_err(|error| fault(&error))
    }

    /// Removes a secret, and says whether it was there.
    pub(super) fn remove(&self, name: &str, _: Instant) -> Result<bool, KeyringError> {
        Ok(found(delete_generic_password(SERVICE, name))?.is_some())
    }

    /// The names of all secrets.
    pub(super) fn names(&self, _: Instant) -> Result<Vec<String>, KeyringError> {
        let mut search = ItemSearchOptions::new();
        search
            .class(ItemClass::generic_password())
            .service(SERVICE)
            .load_attributes(true)
            .limit(Limit::All);
        let items = found(search.search())?.unwrap_or_default();
        let attributes = items.iter().filter_map(SearchResult::simplify_dict);
        // `acct` is the system's name for the account.
        Ok(attributes
            .filter_map(|mut item| item.remove("acct"))
            .collect())
    }
}

fn found<T>(answer: Result<T, Error>) -> Result<Option<T>, KeyringError> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.code() == NOT_FOUND => Ok(None),
        Err(error) => Err(fault(&error)),
    }
}

fn fault(error: &Error) -> KeyringError {
    match error.code() {
        NO_DIALOG => KeyringError::Locked,
        CANCELLED => KeyringError::Dismissed,
        _ => KeyringError::Failed(format!("the keychain refused: {error}")),
    }
}
