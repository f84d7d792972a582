//! The ledger of a server on disk: one private file, `approvals/NAME.json` in the data folder. A damaged file is set aside, and then nothing of
//! the server counts as approved.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Approved, Baseline, FirstSeen, Held, Ledger, ThingKind};
use crate::{storage, text::ServerName, trust::fingerprint::Fingerprint};

const FOLDER: storage::DataFile = storage::DataFile::Approvals;

/// The version of the file format. Files of version 1 lack `first_seen`.
const VERSION: u32 = 2;

/// Limit: bytes of a file that is read or written.
const LARGEST: u64 = 64 << 20;

/// Limits: held definitions that are written, and bytes of their names. Further ones are held again when they are listed next.
const HELD: usize = 10_000;
const HELD_NAMES: usize = 2 << 20;

/// Limit: files of servers that are not in the configuration. The oldest are deleted.
const ABSENT: usize = 256;

#[derive(Serialize, Deserialize)]
struct Stored<'a> {
    version: u32,
    server: String,
    baseline: Baseline,
    #[serde(borrow)]
    approved: Vec<StoredApproved<'a>>,
    held: Vec<Named<Held>>,
    #[serde(default)]
    first_seen: Vec<Named<FirstSeen>>,
}

#[derive(Serialize, Deserialize)]
struct StoredApproved<'a> {
    kind: ThingKind,
    name: Box<str>,
    fingerprint: Fingerprint,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    at: u64,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    definition: Option<&'a RawValue>,
}

/// An entry of a table with its key.
#[derive(Serialize, Deserialize)]
struct Named<T> {
    kind: ThingKind,
    name: Box<str>,
    #[serde(flatten)]
    noted: T,
}

impl<T: Copy> Named<T> {
    fn of(((kind, name), noted): (&(ThingKind, Box<str>), &T)) -> Self {
        Self {
            kind: *kind,
            name: name.clone(),
            noted: *noted,
        }
    }

    fn entry(self) -> ((ThingKind, Box<str>), T) {
        ((self.kind, self.name), self.noted)
    }
}

/// Reads a server's ledger. Blocks. A damaged file is set aside, and its ledger counts as lost. A file that the system does not let us read stays
/// as it is: nothing of its server counts as approved, and it is not overwritten.
pub fn load(data_dir: &Path, server: &ServerName) -> Ledger {
    let path = file(data_dir, server);
    let why = match storage::read(&path, LARGEST) {
        Ok(text) => match parse(&text, server) {
            Ok(ledger) => return ledger,
            Err(why) => why,
        },
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => storage::in_words(&error),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ledger::default(),
        Err(error) => {
            tracing::error!(
                %server, error = %storage::in_words(&error), file = %path.display(),
                "the record of approvals cannot be read; all tools of the server are held until it is readable and the daemon restarts"
            );
            return Ledger::unread();
        }
    };
    let aside = path.with_extension("json.damaged");
    let moved = fs::rename(&path, &aside);
    tracing::error!(
        %server, why, file = %path.display(), aside = %aside.display(), set_aside = moved.is_ok(),
        "the approvals of the server are damaged; its tools are held until you approve them"
    );
    let lost = Ledger::lost();
    // Without a file the server would be taken for a new one after a restart.
    if let Err(error) = save(data_dir, server, &lost) {
        tracing::error!(%server, %error, "the approvals of the server could not be written");
    }
    lost
}

/// Parses what [`text_of`] writes. The error says what is wrong.
pub(super) fn parse(text: &[u8], server: &ServerName) -> Result<Ledger, String> {
    let stored: Stored<'_> = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    if !(1..=VERSION).contains(&stored.version) {
        return Err(format!(
            "its version is {}, but mcpproxy reads versions up to {VERSION}",
            stored.version
        ));
    }
    if stored.server != server.as_str() {
        return Err(format!("it belongs to the server {:?}", stored.server));
    }
    let approved = stored.approved.into_iter().map(|one| {
        let approved = Approved {
            fingerprint: one.fingerprint,
            definition: one.definition.map(|text| text.get().into()),
            by: one.by.map(Arc::from),
            at: one.at,
        };
        ((one.kind, one.name), approved)
    });
    Ok(Ledger {
        baseline: stored.baseline,
        approved: approved.collect(),
        held: stored.held.into_iter().map(Named::entry).collect(),
        first_seen: stored.first_seen.into_iter().map(Named::entry).collect(),
        is_unread: false,
    })
}

