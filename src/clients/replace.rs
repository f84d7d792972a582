//! Replacing a file of a client: whole or not at all, with its owner and its mode, through symbolic links, with a copy of what was there
//! beside it, and only if nobody changed it meanwhile.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::{
    storage::{DiskFault, make_like, private},
    text::moment,
};

/// Why a file was not replaced. It is then as it was.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReplaceError {
    /// Somebody else wrote to it since it was read.
    #[error("{} was changed in the meantime", .0.display())]
    ChangedMeanwhile(PathBuf),
    /// Somebody does not want it written to.
    #[error("{} is read-only", .0.display())]
    ReadOnly(PathBuf),
    /// The disk said no.
    #[error(transparent)]
    Disk(#[from] DiskFault),
}

impl ReplaceError {
    /// The reason where the file is named already.
    pub(super) fn of_it(&self) -> String {
        match self {
            Self::ChangedMeanwhile(_) => "it was changed in the meantime".to_owned(),
            Self::ReadOnly(_) => "it is read-only".to_owned(),
            Self::Disk(fault) => fault.to_string(),
        }
    }
}

/// How the names of files end that are not in their place yet.
const NEW: &str = ".new";

/// Why a copy is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CopyKind {
    /// An entry of ours came into the file, or went.
    Connect,
    /// Its servers were moved to us.
    Move,
    /// It is of no use to us any more: the file before us, or just before we left it.
    Kept,
}

impl CopyKind {
    /// Between the name of a file and the moment at which it was set aside.
    fn infix(self) -> &'static str {
        match self {
            Self::Connect => ".before-mcpproxy-",
            Self::Move => ".servers-before-mcpproxy-",
            Self::Kept => ".kept-before-mcpproxy-",
        }
    }
}

/// Puts `after` in place of `before`, which is nothing where there was no file. Gives the copy of what was there.
pub(super) fn replace(
    path: &Path,
    before: Option<&str>,
    after: &str,
    kind: CopyKind,
) -> Result<Option<PathBuf>, ReplaceError> {
    replace_at(path, before, after, (kind, SystemTime::now()), None)
}

/// The same; the copy has this moment in its name, and a note beside it. All copies that one command makes have the same moment.
pub(super) fn replace_at(
    path: &Path,
    before: Option<&str>,
    after: &str,
    (kind, at): (CopyKind, SystemTime),
    note: Option<&str>,
) -> Result<Option<PathBuf>, ReplaceError> {
    let real = real(path);
    check_unchanged(&real, before)?;
    let folder = real.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder).map_err(failed("create the folder", folder))?;
    let backup = match before {
        Some(before) => {
            let copy = free_backup(&real, kind, at);
            let noted = note.map_or(Ok(()), |note| write_like(&note_of(&copy), &real, note));
            let copied = noted.and_then(|()| write_like(&copy, &real, before));
            copied.inspect_err(|_| forget(&copy))?;
            Some(copy)
        }
        None => None,
    };
    let written = put_in_place(&real, &real, after, || check_unchanged(&real, before));
    if let (Err(_), Some(copy)) = (&written, &backup) {
        // The first failure is the one worth reporting.
        forget(copy);
    }
    written?;
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
    Ok(backup)
}

/// Takes a file away that is as it was read.
pub(super) fn remove(path: &Path, before: &str) -> Result<(), ReplaceError> {
    let real = real(path);
    check_unchanged(&real, Some(before))?;
    fs::remove_file(&real).map_err(failed("remove", &real))
}

/// The copies that were set aside beside a file, the newest first.
pub(super) fn backups(path: &Path, kind: CopyKind) -> Vec<PathBuf> {
    let real = real(path);
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    let begin = format!("{name}{}", kind.infix());
    let folder = fs::read_dir(real.parent().unwrap_or(Path::new("/")));
    let entries = folder.into_iter().flatten().flatten();
    // A pipe of such a name would never end.
    let copies = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&begin))
        .filter(|entry| !entry.file_name().to_string_lossy().ends_with(NEW));
    let mut copies: Vec<PathBuf> = copies.map(|entry| entry.path()).collect();
    copies.sort();
    copies.reverse();
    copies
}

