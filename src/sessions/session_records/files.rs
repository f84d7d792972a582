//! The folder on disk: one file of ended ids, to which records are appended, and one file for each session with a stored content. Only one
//! task writes it.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::{Content, EndedIds, KeptIndex, LIFETIME, RecordedSession, SessionDigest, kept};
use crate::storage::{self, FileIdentity};

/// The first bytes of the file of ended ids, with the number of its format. The origin of the folder follows.
const BEGINNING: &[u8; 8] = b"MCPENDS1";

/// Bytes before the first record, and bytes of a record: digest, expiry, and the beginning of a hash of both.
const HEAD: usize = 16;
const RECORD: usize = 24;

/// Appended records after which the file is written anew without the expired ones.
const APPENDED: usize = 4096;

/// The open folder. There is one at a time: the daemon holds the lock of its data folder.
pub(super) struct RecordFiles {
    pub(super) folder: PathBuf,
    origin: [u8; 8],
    /// The file of ended ids, to append to.
    ended: File,
    identity: FileIdentity,
    appended: usize,
    /// Whether half a record may have been written, after which none may be appended.
    is_torn: bool,
}

impl RecordFiles {
    /// Opens and reads the folder. If the file of ended ids is damaged, no id of before is continued.
    pub(super) fn open(folder: &Path, now: u32) -> io::Result<(Self, EndedIds, KeptIndex)> {
        storage::create_private_subfolder(folder)?;
        let file = ended_file(folder);
        let (origin, mut ended) = match storage::if_there(read(&file))? {
            Some(Some(known)) => known,
            Some(None) => {
                let aside = file.with_extension("damaged");
                fs::rename(&file, &aside)?;
                tracing::warn!(
                    file = %aside.display(),
                    "the list of ended sessions is damaged and was set aside; open sessions start again"
                );
                // The floor is above every id that was given out until now.
                (new_origin(), EndedIds::above(now + LIFETIME))
            }
            None => (new_origin(), EndedIds::default()),
        };
        ended.prune(now);
        let kept = kept::list(folder, now);
        let written = write(folder, origin, &ended);
        if let Err(error) = &written {
            tracing::warn!(
                %error,
                "ended sessions not stored; they may continue after a restart"
            );
        }
        let is_torn = written.is_err();
        let to_append = written.or_else(|_| storage::append_to_private_file(&file))?;
        let files = Self {
            folder: folder.to_owned(),
            origin,
            identity: FileIdentity::of(&to_append)?,
            ended: to_append,
            appended: 0,
            is_torn,
        };
        Ok((files, ended, kept))
    }

    pub(super) fn origin(&self) -> [u8; 8] {
        self.origin
    }

    /// Writes that a session has ended, and deletes its content.
    pub(super) fn end(&mut self, session: RecordedSession) -> io::Result<()> {
        kept::remove(&self.folder, session);
        if self.is_torn {
            // The file is written anew with it.
            return Ok(());
        }
        let written = self.ended.write_all(&record(session));
        let written = written.map_err(storage::of_file(&ended_file(&self.folder)));
        self.is_torn = written.is_err();
        self.appended += 1;
        written
    }

    /// Whether the file must be written anew before a record can be appended.
    pub(super) fn is_torn(&self) -> bool {
        self.is_torn
    }

    /// Whether the file has grown enough to be written anew.
    pub(super) fn is_long(&self) -> bool {
        self.appended >= APPENDED
    }

    /// Whether the file was removed, or another one put in its place.
    pub(super) fn is_removed(&self) -> bool {
        !self.identity.is_at(&ended_file(&self.folder))
    }

    /// Writes the file of ended ids anew, and makes its folder if that is gone.
    pub(super) fn rewrite(&mut self, ended: &EndedIds) -> io::Result<()> {
        storage::create_private_subfolder(&self.folder)?;
        self.ended = write(&self.folder, self.origin, ended)?;
        self.identity = FileIdentity::of(&self.ended)?;
        self.appended = 0;
        self.is_torn = false;
        Ok(())
    }

    /// Stores the content of a session, or deletes it if there is none. Gives its bytes.
    pub(super) fn keep(
        &self,
        session: RecordedSession,
        content: Content,
        room: usize,
    ) -> io::Result<Option<usize>> {
        match content() {
            None => {
                kept::remove(&self.folder, session);
                Ok(None)
            }
            Some(content) => kept::write(&self.folder, session, &content, room).map(Some),
        }
    }

    /// Deletes the contents of expired sessions.
    pub(super) fn remove(&self, expired: &[RecordedSession]) {
        for session in expired {
            kept::remove(&self.folder, *session);
        }
    }
}

fn ended_file(folder: &Path) -> PathBuf {
    folder.join("ended")
}

fn new_origin() -> [u8; 8] {
    let random = uuid::Uuid::new_v4();
    let first = random.as_bytes().first_chunk();
    *first.expect("a UUID is longer")
}

