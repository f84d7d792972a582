//! The files with the contents of single sessions. Their names hold digest and expiry, so that none has to be read to be counted or deleted.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
};

use super::{RecordedSession, SessionDigest};
use crate::storage;

/// Limit: bytes of one content, and of all.
const MAX_CONTENT: usize = 256 << 10;
pub(super) const MAX_CONTENTS: usize = 64 << 20;

/// The extension of the files.
const ENDING: &str = "json";

/// The sessions with a stored content: their expiry and the bytes of it.
#[derive(Default)]
pub(super) struct KeptIndex {
    by_digest: HashMap<SessionDigest, (u32, usize)>,
    bytes: usize,
}

impl KeptIndex {
    pub(super) fn has(&self, digest: SessionDigest) -> bool {
        self.by_digest.contains_key(&digest)
    }

    /// The bytes that the content of this session may have.
    pub(super) fn room(&self, digest: SessionDigest) -> usize {
        let own = self.by_digest.get(&digest).map_or(0, |(_, bytes)| *bytes);
        MAX_CONTENTS.saturating_sub(self.bytes - own)
    }

    pub(super) fn insert(&mut self, session: RecordedSession, bytes: usize) {
        self.remove(session.digest);
        self.by_digest
            .insert(session.digest, (session.expires, bytes));
        self.bytes += bytes;
    }

    pub(super) fn remove(&mut self, digest: SessionDigest) {
        if let Some((_, bytes)) = self.by_digest.remove(&digest) {
            self.bytes -= bytes;
        }
    }

    /// Removes and gives those that expire by this moment.
    pub(super) fn expired(&mut self, now: u32) -> Vec<RecordedSession> {
        let all = self.by_digest.iter();
        let expired = all.filter(|(_, (expires, _))| *expires <= now);
        let expired: Vec<_> = expired
            .map(|(&digest, &(expires, _))| RecordedSession { digest, expires })
            .collect();
        for session in &expired {
            self.remove(session.digest);
        }
        expired
    }
}

/// The file of a session.
pub(super) fn file(folder: &Path, session: RecordedSession) -> PathBuf {
    let RecordedSession { digest, expires } = session;
    folder.join(format!("{digest}-{expires:08x}.{ENDING}"))
}

fn session_of(path: &Path) -> Option<RecordedSession> {
    let is_ours = path.extension().is_some_and(|ending| ending == ENDING);
    let (digest, expires) = path.file_stem()?.to_str()?.split_once('-')?;
    let digest = u128::from_str_radix(digest, 16).ok()?.to_be_bytes();
    let session = RecordedSession {
        digest: SessionDigest(digest),
        expires: u32::from_str_radix(expires, 16).ok()?,
    };
    // Only names that `file` makes.
    let name = file(Path::new(""), session);
    (is_ours && path.ends_with(name)).then_some(session)
}

/// Lists the contents, and deletes the expired ones.
pub(super) fn list(folder: &Path, now: u32) -> KeptIndex {
    let mut index = KeptIndex::default();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Some(session) = session_of(&entry.path()) else {
            continue;
        };
        if session.expires <= now {
            remove(folder, session);
            continue;
        }
        let size = entry.metadata().map_or(0, |found| found.len());
        index.insert(session, usize::try_from(size).unwrap_or(usize::MAX / 2));
    }
    index
}

pub(super) fn read(file: &Path) -> io::Result<Vec<u8>> {
    let limit = u64::try_from(MAX_CONTENT).unwrap_or(u64::MAX) + 1;
    storage::read_private_file(file, limit)
}

/// Writes a content of at most `room` bytes. Gives its size.
pub(super) fn write(
    folder: &Path,
    session: RecordedSession,
    content: &[u8],
    room: usize,
) -> io::Result<usize> {
    if content.len() > MAX_CONTENT.min(room) {
        return Err(io::Error::other("the session data is too large"));
    }
    storage::write_atomically(&file(folder, session), content)?;
    Ok(content.len())
}

/// Deletes a content. A failure is ignored: without its entry in the index the file is never read.
pub(super) fn remove(folder: &Path, session: RecordedSession) {
    let _ = storage::remove(&file(folder, session));
}

/// Renames a damaged file, so that its cause can be found.
pub(super) fn set_aside(file: &Path) {
    let aside = file.with_extension("damaged");
    let moved = fs::rename(file, &aside);
    tracing::warn!(
        file = %aside.display(),
        moved = moved.is_ok(),
        "a stored session is damaged and was set aside; its client starts again"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_found_by_its_name_until_it_expires() {
        let folder = tempfile::tempdir().expect("a folder");
        let session = |name: &str, expires| RecordedSession {
            digest: SessionDigest::of(name),
            expires,
        };
        let (a, b) = (session("a", 100), session("b", 200));
        for session in [a, b] {
            write(folder.path(), session, b"{}", 2).expect("written");
        }
        for name in ["ended", "x-1.json", "00-00000000.json"] {
            fs::write(folder.path().join(name), "").expect("writable");
        }
        let mut index = list(folder.path(), 100);
        assert!(!index.has(a.digest) && index.has(b.digest));
        assert!(!file(folder.path(), a).exists());
        assert_eq!(index.room(b.digest), MAX_CONTENTS);
        assert_eq!(index.room(a.digest), MAX_CONTENTS - 2);
        assert_eq!(index.expired(200), [b]);
        assert_eq!(index.room(a.digest), MAX_CONTENTS);
        assert!(write(folder.path(), b, b"{}", 1).is_err(), "no room");
        let large = vec![b' '; MAX_CONTENT + 1];
        assert!(write(folder.path(), b, &large, MAX_CONTENTS).is_err());
    }
}
