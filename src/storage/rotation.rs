//! Log files that are set aside when they are full: `NAME.1` is the newest.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

/// Sets a file aside, and keeps so many of those that were.
pub fn rotate(path: &Path, kept: u32) -> io::Result<()> {
    for number in (1..kept).rev() {
        rename_if_there(&set_aside(path, number), &set_aside(path, number + 1))?;
    }
    rename_if_there(path, &set_aside(path, 1))
}

/// A file that somebody moved away or deleted makes room, too.
fn rename_if_there(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        renamed => renamed,
    }
}

/// Where the file of this number is; 1 is the newest.
pub fn set_aside(path: &Path, number: u32) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(format!(".{number}"));
    name.into()
}