/// Writes a server's ledger. Blocks. Refuses a ledger that would be too large to be read back, and one whose file could not be read: the file
/// stays as it is then.
pub fn save(data_dir: &Path, server: &ServerName, ledger: &Ledger) -> io::Result<()> {
    let file = file(data_dir, server);
    if ledger.is_unread {
        let why = "the earlier approvals cannot be read, so mcpproxy does not overwrite them";
        let error = io::Error::new(io::ErrorKind::InvalidData, why);
        return Err(storage::of_file(&file)(error));
    }
    let text = text_of(server, ledger)?;
    if text.len() as u64 > LARGEST {
        return Err(storage::of_file(&file)(storage::too_large(LARGEST)));
    }
    storage::write_in_subfolder(&file, &text)
}

/// A ledger as JSON.
pub(super) fn text_of(server: &ServerName, ledger: &Ledger) -> serde_json::Result<Vec<u8>> {
    let approved = ledger.approved.iter().map(|((kind, name), approved)| {
        let text = approved.definition.as_deref();
        StoredApproved {
            kind: *kind,
            name: name.clone(),
            fingerprint: approved.fingerprint,
            by: approved.by.as_deref().map(str::to_owned),
            at: approved.at,
            definition: text.and_then(|text| serde_json::from_str(text).ok()),
        }
    });
    let mut names = 0;
    let held = ledger.held.iter().take(HELD).take_while(|((_, name), _)| {
        names += name.len();
        names <= HELD_NAMES
    });
    let stored = Stored {
        version: VERSION,
        server: server.to_string(),
        baseline: ledger.baseline,
        approved: approved.collect(),
        held: held.map(Named::of).collect(),
        first_seen: ledger.first_seen.iter().map(Named::of).collect(),
    };
    serde_json::to_vec(&stored)
}

/// Deletes the ledger of a server that a person removed. Blocks.
pub fn forget(data_dir: &Path, server: &ServerName) -> io::Result<()> {
    storage::remove(&file(data_dir, server))
}

/// Deletes the oldest files of servers that are not in the configuration, if there are too many. The others stay, so that an entry that was
/// lost by a mistake finds its approvals when it comes back. Blocks.
pub fn prune(data_dir: &Path, is_known: impl Fn(&str) -> bool) {
    let Ok(entries) = fs::read_dir(FOLDER.within(data_dir)) else {
        return;
    };
    let mut absent: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let is_ours = path.extension().is_some_and(|end| end == "json");
        if is_ours && stem.is_some_and(|stem| !is_known(stem)) {
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            absent.push((modified.unwrap_or(SystemTime::UNIX_EPOCH), path));
        }
    }
    absent.sort();
    let more = absent.len().saturating_sub(ABSENT);
    for (_, path) in absent.into_iter().take(more) {
        // A file that stays does no harm: only those of configured servers are read.
        let _ = fs::remove_file(path);
    }
}

