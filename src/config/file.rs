//! The configuration file on disk: its text, and where it really is.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read},
    path::{Path, PathBuf},
};

/// Limit: a configuration is text that people write.
pub(super) const LARGEST_FILE: u64 = 16 * 1024 * 1024;

/// Limit: as many as Linux follows.
const MOST_LINKS: usize = 40;

/// The text of a file, if it has a sane size. What is no file is refused: it is read more than once, and a pipe gives its text only
/// once, or makes its reader wait.
pub(super) fn read_text(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    let mut options = OpenOptions::new();
    options.read(true);
    // Opening a pipe would wait for its writer.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
    );
    let opened = options.open(file)?;
    if !opened.metadata()?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file; write the configuration into one and name that",
        ));
    }
    opened.take(LARGEST_FILE + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST_FILE {
        return Err(too_large());
    }
    Ok(text)
}

/// Why a file is not read, or would not be read again.
pub(super) fn too_large() -> io::Error {
    io::Error::new(
        io::ErrorKind::FileTooLarge,
        "the file is larger than 16 MiB",
    )
}

/// The path, and every path its symbolic links lead to; the last one is no link, or does not exist.
pub(super) fn link_chain(file: &Path) -> Vec<PathBuf> {
    let mut chain = vec![file.to_owned()];
    for _ in 0..MOST_LINKS {
        let Some(link) = chain.last() else { break };
        let Ok(target) = fs::read_link(link) else {
            break;
        };
        chain.push(folder_of(link).join(target));
    }
    chain
}

/// The folder a file is in.
pub(super) fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
