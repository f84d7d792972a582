//! Where a configuration says that its secrets are kept, read before everything else.

use serde_json::{Map, Value};

use super::{
    ConfigError, document,
    fields::{BadField, ObjectFields},
    keyring::{KeyringChoice, KeyringPlace},
    references::ValueLookup,
    surroundings::Surroundings,
};

/// Where the text says that secrets are kept.
pub(super) fn keyring_place(
    text: &str,
    surroundings: &Surroundings<'_>,
) -> Result<KeyringPlace, ConfigError> {
    let place = document::read(text)
        .and_then(|document| Ok(read_keyring_place(&document.settings, surroundings)?));
    place.map_err(|error| error.placed(text))
}

/// Secrets cannot say where they are.
pub(super) fn read_keyring_place(
    settings: &Map<String, Value>,
    surroundings: &Surroundings<'_>,
) -> Result<KeyringPlace, BadField> {
    let lookup = ValueLookup::to_variables(surroundings.lookup);
    let mut fields = ObjectFields::new(settings.clone(), Some(lookup));
    let choice = fields.choice("keyring", &KeyringChoice::ALL)?;
    let data_dir = fields.text("data_dir")?;
    Ok(KeyringPlace {
        choice: choice.unwrap_or_default(),
        data_dir: data_dir.map(|written| surroundings.path(&written.value)),
    })
}
