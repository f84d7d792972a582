//! The key that seals texts: from the configuration, or generated once and kept in the data folder.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::{
    aead::UnboundKey,
    hkdf::{HKDF_SHA256, Prk, Salt},
    rand::{SecureRandom, SystemRandom},
};

use super::{ALGORITHM, LABEL, Sealer};
use crate::{storage, text::secret::Secret};

/// Bytes of a generated key.
const BYTES: usize = 32;

/// The most bytes of a file that are read. A larger one was not written by mcpproxy.
const LONGEST_FILE: u64 = 4096;

/// The key from which the keys of sealers are derived.
pub struct SealingKey(Prk);

/// A generated secret, and the file that keeps it.
pub struct KeptKey {
    secret: Secret,
    file: PathBuf,
}

impl SealingKey {
    /// The key of this secret: the same in every daemon that has the secret.
    pub fn of(secret: &Secret) -> Self {
        let salt = Salt::new(HKDF_SHA256, b"mcpproxy session_key");
        Self(salt.extract(secret.reveal().as_bytes()))
    }

    /// A sealer with a key that is derived from this one.
    pub fn sealer(&self) -> Sealer {
        let label = [LABEL];
        let key = self.0.expand(&label, ALGORITHM);
        let key = key.expect("the length of a key is one that HKDF gives");
        Sealer::new(UnboundKey::from(key))
    }
}

impl KeptKey {
    /// Reads the secret from this file in the folder, or generates one and writes it. A damaged file is set aside.
    pub fn of_folder(data_dir: &Path, file: storage::DataFile) -> io::Result<Self> {
        let file = file.within(data_dir);
        match storage::if_there(read(&file))? {
            Some(Some(secret)) => return Ok(Self { secret, file }),
            Some(None) => {
                let aside = file.with_extension("damaged");
                fs::rename(&file, &aside)?;
                tracing::warn!(
                    file = %aside.display(),
                    "damaged key set aside, new one made; sessions of the old key are lost"
                );
            }
            None => (),
        }
        let secret = random_secret()?;
        storage::write_atomically(&file, secret.reveal().as_bytes())?;
        Ok(Self { secret, file })
    }

    /// The key of this secret.
    pub fn key(&self) -> SealingKey {
        SealingKey::of(&self.secret)
    }

    /// The secret itself.
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    /// Writes the file again if it was removed, or something else is in its place. Blocks.
    pub fn write_again(&self) -> io::Result<()> {
        if self.file.is_file() {
            return Ok(());
        }
        storage::write_atomically(&self.file, self.secret.reveal().as_bytes())
    }
}

/// Generates a secret of characters that need no escape in URLs and headers.
pub fn random_secret() -> io::Result<Secret> {
    let mut key = [0; BYTES];
    let filled = SystemRandom::new().fill(&mut key);
    filled.map_err(|_| io::Error::other("the system has no random bytes"))?;
    Ok(Secret::new(BASE64_URL_SAFE_NO_PAD.encode(key)))
}

/// The key in a file; `None` if it holds no valid one.
fn read(file: &Path) -> io::Result<Option<Secret>> {
    let text = String::from_utf8(storage::read_private_file(file, LONGEST_FILE)?).ok();
    let is_key = |text: &String| {
        let decoded = BASE64_URL_SAFE_NO_PAD.decode(text);
        decoded.is_ok_and(|key| key.len() == BYTES)
    };
    Ok(text.filter(is_key).map(Secret::new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_a_damaged_one_is_set_aside() {
        let folder = tempfile::tempdir().expect("a folder");
        let sealer = || {
            let kept = KeptKey::of_folder(folder.path(), storage::DataFile::SessionKey)
                .expect("a folder of ours");
            kept.key().sealer()
        };
        let text = sealer().seal(b"x", &[]).expect("there are random bytes");
        assert!(sealer().open(&text, &[]).is_some(), "the same key");
        let file = storage::DataFile::SessionKey.within(folder.path());
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let mode = fs::metadata(&file).expect("it is there").mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        fs::write(&file, "short").expect("writable");
        assert!(sealer().open(&text, &[]).is_none(), "another key");
        assert!(file.with_extension("damaged").exists());
        let kept = KeptKey::of_folder(folder.path(), storage::DataFile::SessionKey)
            .expect("a folder of ours");
        fs::remove_file(&file).expect("it is there");
        fs::create_dir(&file).expect("its place is free");
        let error = kept.write_again().expect_err("a folder is in its place");
        let expected = format!("{}: it is a folder", file.display());
        assert_eq!(error.to_string(), expected);
    }
}
