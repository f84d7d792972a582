//! Putting us into a client's file and taking us out: what would change, and the change itself.

use std::path::PathBuf;

use serde_json::Value;

use super::{
    Client, ClientFile, ClientServer, FoundFile,
    copies::{Copies, CopiesAfter, PresentEntry},
    edit,
    fault::FileFault,
    our_entry::{self, ConnectTarget},
    replace::{self, CopyKind, ReplaceError},
};
use crate::config::OurAddress;

/// Limit: copies of a file beside the one before us.
const MOST_COPIES: usize = 4;

/// What is to be written to a file of a client. Both texts may hold secrets of others.
#[derive(Clone, PartialEq)]
pub(super) struct FileChange {
    /// The path of the file.
    pub path: PathBuf,
    /// The name of our entry.
    pub name: String,
    /// What is there; nothing where there is no file.
    pub before: Option<String>,
    /// What shall be there; nothing where the file is to go.
    pub after: Option<String>,
    /// Whether somebody else may have written the entry: no copy of the file is without it.
    pub is_found: bool,
    /// Whether an entry that leads to us, or means us, comes back because it was there before.
    pub puts_back_another: bool,
    /// What becomes of copies.
    pub copies: CopiesAfter,
}

/// Why a client's file is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ClientFileError {
    /// It cannot be read, or not be changed safely.
    #[error("{0}")]
    Fault(FileFault),
    /// Something else, which comes first, has the name.
    #[error("{0} is named {1:?} in")]
    NameTaken(String, String),
    /// There is nothing of ours to take out.
    #[error("mcpproxy is not in")]
    NotThere,
    /// The client starts a process that leads to us.
    #[error("it needs no token, because it starts mcpproxy itself, by its entry in")]
    ByProcess,
    /// The client starts a program that connects it to our address.
    #[error("`connect` does not change the arguments of mcp-remote, which hold its token, in")]
    ByBridge,
}

impl From<FileFault> for ClientFileError {
    fn from(fault: FileFault) -> Self {
        Self::Fault(fault)
    }
}

/// How we are to stand in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    /// How the client reaches us.
    pub target: ConnectTarget,
    /// The name of the entry.
    pub name: String,
    /// Whether an entry that leads to us is brought into this form; else it is left as it is.
    pub is_exact: bool,
}

impl FileChange {
    /// None yet of a file that says this.
    pub(super) fn none(file: &ClientFile, name: &str, text: Option<String>) -> Self {
        Self {
            path: file.path.clone(),
            name: name.to_owned(),
            before: text.clone(),
            after: text,
            is_found: true,
            puts_back_another: false,
            copies: CopiesAfter::OneMore,
        }
    }

    /// Whether there is anything to write.
    pub(super) fn is_needed(&self) -> bool {
        self.before != self.after
    }

    /// Writes it. Gives the copy of what was there, unless that was put back. Blocks.
    pub(super) fn write(&self) -> Result<Option<PathBuf>, ReplaceError> {
        let before = self.before.as_deref();
        let Some(after) = self.after.as_deref() else {
            return replace::remove(&self.path, before.unwrap_or_default()).map(|()| None);
        };
        let copy = replace::replace(&self.path, before, after, CopyKind::Connect)?;
        match &self.copies {
            CopiesAfter::OneMore => {
                let copies = replace::backups(&self.path, CopyKind::Connect);
                // The oldest is the file before us.
                let later = copies.split_last().map_or(&[][..], |(_, later)| later);
                for spent in later.iter().skip(MOST_COPIES) {
                    let _ = std::fs::remove_file(spent);
                }
            }
            CopiesAfter::WithoutRestored(spent) => {
                for spent in copy.iter().chain(spent) {
                    let _ = std::fs::remove_file(spent);
                }
                return Ok(None);
            }
            CopiesAfter::InPlaceOf(spent) => replace::clear(&self.path, spent),
        }
        Ok(copy)
    }
}

/// The entry of the person's or the project's own list that leads to us, or that means us and leads nowhere. One of another mcpproxy, with
/// other files or at an address where it listens, is not ours.
pub(super) fn our_entry_in<'a>(
    found: &'a FoundFile,
    file: &ClientFile,
    us: &OurAddress,
) -> Option<&'a ClientServer> {
    let in_list = |server: &&ClientServer| server.project.as_deref() == file.project();
    let mut servers = found.servers.iter().filter(in_list);
    let mut others = servers.clone();
    servers
        .find(|server| us.is_this_one(server))
        .or_else(|| others.find(|server| us.is_stale(server)))
}

/// Such an entry in a text of a file, if that can be read. Blocks.
pub(super) fn ours_in(file: &ClientFile, text: &str, us: &OurAddress) -> Option<ClientServer> {
    our_entry_in(&file.servers_in(text).ok()?, file, us).cloned()
}