/// The note beside a copy of a file from which servers were moved.
pub(super) fn note_of(copy: &Path) -> PathBuf {
    let name = copy.file_name().unwrap_or_default().to_string_lossy();
    copy.with_file_name(name.replace(".servers-before-mcpproxy-", ".servers-moved-by-mcpproxy-"))
}

/// Writes the note beside a copy.
pub(super) fn note(copy: &Path, note: &str) -> Result<(), ReplaceError> {
    write_like(&note_of(copy), copy, note)
}

/// Removes a copy that is of no more use, and its note. What is left of them does no harm.
pub(super) fn forget(copy: &Path) {
    let _ = fs::remove_file(copy);
    let _ = fs::remove_file(note_of(copy));
}

/// When a copy was made, as its name ends.
pub(super) fn made(copy: &Path) -> Option<&str> {
    Some(copy.to_str()?.rsplit_once("before-mcpproxy-")?.1)
}

/// Keeps of the copies beside a file without us the oldest, which is the file before us, and the newest.
pub(super) fn retire(path: &Path) {
    let kinds = [CopyKind::Connect, CopyKind::Kept];
    let mut copies = kinds.map(|kind| backups(path, kind)).concat();
    copies.sort_by(|one, other| made(one).cmp(&made(other)));
    let last = copies.len().saturating_sub(1);
    for (n, copy) in copies.iter().enumerate() {
        // What is left of them does no harm.
        let _ = if n == 0 || n == last {
            let [connect, kept] = kinds.map(CopyKind::infix);
            let name = copy.file_name().unwrap_or_default().to_string_lossy();
            fs::rename(copy, copy.with_file_name(name.replace(connect, kept)))
        } else {
            fs::remove_file(copy)
        };
    }
}

/// Removes the copies of a file that is again what it was before us, and from which nothing is moved: they are of no more use.
pub(super) fn clear_if_restored(path: &Path) {
    let mut copies = backups(path, CopyKind::Connect);
    copies.extend(backups(path, CopyKind::Kept));
    let oldest = copies.last().and_then(|before| fs::read(before).ok());
    let is_restored = oldest.is_some() && oldest == fs::read(path).ok();
    if is_restored && backups(path, CopyKind::Move).is_empty() {
        for copy in copies {
            // What is left of them does no harm.
            let _ = fs::remove_file(copy);
        }
    }
}

fn check_unchanged(real: &Path, before: Option<&str>) -> Result<(), ReplaceError> {
    let now = match fs::read(real) {
        Ok(now) => Some(now),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed("read", real)(error)),
    };
    if now.as_deref() != before.map(str::as_bytes) {
        return Err(ReplaceError::ChangedMeanwhile(real.to_owned()));
    }
    match fs::metadata(real) {
        Ok(found) if found.permissions().readonly() => Err(ReplaceError::ReadOnly(real.to_owned())),
        _ => Ok(()),
    }
}

/// The file itself, where the path leads to it by symbolic links.
fn real(path: &Path) -> PathBuf {
    if let Ok(real) = fs::canonicalize(path) {
        return real;
    }
    match fs::read_link(path) {
        // It leads to a file that is not there yet.
        Ok(target) => path.parent().unwrap_or(Path::new("/")).join(target),
        Err(_) => path.to_owned(),
    }
}

fn free_backup(real: &Path, kind: CopyKind, at: SystemTime) -> PathBuf {
    let infix = kind.infix();
    let at = moment::utc_millis(moment::millis(at)).replace(['-', ':', '.'], "");
    let plain = neighbour(real, &format!("{infix}{at}"));
    let numbered = (2..100).map(|n| neighbour(real, &format!("{infix}{at}-{n}")));
    let all = [plain.clone()].into_iter().chain(numbered);
    let mut free = all.filter(|path| !path.exists());
    free.next().unwrap_or(plain)
}

fn neighbour(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    file.with_file_name(name)
}

