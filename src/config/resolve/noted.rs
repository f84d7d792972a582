//! Lookups that note what they give: nothing of it may show in what is said of the text, and connections depend on which secrets are in it.

use crate::{
    config::{credentials, references::ValueLookup},
    runtime::sync::Guarded,
    text::Secret,
};

/// What lookups gave.
#[derive(Default)]
pub(super) struct Noted {
    hidden: Guarded<Vec<String>>,
    secrets: Guarded<Vec<(String, Secret)>>,
}

impl Noted {
    /// Reads with these lookups, and notes what they give.
    pub(super) fn reading<T>(
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

    /// Notes what must not show. Whatever a secret looks like, it is one.
    pub(super) fn hide<'s>(&self, secrets: impl IntoIterator<Item = &'s Secret>) {
        let values = secrets.into_iter().map(|secret| secret.reveal().to_owned());
        self.hidden.lock().extend(values);
    }

    /// What must not show.
    pub(super) fn take_hidden(&self) -> Vec<String> {
        std::mem::take(&mut *self.hidden.lock())
    }

    /// The secrets that were given, each with its name.
    pub(super) fn take_secrets(&self) -> Vec<(String, Secret)> {
        std::mem::take(&mut *self.secrets.lock())
    }
}
