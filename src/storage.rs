//! mcpproxy's own files: private folders and files, atomic writes. An existing folder or file is used only if it belongs to the user of
//! this process, because another user may have created it. Symbolic links in place of files are not followed.

mod atomic;
mod data_file;
mod rotation;
mod words;

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read},
    path::Path,
};

pub use atomic::{
    keep_reserves, remove, remove_unfinished, take_reserve, write_atomically,
    write_despite_full_disk,
};
pub use data_file::DataFile;
pub use ownership::{copy_owner, is_open_to_others};
pub use rotation::{rotate, set_aside};
pub use words::{DiskFault, disk_remedy, disk_step, in_words, in_words_beside, nearest, of_file};

/// Makes these options create files that only their owner can read (0600), and wait for nobody at a pipe.
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    unwaiting(options)
}

/// Opening a pipe would wait for its other end.
fn unwaiting(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        options,
        rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
    );
    options
}

/// Gives a new file the owner and the mode of the file `like`. Where that is not there yet, its owner is that of its folder.
pub fn make_like(created: &File, like: &Path) -> io::Result<()> {
    copy_owner(like, created)?;
    match fs::metadata(like) {
        Ok(found) => created.set_permissions(found.permissions()),
        Err(_) => Ok(()),
    }
}

/// Creates a folder that only its owner can open (0700), and the folders that lead to it. An existing one must belong to our user, and is
/// made private; the error says why it cannot be used.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let created = builder.create(path).map_err(|error| match error.kind() {
        // Missing folders are created, so the file system refuses to create something here.
        io::ErrorKind::NotFound => io::ErrorKind::Unsupported.into(),
        // A folder would be no error.
        kind @ io::ErrorKind::AlreadyExists => io::Error::new(kind, "it is not a folder"),
        _ => error,
    });
    let secured = created.and_then(|()| ownership::secure_folder(path));
    secured.map_err(of_file(path))
}

/// The same for a folder inside a private folder. A symbolic link in its place is refused, and its target is not touched.
pub fn create_private_subfolder(path: &Path) -> io::Result<()> {
    refuse_link(path)?;
    create_private_dir(path)
}

/// [`write_atomically`] in a folder that [`create_private_subfolder`] creates.
pub fn write_in_subfolder(path: &Path, content: &[u8]) -> io::Result<()> {
    create_private_subfolder(path.parent().unwrap_or(path))?;
    write_atomically(path, content)
}

/// Refuses a symbolic link in place of a folder; the error names the link and its target.
pub fn refuse_link(path: &Path) -> io::Result<()> {
    let is_link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    if !is_link {
        return Ok(());
    }
    let target = fs::read_link(path).unwrap_or_default();
    let target = target.display();
    let why = format!("it is a symbolic link to {target}, which is not followed");
    let error = io::Error::new(io::ErrorKind::PermissionDenied, why);
    Err(of_file(path)(error))
}

/// Opens a file to read it, also behind symbolic links. Only regular files are opened: a pipe gives its text only once, or makes its
/// reader wait.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    let file = unwaiting(File::options().read(true)).open(path)?;
    refuse_other_kinds(&file.metadata()?)?;
    Ok(file)
}

