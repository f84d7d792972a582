//! Files of ours on disk: private folders, atomic writes.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::Path,
};

/// Makes what these options create a file that only its owner can read (0600).
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Creates a folder, and what leads to it, that only its owner can open (0700).
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Creates or empties a file that only its owner can read (0600).
pub fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    private(&mut options).open(path)
}

/// Opens a file to append to it; a new one only its owner can read (0600).
pub fn append_to_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    private(&mut options).open(path)
}

/// Puts `content` in place of the file, whole or not at all. The file is private (0600).
pub fn write_atomically(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = create_private_file(&temporary).and_then(|mut file| {
        file.write_all(content)?;
        file.sync_data()?;
        fs::rename(&temporary, path)
    });
    if written.is_err() {
        // The error that counts is the first one.
        let _ = fs::remove_file(&temporary);
    }
    written
}