/// Writes a file with the owner and the mode of another one, whole or not at all; without that one only its owner can read it.
fn write_like(path: &Path, like: &Path, text: &str) -> Result<(), ReplaceError> {
    put_in_place(path, like, text, || Ok(()))
}

/// Writes a file beside its place, and moves it there if `may` still allows it. If a step fails, the new file is removed: a part of a copy
/// would look like a whole one.
fn put_in_place(
    path: &Path,
    like: &Path,
    text: &str,
    may: impl FnOnce() -> Result<(), ReplaceError>,
) -> Result<(), ReplaceError> {
    let temporary = neighbour(path, &format!(".mcpproxy-{}{NEW}", std::process::id()));
    let written = write_new(&temporary, like, text)
        .map_err(failed("write", path))
        .and_then(|()| may())
        .and_then(|()| fs::rename(&temporary, path).map_err(failed("write", path)));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn write_new(path: &Path, like: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    let mut file = private(&mut options).open(path)?;
    make_like(&file, like)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

pub(super) fn failed(doing: &'static str, file: &Path) -> impl FnOnce(io::Error) -> ReplaceError {
    let failed = DiskFault::of(doing, file);
    move |reason| failed(reason).into()
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        fs::{self, Permissions},
        os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink},
        path::Path,
    };

    use super::{CopyKind, ReplaceError, backups, remove, replace};

    /// Makes this file another user's, where we are root. Whose it is now.
    fn given_away(file: &Path) -> u32 {
        let _ = chown(file, Some(65_534), None);
        fs::metadata(file).expect("it is there").uid()
    }

    #[test]
    fn a_file_is_replaced_through_links_with_its_owner_and_mode_and_a_copy_of_it() {
        let ground = tempfile::tempdir().expect("a folder");
        let file = ground.path().join("dotfiles/mcp.json");
        let link = ground.path().join("mcp.json");
        fs::create_dir(ground.path().join("dotfiles")).expect("ours");
        fs::write(&file, "old").expect("ours");
        fs::set_permissions(&file, Permissions::from_mode(0o640)).expect("ours");
        symlink(&file, &link).expect("ours");
        let owner = given_away(&file);
        let copy = replace(&link, Some("old"), "new", CopyKind::Connect).expect("it is replaced");
        let copy = copy.expect("there was a file");
        assert_eq!(fs::read_to_string(&file).expect("it is there"), "new");
        assert!(
            fs::symlink_metadata(&link)
                .expect("it is there")
                .is_symlink()
        );
        for path in [&file, &copy] {
            let found = fs::metadata(path).expect("it is there");
            let expected = (0o640, owner);
            let found = (found.mode() & 0o777, found.uid());
            assert_eq!(found, expected, "{}", path.display());
        }
        assert_eq!(fs::read_to_string(&copy).expect("it is there"), "old");
        assert_eq!(backups(&link, CopyKind::Connect), [copy]);
        // Somebody was faster.
        let changed =
            replace(&link, Some("old"), "newer", CopyKind::Connect).expect_err("it was changed");
        assert!(matches!(changed, ReplaceError::ChangedMeanwhile(_)));
        assert_eq!(backups(&link, CopyKind::Connect).len(), 1);
        fs::set_permissions(&file, Permissions::from_mode(0o440)).expect("ours");
        let refused =
            replace(&link, Some("new"), "newer", CopyKind::Connect).expect_err("it is read-only");
        assert!(matches!(refused, ReplaceError::ReadOnly(_)));
    }

    #[test]
    fn a_file_that_is_not_there_is_made_private() {
        let ground = tempfile::tempdir().expect("a folder");
        let file = ground.path().join("a/b/mcp.json");
        assert!(
            replace(&file, None, "{}", CopyKind::Connect)
                .expect("it is made")
                .is_none()
        );
        let mode = fs::metadata(&file).expect("it is there").mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(remove(&file, "other").is_err());
        remove(&file, "{}").expect("it is taken away");
        assert!(!file.exists());
        let owner = given_away(&ground.path().join("a/b"));
        replace(&file, None, "{}", CopyKind::Connect).expect("it is made");
        assert_eq!(fs::metadata(&file).expect("it is there").uid(), owner);
    }
}