fn file(data_dir: &Path, server: &ServerName) -> PathBuf {
    FOLDER.of_server(data_dir, server, "json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        trust::approvals::{Approval, HoldReason, Which},
        wire::Raw,
    };

    fn server() -> ServerName {
        ServerName::parse("s").expect("a name")
    }

    fn ledger() -> Ledger {
        let definition = r#"{"name":"a", "inputSchema":{}}"#;
        let print = Fingerprint::of_tool(&Raw::parse_str(definition).expect("JSON"));
        let approved = Approved {
            fingerprint: print,
            definition: Some(definition.into()),
            by: Some("me".into()),
            at: 7,
        };
        let held = Held {
            fingerprint: print,
            reason: HoldReason::Changed,
            since: 8,
        };
        let first = FirstSeen {
            fingerprint: print,
            at: 9,
        };
        Ledger {
            baseline: Baseline::Taken,
            approved: [((ThingKind::Tool, "a".into()), approved)].into(),
            held: [((ThingKind::Prompt, "b".into()), held)].into(),
            first_seen: [((ThingKind::Resource, "c".into()), first)].into(),
            is_unread: false,
        }
    }

    #[test]
    fn a_ledger_reads_back() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(load(folder.path(), &server()), Ledger::default());
        save(folder.path(), &server(), &ledger()).expect("saved");
        assert_eq!(load(folder.path(), &server()), ledger());
        forget(folder.path(), &server()).expect("forgotten");
        forget(folder.path(), &server()).expect("nothing to forget");
        assert_eq!(load(folder.path(), &server()), Ledger::default());
    }

    #[test]
    fn one_of_the_first_version_still_opens() {
        let folder = tempfile::tempdir().expect("a folder");
        save(folder.path(), &server(), &Ledger::default()).expect("saved");
        let print = "1".repeat(64);
        let old = format!(
            r#"{{"version":1,"server":"s","baseline":"taken","approved":[{{"kind":"tool","name":"a","fingerprint":"{print}","at":7,"definition":{{"name":"a"}}}}],"held":[]}}"#
        );
        fs::write(file(folder.path(), &server()), old).expect("written");
        let read = load(folder.path(), &server());
        assert_eq!((read.baseline, read.approved.len()), (Baseline::Taken, 1));
    }

    #[test]
    fn a_damaged_one_is_set_aside_and_stays_lost() {
        let folder = tempfile::tempdir().expect("a folder");
        save(folder.path(), &server(), &ledger()).expect("saved");
        let path = file(folder.path(), &server());
        let whole = fs::read_to_string(&path).expect("there");
        for damaged in [
            "",
            "{}",
            whole.split_at(whole.len() / 2).0,
            &whole.replace("\"version\":2", "\"version\":9"),
            &whole.replace("\"server\":\"s\"", "\"server\":\"t\""),
            &whole.replace("\"taken\"", "\"maybe\""),
            &whole.replacen("\"fingerprint\":\"", "\"fingerprint\":\"x", 1),
        ] {
            fs::write(&path, damaged).expect("written");
            assert_eq!(
                load(folder.path(), &server()).baseline,
                Baseline::Lost,
                "{damaged}"
            );
            let aside = path.with_extension("json.damaged");
            assert_eq!(fs::read_to_string(aside).expect("set aside"), damaged);
            assert_eq!(load(folder.path(), &server()).baseline, Baseline::Lost);
        }
    }

    #[test]
    fn one_that_cannot_be_read_stays_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        save(folder.path(), &server(), &ledger()).expect("saved");
        let path = file(folder.path(), &server());
        let elsewhere = path.with_extension("elsewhere");
        fs::rename(&path, &elsewhere).expect("it is ours");
        // A folder in its place cannot be read, whoever asks.
        fs::create_dir(&path).expect("made");
        let unread = load(folder.path(), &server());
        assert_eq!(unread, Ledger::unread());
        assert_eq!(unread.baseline, Baseline::Lost);
        assert!(path.is_dir(), "nothing is set aside");
        let by_a_person = Approval {
            which: Which::All,
            by: "me".to_owned(),
            at: 9,
        };
        let approved = unread.approve(&[], &by_a_person).expect("approved");
        fs::remove_dir(&path).expect("removed");
        fs::rename(&elsewhere, &path).expect("put back");
        save(folder.path(), &server(), &approved).expect_err("it was not read");
        assert_eq!(load(folder.path(), &server()), ledger());
    }

    #[test]
    fn what_could_not_be_read_back_is_not_written() {
        let folder = tempfile::tempdir().expect("a folder");
        save(folder.path(), &server(), &ledger()).expect("saved");
        let (_, one) = ledger().approved.pop_first().expect("there");
        let long = |n: usize| {
            (
                ThingKind::Tool,
                format!("{n}{}", "\u{1}".repeat(4000)).into(),
            )
        };
        let large = Ledger {
            approved: (0..3000).map(|n| (long(n), one.clone())).collect(),
            ..ledger()
        };
        assert!(save(folder.path(), &server(), &large).is_err());
        assert_eq!(load(folder.path(), &server()), ledger());
        let (_, held) = ledger().held.pop_first().expect("there");
        let many = Ledger {
            held: (0..20_000).map(|n| (long(n), held)).collect(),
            ..ledger()
        };
        save(folder.path(), &server(), &many).expect("saved");
        let read = load(folder.path(), &server());
        assert_eq!(read.approved, ledger().approved);
        assert!((1..=HELD_NAMES / 4000).contains(&read.held.len()));
    }

    #[test]
    fn of_servers_that_are_gone_the_newest_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        for n in 0..ABSENT + 5 {
            let name = ServerName::parse(&format!("s{n}")).expect("a name");
            save(folder.path(), &name, &ledger()).expect("saved");
        }
        prune(folder.path(), |name| name == "s0");
        let left = fs::read_dir(FOLDER.within(folder.path())).expect("there");
        assert_eq!(left.count(), ABSENT + 1);
        assert!(file(folder.path(), &ServerName::parse("s0").expect("a name")).exists());
    }
}