/// Such an entry in a file, if that can be read. Blocks.
pub(super) fn present_entry(file: &ClientFile, us: &OurAddress) -> Option<ClientServer> {
    ours_in(file, &file.text().ok()??, us)
}

/// Whether a file has such an entry, or cannot be read, so that it may have one. Blocks.
pub(super) fn may_have_us(file: &ClientFile, us: &OurAddress) -> bool {
    file.read().is_err() || present_entry(file, us).is_some()
}

/// What it takes to have us in this file of a client.
pub(super) fn connected(
    client: Client,
    file: &ClientFile,
    wanted: &Wanted,
    us: &OurAddress,
) -> Result<FileChange, ClientFileError> {
    let before = file.text()?;
    let text = before.as_deref().unwrap_or_default();
    let found = file.servers_in(text)?;
    let ours = our_entry_in(&found, file, us);
    let name = ours.map_or(&wanted.name, |server| &server.name);
    let unchanged = FileChange {
        is_found: ours.is_some(),
        ..FileChange::none(file, name, before.clone())
    };
    let is_good =
        |server: &ClientServer| us.is_this_one(server) && has_token(server, &wanted.target);
    if ours.is_some_and(is_good) && !wanted.is_exact {
        return Ok(unchanged);
    }
    let present = edit::present(client, file.format, text, name)?;
    if ours.is_none() && present.is_some() {
        let other = found.servers.iter().find(|server| server.name == *name);
        let who = us.another(other.unwrap_or(&ClientServer::written(name)));
        return Err(ClientFileError::NameTaken(who, name.clone()));
    }
    let present = present.as_ref().and_then(Value::as_object);
    let entry = our_entry::entry(client, &wanted.target, name, present);
    let after = edit::put(client, file.format, text, name, &entry)?;
    Ok(FileChange {
        after: Some(after),
        ..unchanged
    })
}

/// Whether it shows a token, where one is wanted.
fn has_token(server: &ClientServer, target: &ConnectTarget) -> bool {
    let wants_token = matches!(target, ConnectTarget::Http { token: Some(_), .. });
    !wants_token || server.sends_token() != Some(false)
}

/// What it takes to have us out of this file of a client: what was there before us, if nothing else was changed since, else the file
/// without our entry.
pub(super) fn disconnected(
    client: Client,
    file: &ClientFile,
    us: &OurAddress,
) -> Result<FileChange, ClientFileError> {
    let text = file.text()?.ok_or(ClientFileError::NotThere)?;
    let found = file.servers_in(&text)?;
    let server = our_entry_in(&found, file, us).ok_or(ClientFileError::NotThere)?;
    let copies = Copies::of(file);
    let ours = PresentEntry {
        client,
        file,
        text: &text,
        server,
    };
    let is_before_us = |before: &str| is_before_us(before, &ours, us);
    let is_what_was = |before: &str| is_before_us(before) && ours.comes_into(before);
    let has_copies = |kind: CopyKind| !replace::backups(&file.path, kind).is_empty();
    // Copies may be of an earlier file, from which we were taken out. What is moved out of this one needs it.
    let are_earlier = has_copies(CopyKind::First) && !has_copies(CopyKind::Move);
    let is_alone = are_earlier || copies.texts().next().is_none();
    let is_ours_alone = is_alone && is_what_was("");
    let unchanged = FileChange {
        after: None,
        is_found: !is_ours_alone && !copies.texts().any(is_before_us),
        ..FileChange::none(file, &server.name, Some(text.clone()))
    };
    // One that names us at an earlier address may be what `connect` wrote then.
    let restored = copies
        .restored(|before| ours.is_not_in(before) && is_what_was(before))
        .or_else(|| copies.restored(is_what_was));
    if let Some((before, copies)) = restored {
        return Ok(FileChange {
            puts_back_another: ours_in(file, &before, us).is_some(),
            after: Some(before),
            copies,
            ..unchanged
        });
    }
    if is_ours_alone {
        return Ok(unchanged);
    }
    let mut after = edit::take_out(client, file.format, &text, &server.name)?;
    let mut before_us = copies.texts().filter(|before| is_before_us(before));
    // A list that was made for us goes with us.
    if before_us.any(|before| !edit::has_list(client, file.format, before)) {
        after = edit::without_empty_list(client, file.format, after);
    }
    Ok(FileChange {
        after: Some(after),
        copies: CopiesAfter::InPlaceOf(copies.paths()),
        ..unchanged
    })
}

