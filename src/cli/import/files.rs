//! Gathers the servers in the files of clients and other proxies.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::super::{CommandFailure, Done, connection, mistake::AS_JSON};
use crate::{
    clients::{
        self, Client, ClientFile, ClientPlaces, ImportReport, home_places, our_address, real_path,
    },
    daemon_client::DaemonClient,
    management::Files,
};

/// Reads the files of these clients and paths, or all that are known.
pub(in crate::cli) fn gather(
    files: &Files,
    daemon: &DaemonClient,
    from: &[String],
) -> Done<ImportReport> {
    let places = home_places(files)?;
    let candidates = if from.is_empty() {
        places.files()
    } else {
        let own = real_path(files.config_file());
        named(&places, from, &own)?
    };
    let us = our_address(files, connection::location_of(daemon).as_ref());
    let is_named = !from.is_empty();
    let gathered = clients::gather(files, &us, places.home(), candidates, is_named);
    gathered.map_err(CommandFailure::from)
}

/// The files that these words name, each once: a file's path, or a client for its files. `own` is mcpproxy's configuration.
fn named(places: &ClientPlaces, words: &[String], own: &Path) -> Done<Vec<ClientFile>> {
    let mut files = Vec::new();
    for word in words {
        let path = std::path::absolute(word).unwrap_or_else(|_| PathBuf::from(word));
        if real_path(&path) == own {
            let what = format!("{} is the configuration of mcpproxy itself", path.display());
            return Err(
                CommandFailure::usage(what).next("`mcpproxy upstream list` shows its servers")
            );
        }
        let is_path = word.contains(['/', '.']) || path.exists();
        match Client::from_word(word).filter(|_| !is_path) {
            Some(client) => files.extend(of_client(places, client)?),
            None if path.exists() => files.push(places.named(&path)),
            None if ["://", " -", " mcp add"]
                .iter()
                .any(|part| word.contains(part)) =>
            {
                let what = "the argument is a URL or a command, not a file or a client";
                return Err(CommandFailure::usage(what).next(AS_JSON));
            }
            None if is_path => {
                let what = format!("there is no file {}", path.display());
                return Err(CommandFailure::failed(what)
                    .next("`mcpproxy import` without a name looks in all known places"));
            }
            None => {
                let known: Vec<&str> = Client::all().map(Client::id).collect();
                let meant = Client::meant_by(word, &known).map(|meant| format!("; {meant}"));
                let meant = meant.unwrap_or_default();
                let what = format!("{word:?} is neither a file nor a known client{meant}");
                return Err(CommandFailure::usage(what)
                    .next(format!("name a file, or one of {}", known.join(", "))));
            }
        }
    }
    // In the home folder, a client's project file is its user file.
    let mut known = BTreeSet::new();
    files.retain(|file: &ClientFile| known.insert(file.path.clone()));
    Ok(files)
}

/// Checks before anything is done that every word is a client or a file.
pub(in crate::cli) fn check_words(files: &Files, words: &[String]) -> Done {
    let own = real_path(files.config_file());
    named(&home_places(files)?, words, &own).map(|_| ())
}

fn of_client(places: &ClientPlaces, client: Client) -> Done<Vec<ClientFile>> {
    let files = places.files_of(client);
    if files.iter().any(|file| file.path.exists()) {
        return Ok(files);
    }
    let looked = files.iter().map(|file| file.path.display().to_string());
    let mut looked: Vec<String> = looked.collect();
    looked.dedup();
    let what = format!("{} has no file {}", client.name(), looked.join(" or "));
    let failure = CommandFailure::failed(what);
    Err(failure.next("if it is elsewhere: `mcpproxy import FILE`"))
}
