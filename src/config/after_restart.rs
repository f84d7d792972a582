//! The settings whose changes take effect only after a restart: a daemon keeps the values of its start.

use std::path::PathBuf;

use super::{Listen, Overrides, Settings};
use crate::text::Secret;

/// The values of these settings.
pub(super) struct StartSettings {
    listen: Listen,
    data_dir: Option<PathBuf>,
    lock_file: Option<PathBuf>,
    session_key: Option<Secret>,
}

type Differs = fn(&StartSettings, &StartSettings) -> bool;

/// Their keys, and whether two values differ. The schema marks these keys with `x-after-restart`.
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

impl StartSettings {
    /// The values in these settings. The `data_dir` of the file does not count if the command line names a data folder.
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

    /// Whether other machines can reach a daemon with these settings.
    pub(super) fn is_exposed(&self) -> bool {
        !self.listen.is_loopback()
    }

    /// The keys whose values differ from those of `now`.
    pub(super) fn differences(&self, now: &Self) -> Vec<&'static str> {
        let differing = SETTINGS.iter().filter(|(_, differ)| differ(self, now));
        differing.map(|(key, _)| *key).collect()
    }
}
