//! Warnings about connected clients that a change leaves without access.

use super::Output;
use crate::{
    clients::{client_rows, home_places, judged_rows, our_address},
    management::{DaemonLocation, Files},
};

/// Warns of connected clients that get nothing but errors under the settings of now.
pub(super) fn warn_of_refused(files: &Files, location: Option<&DaemonLocation>, out: Output) {
    let (Ok(places), Ok(settings)) = (home_places(files), files.settings_of_clients()) else {
        return;
    };
    let us = our_address(files, location);
    let judged = judged_rows(&places, &us, true, Some(&settings));
    let rows = client_rows(&places, &us, true).into_iter().zip(judged);
    for (_, row) in rows.filter(|(found, judged)| found.connected && !judged.connected) {
        if let (Some(why), Some(step)) = (row.error, row.next_step) {
            out.warning(&format!("{} gets only errors: {why}; {step}", row.title));
        }
    }
}

/// Warns of connected clients whose entry has the address of the daemon before a change. `after` is nothing until the daemon restarts.
pub(super) fn warn_of_old_address(
    files: &Files,
    before: Option<&DaemonLocation>,
    after: Option<&DaemonLocation>,
    out: Output,
) {
    let Ok(places) = home_places(files) else {
        return;
    };
    let rows = |location| client_rows(&places, &our_address(files, location), true).into_iter();
    let both = rows(before).zip(rows(after));
    let left = both.filter(|(before, after)| {
        let leads_elsewhere = before.connected || after.name.is_some();
        leads_elsewhere && !after.connected
    });
    let left: Vec<_> = left.map(|(_, row)| (row.title, row.client.id())).collect();
    let (titles, clients): (Vec<&str>, Vec<&str>) = left.into_iter().unzip();
    let verb = match titles.len() {
        0 => return,
        1 => "connects",
        _ => "connect",
    };
    let when = after.map_or("after the restart: ", |_| "");
    out.warning(&format!(
        "{} {verb} to the old address; {when}`mcpproxy connect {}`",
        titles.join(", "),
        clients.join(" ")
    ));
}
