//! Errors of the operating system in plain words, and the next step after errors of the disk.

#[cfg(unix)]
use std::os::unix::fs::MetadataExt;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

#[cfg(unix)]
use rustix::fs::{Access, access};

/// An error of the disk, with the operation and the file.
#[derive(Debug, thiserror::Error)]
#[error("failed to {doing} {}: {}", file.display(), in_words(reason))]
pub struct DiskFault {
    doing: &'static str,
    file: PathBuf,
    /// The error of the system.
    reason: io::Error,
}

impl DiskFault {
    /// Makes the error of doing something, such as "write", with a file.
    pub fn of(doing: &'static str, file: &Path) -> impl FnOnce(io::Error) -> Self {
        let file = file.to_owned();
        move |reason| Self {
            doing,
            file,
            reason,
        }
    }

    /// The next step.
    pub fn step(&self) -> String {
        disk_step(&self.file, &self.reason)
    }
}

/// An error with its file, inside an [`io::Error`] of the same kind: whoever logs or shows it names the file.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}", file.display(), in_words(reason))]
struct OfFile {
    file: PathBuf,
    reason: io::Error,
}

/// Adds the file to an error that names none yet. [`in_words`] leaves it out again.
pub fn of_file(file: &Path) -> impl FnOnce(io::Error) -> io::Error {
    move |reason| {
        if named(&reason).is_some() {
            return reason;
        }
        let file = file.to_owned();
        io::Error::new(reason.kind(), OfFile { file, reason })
    }
}

fn named(error: &io::Error) -> Option<&OfFile> {
    error.get_ref()?.downcast_ref()
}

/// The next step after an error with this path.
pub fn disk_step(path: &Path, error: &io::Error) -> String {
    disk_remedy(path, error)
        .unwrap_or_else(|| format!("choose a place outside of {}", nearest(path).display()))
}

/// What helps after an error with this path, or with the one that it names, if something can be named.
pub fn disk_remedy(path: &Path, error: &io::Error) -> Option<String> {
    let of_path = (path, error);
    let (path, error) = named(error).map_or(of_path, |named| (&*named.file, &named.reason));
    let place = nearest(path);
    Some(match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            format!("make room on the disk of {}", place.display())
        }
        io::ErrorKind::FileTooLarge if error.get_ref().is_some() => {
            format!("make {} smaller", place.display())
        }
        io::ErrorKind::FileTooLarge => {
            "have the system allow larger files (`ulimit -f`), then try again".to_owned()
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            format!("make the disk of {} writable", place.display())
        }
        io::ErrorKind::NotFound => match path.parent() {
            Some(folder) if folder != place => format!("create the folder {}", folder.display()),
            _ => return None,
        },
        io::ErrorKind::AlreadyExists
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::NotADirectory => format!("move {} away", place.display()),
        io::ErrorKind::InvalidData if error.get_ref().is_none() => {
            format!("save {} as UTF-8", place.display())
        }
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            format!("correct {place}, or move it away", place = place.display())
        }
        io::ErrorKind::TooManyLinks => {
            let file = place.display();
            format!("give it one name only: `cp -p {file} {file}.new && mv {file}.new {file}`")
        }
        _ if error.get_ref().is_some() && place.is_symlink() => {
            format!("move the link {} away", place.display())
        }
        // Other errors of `storage` itself: the file or folder belongs to another user, or is of another kind.
        _ if error.get_ref().is_some() => {
            format!("replace {} with one that is yours alone", place.display())
        }
        io::ErrorKind::PermissionDenied => allow(place)?,
        io::ErrorKind::Unsupported => return None,
        _ => format!("check that {} is writable", place.display()),
    })
}

/// The path if it exists, or its nearest folder that does.
pub fn nearest(path: &Path) -> &Path {
    let mut parts = path.ancestors();
    parts
        .find(|part| fs::symlink_metadata(part).is_ok())
        .unwrap_or(path)
}

/// An error of the system in plain words, without its number and its file. The text of an error that mcpproxy made itself stays.
pub fn in_words(error: &io::Error) -> String {
    let error = named(error).map_or(error, |named| &named.reason);
    if error.get_ref().is_some() {
        return error.to_string();
    }
    let known = match error.kind() {
        io::ErrorKind::NotFound => "no such file or folder",
        io::ErrorKind::PermissionDenied => "permission denied",
        io::ErrorKind::AlreadyExists => "a file of that name is in the way",
        io::ErrorKind::IsADirectory => "it is a folder",
        io::ErrorKind::NotADirectory => "a part of the path is not a folder",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "the disk is full",
        io::ErrorKind::ReadOnlyFilesystem => "the disk is read-only",
        io::ErrorKind::Unsupported => "nothing can be created there",
        io::ErrorKind::InvalidData => "it is not UTF-8 text",
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe => "the other side closed the connection",
        io::ErrorKind::UnexpectedEof => "it ends too early",
        io::ErrorKind::TimedOut => "no answer in time",
        io::ErrorKind::AddrInUse => "the address is in use",
        io::ErrorKind::AddrNotAvailable => "this machine does not have that address",
        _ => {
            let whole = error.to_string();
            let number = error.raw_os_error().unwrap_or_default();
            let words = whole.strip_suffix(&format!(" (os error {number})"));
            return words.unwrap_or(&whole).to_ascii_lowercase();
        }
    };
    known.to_owned()
}

