//! Rotation of log files: a full one is renamed to `NAME.1`, an earlier one to `NAME.2`, and so on.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use super::if_there;

/// Renames a file to `NAME.1`, and keeps this many renamed files.
pub fn rotate(path: &Path, kept: u32) -> io::Result<()> {
    for number in (1..kept).rev() {
        rename_if_there(&set_aside(path, number), &set_aside(path, number + 1))?;
    }
    rename_if_there(path, &set_aside(path, 1))
}

/// A missing file, which somebody may have moved or deleted, is no error.
fn rename_if_there(from: &Path, to: &Path) -> io::Result<()> {
    if_there(fs::rename(from, to)).map(drop)
}

/// The path of the renamed file of this number; 1 is the newest.
pub fn set_aside(path: &Path, number: u32) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(format!(".{number}"));
    name.into()
}
