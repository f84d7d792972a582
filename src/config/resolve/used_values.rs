//! The values that references gave while a text was read. Errors and warnings must not contain them, and the fingerprint of an entry
//! depends on its secrets.

use crate::{
    config::{credentials, references::ValueLookup},
    runtime::sync::Guarded,
    text::Secret,
};

/// The values that lookups gave.
#[derive(Default)]
pub(super) struct UsedValues {
    /// Texts to mask: secrets, and what is a credential in variables.
    hidden: Guarded<Vec<String>>,
    /// The secrets with their names.
    secrets: Guarded<Vec<(String, Secret)>>,
}

impl UsedValues {
    /// Runs `read` with these lookups, and notes the values that they give.
    pub(super) fn noting<T>(
        &self,
        lookup: ValueLookup<'_>,
        read: impl FnOnce(ValueLookup<'_>) -> T,
    ) -> T {
        let variables = |name: &str| {
            let value = (lookup.variables)(name)?;
            let credentials = credentials::in_variable(name, &value);
            self.hidden.lock().extend(credentials);
            Some(value)
        };
        let secrets = |name: &str| {
            let value = (lookup.secrets)(name)?;
            self.hide([&value]);
            self.secrets.lock().push((name.to_owned(), value.clone()));
            Ok(value)
        };
        read(ValueLookup {
            variables: &variables,
            secrets: &secrets,
        })
    }

    /// Notes secrets as texts to mask, whatever they look like.
    pub(super) fn hide<'s>(&self, secrets: impl IntoIterator<Item = &'s Secret>) {
        let values = secrets.into_iter().map(|secret| secret.reveal().to_owned());
        self.hidden.lock().extend(values);
    }

    /// The texts to mask.
    pub(super) fn take_hidden(&self) -> Vec<String> {
        std::mem::take(&mut *self.hidden.lock())
    }

    /// The secrets that lookups gave, with their names.
    pub(super) fn take_secrets(&self) -> Vec<(String, Secret)> {
        std::mem::take(&mut *self.secrets.lock())
    }
}