fn record(session: RecordedSession) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    let (content, check) = record.split_at_mut(RECORD - 4);
    content[..16].copy_from_slice(&session.digest.0);
    content[16..].copy_from_slice(&session.expires.to_be_bytes());
    check.copy_from_slice(&blake3::hash(content).as_bytes()[..4]);
    record
}

/// The session of a record; `None` if it is damaged.
fn recorded(bytes: &[u8; RECORD]) -> Option<RecordedSession> {
    let (digest, rest) = bytes.split_first_chunk::<16>()?;
    let expires = rest.first_chunk::<4>()?;
    let session = RecordedSession {
        digest: SessionDigest(*digest),
        expires: u32::from_be_bytes(*expires),
    };
    (record(session) == *bytes).then_some(session)
}

/// The digest of the record that holds the floor.
const FLOOR: SessionDigest = SessionDigest([0; 16]);

/// Reads the origin and the ended ids. `None` if the file is damaged. An incomplete last record is ignored: its end was never confirmed.
fn read(file: &Path) -> io::Result<Option<([u8; 8], EndedIds)>> {
    storage::read_private_file(file, u64::MAX).map(|bytes| parse(&bytes))
}

fn parse(bytes: &[u8]) -> Option<([u8; 8], EndedIds)> {
    let (head, records) = bytes.split_first_chunk::<HEAD>()?;
    let origin = head.strip_prefix(BEGINNING)?;
    let mut ended = EndedIds::default();
    for bytes in records.chunks_exact(RECORD) {
        let session = recorded(bytes.first_chunk()?)?;
        if session.digest == FLOOR {
            ended.raise(session.expires);
        } else {
            ended.insert(session);
        }
    }
    Some((*origin.first_chunk()?, ended))
}

fn write(folder: &Path, origin: [u8; 8], ended: &EndedIds) -> io::Result<File> {
    let all = ended.all();
    let mut bytes = Vec::with_capacity(HEAD + RECORD * (all.len() + 1));
    bytes.extend_from_slice(BEGINNING);
    bytes.extend_from_slice(&origin);
    bytes.extend_from_slice(&record(RecordedSession {
        digest: FLOOR,
        expires: ended.floor(),
    }));
    for session in all {
        bytes.extend_from_slice(&record(session));
    }
    let file = ended_file(folder);
    storage::write_atomically(&file, &bytes)?;
    storage::append_to_private_file(&file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(name: &str) -> RecordedSession {
        RecordedSession {
            digest: SessionDigest::of(name),
            expires: 1_000,
        }
    }

    #[test]
    fn what_has_ended_reads_back_and_a_cut_record_is_passed_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = |now| RecordFiles::open(folder.path(), now).expect("a folder of ours");
        let (mut files, _, _) = open(1);
        let origin = files.origin();
        files.end(session("a")).expect("written");
        files.end(session("b")).expect("written");
        drop(files);
        let file = ended_file(folder.path());
        let whole = fs::read(&file).expect("readable");
        fs::write(&file, &whole[..whole.len() - 1]).expect("writable");
        let (files, ended, _) = open(1);
        assert_eq!(files.origin(), origin);
        assert!(ended.contains(session("a")) && !ended.contains(session("b")));
        let (_, ended, _) = open(1_000);
        assert_eq!(ended.all().len(), 0, "expired");
    }

    #[test]
    fn behind_a_record_that_may_be_cut_no_other_one_is_written() {
        let Ok(full) = File::options().write(true).open("/dev/full") else {
            // Only some systems have a device that is always full.
            return;
        };
        let folder = tempfile::tempdir().expect("a folder");
        let open = || RecordFiles::open(folder.path(), 1).expect("a folder of ours");
        let (mut files, mut ended, _) = open();
        files.ended = full;
        files.end(session("a")).expect_err("the disk is full");
        assert!(files.is_torn());
        for name in ["a", "b"] {
            files.end(session(name)).expect("later");
            ended.insert(session(name));
        }
        files.rewrite(&ended).expect("there is room again");
        assert!(!files.is_torn());
        files.end(session("c")).expect("written");
        let (_, known, _) = open();
        for name in ["a", "b", "c"] {
            assert!(known.contains(session(name)), "{name}");
        }
        assert!(!known.contains(session("d")));
    }

    #[test]
    fn without_a_readable_file_no_session_of_before_is_continued() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = || RecordFiles::open(folder.path(), 1).expect("a folder of ours");
        let (mut files, _, _) = open();
        files.end(session("a")).expect("written");
        let file = ended_file(folder.path());
        let good = fs::read(&file).expect("readable");
        for at in [0, HEAD, good.len() - 1] {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&file, &bad).expect("writable");
            let (_, ended, _) = open();
            assert!(ended.contains(session("other")), "byte {at}");
            assert_eq!(fs::read(file.with_extension("damaged")).expect("kept"), bad);
            let (_, again, _) = open();
            assert!(again.contains(session("other")), "it is remembered");
            fs::write(&file, &good).expect("writable");
        }
    }
}
