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

/// Their keys. The schema marks them with `x-after-restart`.
pub(super) const KEYS: [&str; 4] = ["listen", "data_dir", "lock_file", "session_key"];

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
        let differ = [
            self.listen != now.listen,
            self.data_dir != now.data_dir,
            self.lock_file != now.lock_file,
            self.session_key != now.session_key,
        ];
        let all = KEYS.into_iter().zip(differ);
        all.filter_map(|(key, differs)| differs.then_some(key))
            .collect()
    }
}
