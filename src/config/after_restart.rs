//! Settings of which a daemon keeps the values that it began with: new ones count after a restart.

use std::path::PathBuf;

use super::{Listen, Overrides, Settings};
use crate::text::Secret;

/// Their values.
pub(super) struct Fixed {
    listen: Listen,
    data_dir: Option<PathBuf>,
    lock_file: Option<PathBuf>,
    session_key: Option<Secret>,
}

type Differs = fn(&Fixed, &Fixed) -> bool;

/// Their keys, and whether two daemons would begin with different values. The schema marks them.
static SETTINGS: [(&str, Differs); 4] = [
    ("listen", |one, other| one.listen != other.listen),
    ("data_dir", |one, other| one.data_dir != other.data_dir),
    ("lock_file", |one, other| one.lock_file != other.lock_file),
    ("session_key", |one, other| {
        one.session_key != other.session_key
    }),
];

/// Their keys.
pub(super) fn keys() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().map(|(key, _)| *key)
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

    /// The keys whose values differ.
    pub(super) fn differences(&self, now: &Self) -> Vec<&'static str> {
        let differing = SETTINGS.iter().filter(|(_, differ)| differ(self, now));
        differing.map(|(key, _)| *key).collect()
    }
}
