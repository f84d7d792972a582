//! The last use of each issued token: noted in memory, and saved in the data folder a few seconds later.

use std::{
    collections::BTreeMap,
    io,
    path::Path,
    time::{Duration, SystemTime},
};

use crate::{
    config::{IssuedTokens, TokenHash},
    runtime::sync::Guarded,
    storage::{self, DataFile},
    text::moment,
};

const FILE: DataFile = DataFile::TokenUses;

/// The largest file, in bytes.
const LARGEST: u64 = 1 << 20;

/// The shortest time between two writes of the file.
pub(super) const KEEP_EVERY: Duration = Duration::from_secs(5);

/// The last use of each token, in milliseconds since 1970.
#[derive(Debug, Default)]
pub(super) struct TokenUses(Guarded<Noted>);

#[derive(Debug, Default)]
struct Noted {
    uses: BTreeMap<String, u64>,
    is_new: bool,
}

impl TokenUses {
    /// Notes that a token is used now.
    pub(super) fn note(&self, hash: &TokenHash) {
        let mut noted = self.0.lock();
        let now = moment::millis(SystemTime::now());
        noted.uses.insert(hash.to_hex(), now);
        noted.is_new = true;
    }

    /// The last uses since the daemon began, by the hashes of tokens, saved or not.
    pub(super) fn noted(&self) -> BTreeMap<String, u64> {
        self.0.lock().uses.clone()
    }

    /// Saves new uses, of tokens that still exist. What could not be written is tried again the next time. Blocks.
    pub(super) fn keep(&self, data_dir: &Path, tokens: &IssuedTokens) -> io::Result<()> {
        let new = {
            let mut noted = self.0.lock();
            if !noted.is_new {
                return Ok(());
            }
            noted.is_new = false;
            noted.uses.clone()
        };
        let mut uses = last_uses(data_dir);
        uses.extend(new);
        uses.retain(|hash, _| tokens.iter().any(|token| token.hash.to_hex() == *hash));
        let written =
            storage::write_atomically(&FILE.within(data_dir), &serde_json::to_vec(&uses)?);
        if written.is_err() {
            self.0.lock().is_new = true;
        }
        written
    }
}

/// The saved last uses of tokens, by their hashes, in milliseconds since 1970. Blocks.
pub fn last_uses(data_dir: &Path) -> BTreeMap<String, u64> {
    let text = storage::read_text(&FILE.within(data_dir), LARGEST).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{FILE, TokenUses};
    use crate::config::{IssuedTokens, TokenHash};

    #[test]
    fn what_could_not_be_written_is_written_the_next_time() {
        let ground = tempfile::tempdir().expect("a folder");
        let data_dir = ground.path().join("data");
        fs::write(&data_dir, "no folder").expect("a file");
        let (uses, tokens) = (TokenUses::default(), IssuedTokens::default());
        uses.note(&TokenHash::of("t"));
        assert!(uses.keep(&data_dir, &tokens).is_err());
        fs::remove_file(&data_dir).expect("the file is removed");
        fs::create_dir(&data_dir).expect("a folder");
        uses.keep(&data_dir, &tokens).expect("uses are written");
        assert!(FILE.within(&data_dir).is_file());
    }
}
