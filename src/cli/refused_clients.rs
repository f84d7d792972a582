//! That clients of this machine get nothing but errors after a change that a command made.

use crate::{
    clients::{client_rows, home_places, judged_rows, our_address},
    management::{DaemonLocation, Files},
};

/// A warning for each of them.
pub(super) fn warnings(files: &Files, location: Option<&DaemonLocation>) -> Vec<String> {
    let (Ok(places), Ok(settings)) = (home_places(files), files.settings_of_clients()) else {
        return Vec::new();
    };
    let us = our_address(files, location);
    let rows = judged_rows(&places, &us, true, Some(&settings)).into_iter();
    let connected = client_rows(&places, &us, true);
    let refused = rows
        .zip(connected)
        .filter(|(row, before)| before.connected && !row.connected);
    let words = refused.filter_map(|(row, _)| {
        let (why, step) = (row.error?, row.next_step?);
        Some(format!("{} gets only errors: {why}; {step}", row.title))
    });
    words.collect()
}
