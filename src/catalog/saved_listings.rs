//! Saves the lists of servers on disk, so that the tools of sleeping servers are known at the next start. One file a server; deleting
//! them is safe.

use std::{
    borrow::Cow,
    fs, io,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Listing;
use crate::{
    storage::{self, DataFile},
    text::names::ServerName,
    wire::{Edit, Raw, Revision, splice},
};

/// The version of the file format. A file of another version is not used: the server is discovered anew, and its lists replace the file.
const VERSION: u32 = 2;

pub(super) const FOLDER: DataFile = DataFile::Catalog;

/// The extensions of files with a server's lists, and of those with its habits.
const LISTS: &str = "json";
pub(super) const HABITS: &str = "habits";

/// The content of a file, with the name of its server.
#[derive(Deserialize)]
struct SavedListing<'a> {
    version: u32,
    #[serde(borrow)]
    entry: Cow<'a, str>,
    #[serde(borrow)]
    revision: Cow<'a, str>,
    #[serde(borrow)]
    initialize: &'a RawValue,
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    #[serde(borrow)]
    prompts: Vec<&'a RawValue>,
    #[serde(borrow)]
    resources: Vec<&'a RawValue>,
    #[serde(borrow)]
    templates: Vec<&'a RawValue>,
}

/// Writes a server's lists. `entry` is the fingerprint of its configuration: lists of another configuration are not used.
pub fn save(
    data_dir: &Path,
    server: &ServerName,
    entry: &str,
    listing: &Listing,
) -> io::Result<()> {
    let members = [
        ("version", Raw::author(&VERSION)),
        ("server", Raw::author(&server.as_str())),
        ("entry", Raw::author(&entry)),
        ("revision", Raw::author(&listing.revision.as_str())),
        ("initialize", listing.initialize.clone()),
        ("tools", Raw::array(&listing.tools)),
        ("prompts", Raw::array(&listing.prompts)),
        ("resources", Raw::array(&listing.resources)),
        ("templates", Raw::array(&listing.templates)),
    ];
    let members = members.map(|(name, value)| (name, Edit::Set(value)));
    let saved = splice(&Raw::empty_object(), &members).expect("an object was given");
    storage::write_in_subfolder(&file(data_dir, server), saved.as_bytes())
}

/// Reads a server's lists; `None` if there are none, they are unreadable, or of another version or configuration.
pub fn load(data_dir: &Path, server: &ServerName, entry: &str) -> Option<Listing> {
    let path = file(data_dir, server);
    let text = storage::read(&path, u64::MAX).ok()?;
    let read = serde_json::from_slice::<SavedListing<'_>>(&text);
    let stored = match read {
        Ok(stored) => stored,
        Err(error) => {
            tracing::warn!(%server, file = %path.display(), %error, "the last known lists are unreadable; the server is listed again");
            return None;
        }
    };
    if stored.version != VERSION || stored.entry != entry {
        return None;
    }
    let raws = |values: &[&RawValue]| values.iter().map(|value| Raw::from(*value)).collect();
    Some(Listing {
        initialize: stored.initialize.into(),
        revision: Revision::parse(&stored.revision)?,
        tools: raws(&stored.tools),
        prompts: raws(&stored.prompts),
        resources: raws(&stored.resources),
        templates: raws(&stored.templates),
    })
}

/// Deletes the lists of servers for which `keep` is false.
pub fn prune(data_dir: &Path, keep: impl Fn(&str) -> bool) {
    let Ok(entries) = fs::read_dir(FOLDER.within(data_dir)) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        let stem = path.file_stem().and_then(|s| s.to_str());
        let is_ours = path.extension().is_some_and(|e| e == LISTS || e == HABITS);
        if is_ours && stem.is_some_and(|s| !keep(s)) {
            // What cannot be deleted is harmless: it is read only for configured servers.
            let _ = fs::remove_file(&path);
        }
    }
}

fn file(data_dir: &Path, server: &ServerName) -> PathBuf {
    FOLDER.of_server(data_dir, server, LISTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_back_byte_for_byte() {
        let folder = tempfile::tempdir().expect("a folder");
        let server = ServerName::parse("s").expect("a name");
        let raw = |text: &str| Raw::parse_str(text).expect("JSON");
        let listing = Listing {
            initialize: raw(r#"{"x": 1.10}"#),
            revision: Revision::NEWEST_LEGACY,
            tools: vec![raw(
                r#"{"name":"a","z":12345678901234567890123,"b" : [1e400]}"#,
            )],
            prompts: vec![],
            resources: vec![raw("{}")],
            templates: vec![],
        };
        save(folder.path(), &server, "e1", &listing).expect("saved");
        let read = load(folder.path(), &server, "e1").expect("there");
        assert_eq!(
            (read.initialize, read.tools),
            (listing.initialize, listing.tools)
        );
        assert!(
            load(folder.path(), &server, "e2").is_none(),
            "of another configuration"
        );
        fs::write(file(folder.path(), &server), "{").expect("written");
        assert!(load(folder.path(), &server, "e1").is_none(), "unreadable");
        prune(folder.path(), |name| name != "s");
        assert!(!file(folder.path(), &server).exists());
    }
}