/// [`in_words`], with the file of the error where that is not this one.
pub fn in_words_beside(path: &Path, error: &io::Error) -> String {
    match named(error) {
        Some(other) if other.file != path => other.to_string(),
        _ => in_words(error),
    }
}

/// The step that makes a place writable, if its permissions or its folder's forbid writing. Root may write anywhere, but mcpproxy does not
/// replace a file that is read-only.
#[cfg(unix)]
fn allow(place: &Path) -> Option<String> {
    let user = rustix::process::geteuid();
    let mut both = place.ancestors().take(2);
    let closed = both.find(|part| {
        if user.is_root() {
            return fs::metadata(part)
                .is_ok_and(|found| found.is_file() && found.permissions().readonly());
        }
        let needed = if part.is_dir() {
            Access::all()
        } else {
            Access::READ_OK | Access::WRITE_OK
        };
        access(*part, needed).is_err()
    })?;
    let name = closed.display();
    let owner = fs::metadata(closed).ok().map(|found| found.uid());
    Some(if user.is_root() || owner == Some(user.as_raw()) {
        format!("`chmod u+rwX {name}`")
    } else {
        format!("have the owner of {name} let your user read and write there")
    })
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
fn allow(place: &Path) -> Option<String> {
    Some(format!("let your user write in {}", place.display()))
}

#[cfg(all(test, unix))]
mod tests {
    use std::{fs::Permissions, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn a_step_names_what_is_there_and_can_be_done() {
        let folder = tempfile::tempdir().expect("a folder");
        let here = folder.path().display();
        fs::write(folder.path().join("file"), "").expect("ours");
        for (path, kind, expected) in [
            ("new", io::ErrorKind::NotFound, None),
            (
                "a/b/c",
                io::ErrorKind::NotFound,
                Some(format!("create the folder {here}/a/b")),
            ),
            ("a/b/c", io::ErrorKind::Unsupported, None),
            (
                "a/b",
                io::ErrorKind::ReadOnlyFilesystem,
                Some(format!("make the disk of {here} writable")),
            ),
            (
                "file/b",
                io::ErrorKind::NotADirectory,
                Some(format!("move {here}/file away")),
            ),
            (
                "file",
                io::ErrorKind::InvalidData,
                Some(format!("save {here}/file as UTF-8")),
            ),
            (
                "file",
                io::ErrorKind::UnexpectedEof,
                Some(format!("correct {here}/file, or move it away")),
            ),
            (
                "file",
                io::ErrorKind::TooManyLinks,
                Some(format!(
                    "give it one name only: `cp -p {here}/file {here}/file.new && mv {here}/file.new {here}/file`"
                )),
            ),
            // Neither the folder nor its parent forbids it.
            ("a/b", io::ErrorKind::PermissionDenied, None),
        ] {
            let remedy = disk_remedy(&folder.path().join(path), &kind.into());
            assert_eq!(remedy, expected, "{path} {kind:?}");
        }
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("file", &link).expect("ours");
        let remedy = disk_remedy(&link, &io::Error::other("it is a link"));
        assert_eq!(remedy, Some(format!("move the link {here}/link away")));
        let file = folder.path().join("file");
        fs::set_permissions(&file, Permissions::from_mode(0o444)).expect("ours");
        let remedy = disk_remedy(&file, &io::ErrorKind::PermissionDenied.into());
        assert_eq!(remedy, Some(format!("`chmod u+rwX {here}/file`")));
        if rustix::process::geteuid().is_root() {
            return;
        }
        fs::set_permissions(folder.path(), Permissions::from_mode(0o500)).expect("ours");
        let remedy = disk_remedy(
            &folder.path().join("a/b"),
            &io::ErrorKind::PermissionDenied.into(),
        );
        assert_eq!(remedy, Some(format!("`chmod u+rwX {here}`")));
    }

    #[test]
    fn what_the_system_says_is_in_words_without_its_number() {
        for (number, words) in [
            (2, "no such file or folder"),
            (13, "permission denied"),
            (17, "a file of that name is in the way"),
            (20, "a part of the path is not a folder"),
            (21, "it is a folder"),
            (24, "too many open files"),
            (28, "the disk is full"),
        ] {
            assert_eq!(in_words(&io::Error::from_raw_os_error(number)), words);
        }
        assert_eq!(in_words(&io::Error::other("It is Ours")), "It is Ours");
        let inner = of_file(Path::new("/a/b"))(io::Error::from_raw_os_error(24));
        let error = of_file(Path::new("/a"))(inner);
        assert_eq!(error.to_string(), "/a/b: too many open files");
        assert_eq!(in_words(&error), "too many open files");
    }
}
