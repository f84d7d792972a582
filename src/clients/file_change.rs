//! Putting us into a client's file and taking us out: what would change, and the change itself.

use std::path::PathBuf;

use serde_json::Value;

use super::{
    Client, ClientFile, ClientPlaces, ClientServer, FoundFile,
    copies::{Copies, CopiesAfter},
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
    /// Whether somebody else may have written the entry, and we did not change it.
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
    /// Its token is none of those that we issued to it.
    #[error("no valid token from `connect --token` is in")]
    NoToken,
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
        let kind = if self.copies == CopiesAfter::Retired {
            CopyKind::Kept
        } else {
            CopyKind::Connect
        };
        let copy = if let Some(after) = self.after.as_deref() {
            replace::replace(&self.path, before, after, kind)?
        } else {
            replace::remove(&self.path, before.unwrap_or_default())?;
            None
        };
        match &self.copies {
            CopiesAfter::OneMore if before.is_some() => {
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
            // Where there was no file, they are of an earlier one.
            CopiesAfter::OneMore | CopiesAfter::Retired => replace::retire(&self.path),
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
fn ours_in(file: &ClientFile, text: &str, us: &OurAddress) -> Option<ClientServer> {
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
    places: &ClientPlaces,
    file: &ClientFile,
    wanted: &Wanted,
    us: &OurAddress,
) -> Result<FileChange, ClientFileError> {
    let before = file.text()?;
    let text = before.as_deref().unwrap_or_default();
    let found = file.servers_in(text)?;
    let ours = our_entry_in(&found, file, us);
    let name = ours.map_or(&wanted.name, |server| &server.name);
    let unchanged = FileChange::none(file, name, before.clone());
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
    let copies = Copies::of(places, client, file, name);
    let after = edit::put(client, file.format, copies.base(text), name, &entry)?;
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

/// What it takes to undo our changes to this file of a client: what was there before them, if nothing else was changed since, else the
/// file with only the entry as it was, or without it.
pub(super) fn disconnected(
    client: Client,
    places: &ClientPlaces,
    file: &ClientFile,
    us: &OurAddress,
) -> Result<FileChange, ClientFileError> {
    let text = file.text()?.ok_or(ClientFileError::NotThere)?;
    let found = file.servers_in(&text)?;
    let server = our_entry_in(&found, file, us).ok_or(ClientFileError::NotThere)?;
    let (name, format) = (&server.name, file.format);
    let copies = Copies::of(places, client, file, name);
    let first = copies.first();
    // What was moved out of the file between two changes comes back between two steps.
    let is_moved = !replace::backups(&file.path, CopyKind::Move).is_empty();
    let origin = copies.origin(&text);
    let origin = origin.filter(|at| is_moved || copies.is_first(*at));
    let (after, copies) = if let Some(at) = origin {
        copies.restored(at)
    } else {
        let former = first.and_then(|first| edit::present(client, format, first, name).ok()?);
        let after = if let Some(Value::Object(former)) = former {
            edit::put(client, format, &text, name, &former)?
        } else {
            let after = edit::take_out(client, format, &text, name)?;
            // A list that was made for us goes with us.
            match first {
                Some(first) if !edit::has_list(client, format, first) => {
                    edit::without_empty_list(client, format, after)
                }
                _ => after,
            }
        };
        (Some(after), CopiesAfter::Retired)
    };
    let is_ours = |after: &String| {
        let ours = ours_in(file, after, us);
        ours.is_some_and(|ours| ours.name == *name)
    };
    Ok(FileChange {
        is_found: first.is_none(),
        puts_back_another: after.as_ref().is_some_and(is_ours),
        after,
        copies,
        ..FileChange::none(file, name, Some(text))
    })
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        net::{Ipv4Addr, TcpListener},
        path::Path,
    };

    use super::*;
    use crate::config::Listen;

    const THEIRS: &str = "{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" }\n  }\n}\n";

    fn us() -> OurAddress {
        OurAddress::new(Vec::new(), &Listen::default(), None)
    }

    fn wanted(path: &str) -> Wanted {
        Wanted {
            target: ConnectTarget::Http {
                url: format!("http://127.0.0.1:8080{path}"),
                token: None,
            },
            name: "mcpproxy".to_owned(),
            is_exact: path != "/mcp",
        }
    }

    /// A file of a client.
    type Ground = (ClientPlaces, Client, ClientFile);

    /// A file of Cursor that said `before`, into which we came, and whose entry then got these endpoints.
    fn connected_file(home: &Path, before: Option<&str>, endpoints: &[&str]) -> Ground {
        let client = Client::from_word("cursor").expect("a client");
        let mut places = ClientPlaces::new(home, home);
        places.record = Some(home.join("record"));
        let file = places.file_to_connect(client, false).expect("it has one");
        if let Some(before) = before {
            fs::create_dir_all(file.path.parent().expect("a folder")).expect("ours");
            fs::write(&file.path, before).expect("ours");
        }
        for endpoint in endpoints {
            let change = connected(client, &places, &file, &wanted(endpoint), &us());
            places.note(client, &file.path).expect("writable");
            change
                .expect("it can be connected")
                .write()
                .expect("it is ours");
        }
        (places, client, file)
    }

    /// The text after we are out, and how many copies of the file are left.
    fn without_us((places, client, file): &Ground) -> (Option<String>, usize) {
        let change = disconnected(*client, places, file, &us()).expect("we are there");
        change.write().expect("it is ours");
        let copies = replace::backups(&file.path, CopyKind::Connect).len();
        (file.text().expect("it can be read"), copies)
    }

    #[test]
    fn a_file_is_put_back_byte_for_byte() {
        let one_line = "{\"a\":1,\"mcpServers\":{\"o\":{\"command\":\"x\"}},\"b\":2}";
        let found = "{\n  \"mcpServers\": {\n    \"mcpproxy\": {\n      \"url\": \"http://127.0.0.1:8080/mcp\"\n    }\n  }\n}\n";
        for before in [None, Some(THEIRS), Some("{}"), Some(one_line), Some(found)] {
            for endpoints in [&["/mcp", "/mcp/all"][..], &["/mcp/all", "/mcp/call"]] {
                let home = tempfile::tempdir().expect("a folder");
                let ground = connected_file(home.path(), before, endpoints);
                let now = ground.2.text().expect("it can be read");
                assert_ne!(now.as_deref(), before);
                let after = without_us(&ground);
                assert_eq!(after, (before.map(str::to_owned), 0));
            }
        }
    }

    #[test]
    fn an_entry_from_before_us_comes_back_into_a_file_that_was_edited() {
        let home = tempfile::tempdir().expect("a folder");
        let found = r#"{"mcpServers": {"mcpproxy": {"url": "http://127.0.0.1:8080/mcp", "x": 1}}}"#;
        let ground = connected_file(home.path(), Some(found), &["/mcp/all"]);
        let now = ground
            .2
            .text()
            .expect("it can be read")
            .expect("it is there");
        fs::write(&ground.2.path, format!("{now}\n\n")).expect("ours");
        assert_eq!(without_us(&ground), (Some(format!("{found}\n\n")), 0));
    }

    #[test]
    fn a_file_that_was_made_for_us_goes_whatever_is_left_of_an_earlier_one() {
        let home = tempfile::tempdir().expect("a folder");
        let ground = connected_file(home.path(), Some(THEIRS), &["/mcp"]);
        let file = &ground.2;
        let now = file.text().expect("it can be read").expect("it is there");
        fs::write(&file.path, format!("{now}\n\n")).expect("ours");
        without_us(&ground);
        fs::remove_file(&file.path).expect("it is there");
        connected_file(home.path(), None, &["/mcp"]);
        assert_eq!(without_us(&ground), (None, 0));
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
        let ground = connected_file(home.path(), Some(&theirs(port)), &[]);
        let (places, client, file) = &ground;
        let none = disconnected(*client, places, file, &us()).err();
        assert_eq!(none, Some(ClientFileError::NotThere));
        let connected = || connected(*client, places, file, &wanted("/mcp"), &us());
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
        assert_eq!(without_us(&ground), (Some(theirs(port)), 0));
    }

    #[test]
    fn what_others_changed_since_stays() {
        for is_changed_again in [false, true] {
            let home = tempfile::tempdir().expect("a folder");
            let ground = connected_file(home.path(), Some("{}"), &["/mcp"]);
            let (places, client, file) = &ground;
            let now = file.text().expect("it can be read").expect("it is there");
            fs::write(&file.path, format!("{now}\n\n")).expect("ours");
            if is_changed_again {
                let change = connected(*client, places, file, &wanted("/mcp/all"), &us());
                change.expect("it is ours").write().expect("it is ours");
            }
            let (after, copies) = without_us(&ground);
            let after = after.expect("it is there");
            let is_out = after.ends_with("\n\n") && !after.contains("mcpproxy");
            assert!(is_out && copies == 0, "{after}");
        }
    }
}