fn refuse_other_kinds(found: &fs::Metadata) -> io::Result<()> {
    if found.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !found.is_file() {
        let why = "it is not a regular file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    Ok(())
}

/// Reads a whole file that [`open_to_read`] opens.
pub fn read(path: &Path, largest: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let file = open_to_read(path)?;
    file.take(largest.saturating_add(1))
        .read_to_end(&mut content)?;
    if content.len() as u64 > largest {
        return Err(too_large(largest));
    }
    Ok(content)
}

/// [`read`] for a text.
pub fn read_text(path: &Path, largest: u64) -> io::Result<String> {
    String::from_utf8(read(path, largest)?).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// The error for a file that is larger than this many bytes.
pub fn too_large(largest: u64) -> io::Error {
    let why = format!("the file is larger than {} MiB", largest >> 20);
    io::Error::new(io::ErrorKind::FileTooLarge, why)
}

/// Opens a file with these options; a new one only its owner can read (0600). An existing one must be a regular file of our user's, with
/// one name. The error names the file.
pub fn open_private_file(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    ownership::open_private_file(path, options).map_err(of_file(path))
}

/// Opens a file to read it, write it or lock it; a new one only its owner can read (0600).
pub fn open_to_change(path: &Path) -> io::Result<File> {
    open_private_file(path, File::options().read(true).write(true).create(true))
}

/// Opens a file to append to it; a new one only its owner can read (0600).
pub fn append_to_private_file(path: &Path) -> io::Result<File> {
    open_private_file(path, File::options().append(true).create(true))
}

/// Reads a private file, at most this many bytes.
pub fn read_private_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let file = open_private_file(path, File::options().read(true))?;
    let read = file.take(most).read_to_end(&mut content);
    read.map_err(of_file(path))?;
    Ok(content)
}

/// What was done with a file or folder; nothing if it is not there.
pub fn if_there<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Identifies a file, whatever its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIdentity(ownership::FileNumbers);

impl FileIdentity {
    /// The identity of an open file.
    pub fn of(file: &File) -> io::Result<Self> {
        Ok(Self(ownership::identity(&file.metadata()?)))
    }

    /// Whether this file is still at the path, neither removed nor replaced.
    pub fn is_at(self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|found| ownership::identity(&found) == self.0)
    }
}

#[cfg(unix)]
mod ownership {
    use std::{
        fs::{self, File, Metadata, OpenOptions, Permissions},
        io,
        os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
        path::Path,
    };

    use rustix::{fs::OFlags, io::Errno};

    /// The permissions of all users but the owner.
    const OTHERS: u32 = 0o077;
    /// Permissions that let other users create files in a folder.
    const OTHERS_WRITE: u32 = 0o022;
    /// The sticky bit of folders in which everybody may create files, such as `/tmp`.
    const SHARED: u32 = 0o1000;

    /// Whether users other than the owner have a permission on a file.
    pub fn is_open_to_others(path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|found| found.mode() & OTHERS != 0)
    }

    pub(super) fn secure_folder(path: &Path) -> io::Result<()> {
        let link = fs::symlink_metadata(path)?;
        if link.is_symlink() && !is_ours(&link) && link.uid() != 0 {
            return Err(refused(format!(
                "it is a symbolic link of another user (uid {})",
                link.uid()
            )));
        }
        let folder = fs::metadata(path)?;
        refuse_foreign(&folder)?;
        if folder.mode() & OTHERS == 0 {
            return Ok(());
        }
        if folder.mode() & SHARED != 0 {
            return Err(refused("every user may write to it".to_owned()));
        }
        // Where modes cannot be changed, what counts is the mode that it has then.
        let _ = fs::set_permissions(path, Permissions::from_mode(0o700));
        if is_private(fs::metadata(path)?.mode())? {
            tracing::warn!(
                folder = %path.display(),
                mode_before = format!("{:o}", folder.mode() & 0o7777),
                "folder made private"
            );
        }
        Ok(())
    }

    /// Whether a folder has become private. One that others can still read is used, and the doctor reports it.
    pub(super) fn is_private(mode: u32) -> io::Result<bool> {
        if mode & OTHERS_WRITE != 0 {
            return Err(refused(
                "other users may write to it, and mcpproxy cannot change that".to_owned(),
            ));
        }
        Ok(mode & OTHERS == 0)
    }

    pub(super) fn open_private_file(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
        // Opening a pipe in place of the file would wait for its other end.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let opened = options
            .mode(0o600)
            .custom_flags(flags.bits().cast_signed())
            .open(path);
        let file = opened.map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::LOOP) => refused("it is a symbolic link, which is not followed".to_owned()),
            _ => error,
        })?;
        let found = file.metadata()?;
        super::refuse_other_kinds(&found)?;
        refuse_foreign(&found)?;
        if found.nlink() > 1 {
            let why = "it has a second name (a hard link)";
            return Err(io::Error::new(io::ErrorKind::TooManyLinks, why));
        }
        if found.mode() & OTHERS != 0 {
            // Some file systems have no modes.
            let _ = file.set_permissions(Permissions::from_mode(0o600));
        }
        Ok(file)
    }

    /// The device and the inode.
    pub(super) type FileNumbers = (u64, u64);

    pub(super) fn identity(found: &Metadata) -> FileNumbers {
        (found.dev(), found.ino())
    }

    /// Gives a file that root created to the owner of `like`, or of its folder where it is not there yet: a command that was run as root does
    /// not keep another user from that user's files. Does nothing if this process is not root.
    pub fn copy_owner(like: &Path, created: &File) -> io::Result<()> {
        let folder = like.parent().filter(|it| !it.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let like = fs::metadata(like).or_else(|_| fs::metadata(folder))?;
        if rustix::process::geteuid().is_root() && !is_ours(&like) {
            std::os::unix::fs::fchown(created, Some(like.uid()), Some(like.gid()))?;
        }
        Ok(())
    }

    fn is_ours(found: &Metadata) -> bool {
        found.uid() == rustix::process::geteuid().as_raw()
    }

    fn refuse_foreign(found: &Metadata) -> io::Result<()> {
        if is_ours(found) {
            return Ok(());
        }
        let user = found.uid();
        Err(refused(format!("it belongs to another user (uid {user})")))
    }

    fn refused(why: String) -> io::Error {
        io::Error::new(io::ErrorKind::PermissionDenied, why)
    }
}