/// Whether the file said this before us. Also what leads to another one or nowhere was there before us.
fn is_before_us(before: &str, ours: &PresentEntry<'_>, us: &OurAddress) -> bool {
    let is_earlier =
        |other: ClientServer| other.name == ours.server.name && !us.is_this_one(&other);
    let is_text = ours.file.servers_in(before).is_ok();
    is_text && ours_in(ours.file, before, us).is_none_or(is_earlier)
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        net::{Ipv4Addr, TcpListener},
        path::Path,
    };

    use super::*;
    use crate::{clients::places::ClientPlaces, config::Listen};

    const THEIRS: &str = "{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" }\n  }\n}\n";

    fn us() -> OurAddress {
        OurAddress::new(Vec::new(), &Listen::default(), None)
    }

    /// A file of Cursor that said `before`, into which we came.
    fn connected_file(home: &Path, before: Option<&str>) -> (Client, ClientFile) {
        let client = Client::from_word("cursor").expect("a client");
        let places = ClientPlaces::new(home, home);
        let file = places.file_to_connect(client, false).expect("it has one");
        if let Some(before) = before {
            fs::create_dir_all(file.path.parent().expect("a folder")).expect("ours");
            fs::write(&file.path, before).expect("ours");
        }
        let wanted = Wanted {
            target: ConnectTarget::Http {
                url: "http://127.0.0.1:8080/mcp".to_owned(),
                token: None,
            },
            name: "mcpproxy".to_owned(),
            is_exact: false,
        };
        let change = connected(client, &file, &wanted, &us()).expect("it can be connected");
        change.write().expect("it is ours");
        (client, file)
    }

    /// The text after we are out, and how many copies of the file are left.
    fn without_us(client: Client, file: &ClientFile) -> (Option<String>, usize) {
        let change = disconnected(client, file, &us()).expect("we are there");
        change.write().expect("it is ours");
        let copies = Copies::of(file).paths().len();
        (file.text().expect("it can be read"), copies)
    }

    #[test]
    fn a_file_is_put_back_byte_for_byte() {
        for before in [None, Some(THEIRS), Some("{}")] {
            let home = tempfile::tempdir().expect("a folder");
            let (client, file) = connected_file(home.path(), before);
            assert_ne!(file.text().expect("it can be read").as_deref(), before);
            let after = without_us(client, &file);
            assert_eq!(after, (before.map(str::to_owned), 0));
        }
    }

    #[test]
    fn a_file_that_was_made_for_us_goes_whatever_is_left_of_an_earlier_one() {
        let home = tempfile::tempdir().expect("a folder");
        let (client, file) = connected_file(home.path(), Some(THEIRS));
        let now = file.text().expect("it can be read").expect("it is there");
        fs::write(&file.path, format!("{now}\n\n")).expect("ours");
        without_us(client, &file);
        fs::remove_file(&file.path).expect("it is there");
        connected_file(home.path(), None);
        assert_eq!(without_us(client, &file), (None, 1));
    }

    #[test]
    fn the_entry_of_another_mcpproxy_is_left_alone_while_that_one_listens() {
        let home = tempfile::tempdir().expect("a folder");
        let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = other.local_addr().expect("an address").port();
        let theirs = |port: u16| {
            let url = format!("http://127.0.0.1:{port}/mcp");
            format!(r#"{{"mcpServers": {{"mcpproxy": {{"url": "{url}"}}}}}}"#)
        };
        let (client, file) = connected_file(home.path(), None);
        fs::write(&file.path, theirs(port)).expect("ours");
        let none = disconnected(client, &file, &us()).err();
        assert_eq!(none, Some(ClientFileError::NotThere));
        let wanted = Wanted {
            target: ConnectTarget::Http {
                url: "http://127.0.0.1:8080/mcp".to_owned(),
                token: None,
            },
            name: "mcpproxy".to_owned(),
            is_exact: false,
        };
        let connected = || connected(client, &file, &wanted, &us());
        let Err(refused) = connected() else {
            panic!("the entry is another's")
        };
        let expected = format!("another program, at 127.0.0.1:{port}, is named \"mcpproxy\" in");
        assert_eq!(refused.to_string(), expected);
        drop(other);
        connected()
            .expect("nothing listens there")
            .write()
            .expect("ours");
        assert_eq!(without_us(client, &file), (Some(theirs(port)), 0));
    }

    #[test]
    fn what_others_changed_since_stays() {
        let home = tempfile::tempdir().expect("a folder");
        let (client, file) = connected_file(home.path(), Some("{}"));
        let now = file.text().expect("it can be read").expect("it is there");
        fs::write(&file.path, format!("{now}\n\n")).expect("ours");
        let (after, _) = without_us(client, &file);
        let after = after.expect("it is there");
        assert!(
            after.ends_with("\n\n") && !after.contains("mcpproxy"),
            "{after}"
        );
    }
}
