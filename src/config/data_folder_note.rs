//! A note of the data folder that a daemon uses because the configuration file names it. Commands find the daemon by the note while the
//! file names another folder, or cannot be read.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::Places;
use crate::storage::{self, DataFile};

impl Places {
    /// Notes the data folder of a daemon, unless it is the default one.
    pub fn note_data_folder(&self, folder: &Path) -> io::Result<()> {
        if folder == self.data_dir {
            return Ok(());
        }
        storage::create_private_dir(&self.data_dir)?;
        let path = folder.as_os_str().as_encoded_bytes();
        storage::write_atomically(&self.data_folder_note(), path)
    }

    /// The data folders that a running daemon of this configuration may use, whatever the file says now.
    pub fn other_data_folders(&self) -> Vec<PathBuf> {
        if self.data_dir_given {
            return Vec::new();
        }
        let noted = storage::read(&self.data_folder_note(), u64::MAX);
        let noted = noted.ok().and_then(path_of);
        noted.into_iter().chain([self.data_dir.clone()]).collect()
    }

    fn data_folder_note(&self) -> PathBuf {
        let file = self.config_file.to_string_lossy();
        let hash = blake3::hash(file.as_bytes()).to_hex();
        let digits: String = hash.chars().take(16).collect();
        let name = DataFile::DataFolderNote.name();
        self.data_dir.join(format!("{name}{digits}"))
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere bytes may be no path")]
fn path_of(bytes: Vec<u8>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    Some(std::ffi::OsString::from_vec(bytes).into())
}

#[cfg(not(unix))]
fn path_of(bytes: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

#[cfg(all(test, unix))]
mod tests {
    use super::{super::RequestedPlaces, *};

    #[test]
    fn a_noted_folder_is_found_again_whatever_its_name_is() {
        let ground = tempfile::tempdir().expect("a temporary folder");
        let requested = RequestedPlaces {
            config_file: Some(ground.path().join("file")),
            data_dir: Some(ground.path().join("data")),
        };
        let places = Places {
            data_dir_given: false,
            ..Places::find(&requested, &|_| None).expect("both are named")
        };
        let folder = path_of(b"/srv/d\xffta ".to_vec()).expect("a path");
        places.note_data_folder(&folder).expect("writable");
        let expected = [folder, places.data_dir.clone()];
        assert_eq!(places.other_data_folders(), expected);
    }
}