#[cfg(not(unix))]
mod ownership {
    use std::{
        fs::{self, File, OpenOptions},
        io,
        path::Path,
    };

    /// Always false: files have no modes.
    pub fn is_open_to_others(_: &Path) -> bool {
        false
    }

    /// Does nothing: the system decides who owns a file.
    #[expect(clippy::unnecessary_wraps, reason = "the unix sibling can fail")]
    pub fn copy_owner(_: &Path, _: &File) -> io::Result<()> {
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, reason = "the unix sibling can fail")]
    pub(super) fn secure_folder(_: &Path) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn open_private_file(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
        options.open(path)
    }

    /// Nothing: every file counts as the same.
    pub(super) type FileNumbers = ();

    pub(super) fn identity(_: &fs::Metadata) -> FileNumbers {}
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        fs::Permissions,
        io::Write,
        os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    };

    use super::*;

    fn mode_of(path: &Path) -> u32 {
        fs::metadata(path).expect("it is there").mode() & 0o7777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
    }

    #[test]
    fn a_folder_of_ours_is_made_private_and_a_shared_one_is_refused() {
        let ground = tempfile::tempdir().expect("a folder");
        let folder = ground.path().join("a/b");
        let check = |mode: u32, expected: Option<u32>| {
            fs::create_dir_all(&folder).expect("a folder");
            set_mode(&folder, mode);
            let taken = create_private_dir(&folder).is_ok();
            assert_eq!(taken.then(|| mode_of(&folder)), expected, "{mode:o}");
        };
        create_private_dir(&folder).expect("it can be made");
        assert_eq!(mode_of(&folder), 0o700);
        check(0o700, Some(0o700));
        check(0o500, Some(0o500));
        check(0o755, Some(0o700));
        check(0o777, Some(0o700));
        check(0o1777, None);
    }

    #[test]
    fn a_folder_whose_mode_cannot_be_changed_is_not_called_private() {
        for (mode, expected) in [(0o700, Some(true)), (0o755, Some(false)), (0o777, None)] {
            assert_eq!(ownership::is_private(mode).ok(), expected, "{mode:o}");
        }
    }

    #[test]
    fn a_link_in_place_of_a_folder_inside_is_refused_and_left_alone() {
        let ground = tempfile::tempdir().expect("a folder");
        let (theirs, planted) = (ground.path().join("theirs"), ground.path().join("logs"));
        fs::create_dir(&theirs).expect("a folder");
        set_mode(&theirs, 0o755);
        for target in [&theirs, &ground.path().join("nothing")] {
            symlink(target, &planted).expect("a link");
            let error = create_private_subfolder(&planted).expect_err("a link");
            let said = error.to_string();
            assert!(said.contains("logs: it is a symbolic link to"), "{said}");
            fs::remove_file(&planted).expect("it is there");
        }
        assert_eq!(mode_of(&theirs), 0o755);
        create_private_subfolder(&planted).expect("it can be made");
        create_private_subfolder(&planted).expect("it is ours");
        assert_eq!(mode_of(&planted), 0o700);
    }

    #[test]
    fn a_folder_of_another_user_is_refused() {
        // The root folder is root's; where we are root, one of nobody's will do.
        let ground = tempfile::tempdir().expect("a folder");
        let folder = ground.path().join("theirs");
        fs::create_dir(&folder).expect("a folder");
        let given = std::os::unix::fs::chown(&folder, Some(65_534), None).is_ok();
        let theirs = if given { &*folder } else { Path::new("/") };
        let error = create_private_dir(theirs).expect_err("it is not ours");
        assert!(error.to_string().contains("another user"), "{error}");
        if given {
            let file = ground.path().join("file");
            fs::write(&file, "").expect("writable");
            std::os::unix::fs::chown(&file, Some(65_534), None).expect("as before");
            assert!(append_to_private_file(&file).is_err());
            let link = ground.path().join("link");
            let ours = tempfile::tempdir().expect("a folder");
            symlink(ours.path(), &link).expect("a link");
            assert!(create_private_dir(&link).is_ok(), "a link of ours");
            std::os::unix::fs::lchown(&link, Some(65_534), None).expect("as before");
            assert!(create_private_dir(&link).is_err(), "a link of theirs");
        }
    }

    #[test]
    fn links_and_pipes_in_place_of_files_are_refused() {
        let ground = tempfile::tempdir().expect("a folder");
        let victim = ground.path().join("victim");
        fs::write(&victim, "whole").expect("writable");
        let planted = ground.path().join("planted");
        let check = |what: &str| {
            let write = write_atomically(&planted.join("x"), b"x");
            assert!(write.is_err(), "{what}");
            for opened in [open_to_change(&planted), append_to_private_file(&planted)] {
                opened.expect_err(what);
            }
            fs::remove_file(&planted).expect("it is there");
        };
        symlink(&victim, &planted).expect("a link");
        check("a symbolic link");
        fs::hard_link(&victim, &planted).expect("a link");
        check("another name");
        let pipe = rustix::fs::mkfifoat(rustix::fs::CWD, &planted, 0o600.into());
        pipe.expect("a pipe");
        read(&planted, 1).expect_err("it would wait");
        check("a pipe");
        assert_eq!(fs::read(&victim).expect("readable"), b"whole");
    }

    #[test]
    fn a_text_is_too_large_also_where_the_limit_cuts_a_character() {
        let ground = tempfile::tempdir().expect("a folder");
        let path = ground.path().join("file");
        let read = |content: &[u8]| {
            fs::write(&path, content).expect("writable");
            read_text(&path, 3).map_err(|error| error.kind())
        };
        assert_eq!(read("aé".as_bytes()), Ok("aé".to_owned()));
        let too_large = Err(io::ErrorKind::FileTooLarge);
        assert_eq!(read("aaaé".as_bytes()), too_large);
        assert_eq!(read(b"a\xff"), Err(io::ErrorKind::InvalidData));
    }

    #[test]
    fn a_file_that_is_removed_or_replaced_is_noticed() {
        let ground = tempfile::tempdir().expect("a folder");
        let path = ground.path().join("file");
        let file = open_to_change(&path).expect("writable");
        let identity = FileIdentity::of(&file).expect("it is open");
        assert!(identity.is_at(&path));
        fs::remove_file(&path).expect("it is there");
        assert!(!identity.is_at(&path));
        fs::write(&path, "other").expect("writable");
        assert!(!identity.is_at(&path));
    }

    #[test]
    fn a_file_of_ours_is_used_and_made_private() {
        let ground = tempfile::tempdir().expect("a folder");
        let file = ground.path().join("file");
        fs::write(&file, "a").expect("writable");
        set_mode(&file, 0o644);
        let mut opened = append_to_private_file(&file).expect("it is ours");
        opened.write_all(b"b").expect("writable");
        assert_eq!(fs::read(&file).expect("readable"), b"ab");
        assert_eq!(mode_of(&file), 0o600);
    }
}
