//! The names of what mcpproxy keeps in its data folder. Its parts open their files by this list, so that `uninstall` knows them all.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

/// The ending of the temporary name of a file that is written.
pub(super) const NEW: &str = ".new";

/// Behind the name of a file stand its further forms, such as that of a damaged file, and behind the name of a folder the forms of the files
/// in it. In a form, `*` stands for a server, and `#` for a number or a moment.
macro_rules! data_files {
    (
        $($file:ident $name:literal $([$($form:literal)+])?)+;
        $($folder:ident $folder_name:literal [$($inside:literal)+])+
    ) => {
        /// A file or folder in the data folder.
        #[derive(Debug, Clone, Copy)]
        pub enum DataFile {
            $(#[doc = concat!("`", $name, "`")] $file,)+
            $(#[doc = concat!("`", $folder_name, "`")] $folder,)+
        }

        impl DataFile {
            /// The folders.
            pub const FOLDERS: &[Self] = &[$(Self::$folder),+];

            const NAMES: &[&str] = &[$($name,)+ $($folder_name),+];

            const FORMS: &[&str] = &[$($name, $($($form,)+)?)+];

            const INSIDE: &[&[&str]] = &[$(&[$($inside),+]),+];

            /// Its name. Where it ends in a hyphen, each file has an ending of its own.
            pub fn name(self) -> &'static str {
                Self::NAMES[self as usize]
            }
        }
    };
}

data_files! {
    Activity "activity.redb" ["activity.redb.damaged-#"] Address "address" ApiKey "api_key" ["api_key.damaged"]
    ClientFiles "client-files" DataFolderNote "data-folder-" ["data-folder-#"] DoctorProbe ".doctor" HadServerAuth "had-server-auth"
    History "config-history.jsonl" Lock "lock" PageLogins "page-logins.json" Reserve "reserve" ["reserve.#"] Secrets "secrets.json"
    SecretsLock "secrets.lock" SessionKey "session_key" ["session_key.damaged"] Socket "mcpproxy.sock" TokenUses "token-uses.json"
    Tokens "tokens.json" TokensLock "tokens.lock";
    Approvals "approvals" ["*.json" "*.json.damaged"] Catalog "catalog" ["*.json" "*.habits"] Children "children" ["#"]
    Logins "logins" ["*.json"] Logs "logs" ["daemon.log" "daemon.log.#" "server-*.log" "server-*.log.#" "service.log"]
    Reviews "reviews" ["*.json"] Sessions "sessions" ["ended" "ended.damaged" "#.json" "#.damaged"]
}

impl DataFile {
    /// Where it is, if this is the data folder.
    pub fn within(self, folder: &Path) -> PathBuf {
        folder.join(self.name())
    }

    /// The file of a server in this folder of the data folder.
    pub fn of_server(self, folder: &Path, server: impl fmt::Display, ending: &str) -> PathBuf {
        let name = format!("{server}.{ending}");
        debug_assert!(is_of(&name, self.inside()), "{name} is in no list");
        self.within(folder).join(name)
    }

    /// The forms of the files in it; none where it is a file itself.
    fn inside(self) -> &'static [&'static str] {
        let files = Self::NAMES.len() - Self::FOLDERS.len();
        match (self as usize).checked_sub(files) {
            Some(folder) => Self::INSIDE[folder],
            None => &[],
        }
    }

    /// What is in a data folder: the names of what is mcpproxy's, and of the rest, also of that in the folders of it. `is_ours` says it of
    /// other files.
    pub fn ours_and_foreign(
        folder: &Path,
        is_ours: impl Fn(&str) -> bool,
    ) -> io::Result<(Vec<String>, Vec<String>)> {
        let (mut ours, mut foreign) = (Vec::new(), Vec::new());
        for (name, is_folder) in entries(folder)? {
            let mut stores = Self::FOLDERS.iter().filter(|_| is_folder);
            if let Some(store) = stores.find(|store| store.name() == name) {
                let inside = entries(&store.within(folder))?.into_iter();
                let others =
                    inside.filter(|(name, is_folder)| *is_folder || !is_of(name, store.inside()));
                foreign.extend(others.map(|(inner, _)| format!("{name}/{inner}")));
                ours.push(name);
            } else if !is_folder && (is_of(&name, Self::FORMS) || is_ours(&name)) {
                ours.push(name);
            } else {
                foreign.push(name);
            }
        }
        ours.sort_unstable();
        foreign.sort_unstable();
        Ok((ours, foreign))
    }

    /// Whether a folder has a file of mcpproxy, or approvals.
    pub fn are_in(folder: &Path) -> bool {
        let has_file = Self::NAMES.iter().any(|name| folder.join(name).is_file());
        has_file || Self::Approvals.within(folder).is_dir()
    }
}

/// The names in a folder, and whether each is a folder.
fn entries(folder: &Path) -> io::Result<Vec<(String, bool)>> {
    let entries = fs::read_dir(folder)?.map(|entry| {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        Ok((name, entry.file_type()?.is_dir()))
    });
    entries.collect()
}

fn is_of(name: &str, forms: &[&str]) -> bool {
    let name = name.strip_suffix(NEW).unwrap_or(name);
    let mut forms = forms.iter();
    forms.any(|form| has_form(name.as_bytes(), form.as_bytes()))
}

fn has_form(name: &[u8], form: &[u8]) -> bool {
    let Some((first, rest)) = form.split_first() else {
        return name.is_empty();
    };
    let stands_for = |byte: &&u8| match *first {
        b'*' => byte.is_ascii_alphanumeric() || b"._-".contains(byte),
        b'#' => byte.is_ascii_hexdigit() || b"-TZ".contains(byte),
        other => **byte == other,
    };
    let longest = if b"*#".contains(first) { name.len() } else { 1 };
    let most = name.iter().take(longest).take_while(stands_for).count();
    (1..=most).any(|length| has_form(name.split_at(length).1, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_files_of_a_data_folder_are_known_by_their_names() {
        let check = |store: DataFile, name: &str, expected: bool| {
            assert_eq!(is_of(name, store.inside()), expected, "{store:?} {name}");
        };
        check(DataFile::Approvals, "a.b.json.damaged", true);
        check(DataFile::Approvals, ".json", false);
        check(DataFile::Logs, "server-a.log.2", true);
        check(DataFile::Logs, "server-a.log.old", false);
        check(DataFile::Logs, "mine.log", false);
        check(
            DataFile::Children,
            "ba864e322a4f433c8d0715e6ec32e0ec-0",
            true,
        );
        check(DataFile::Sessions, "00ff-65a0b1c2.json", true);
        check(DataFile::Sessions, "novel.docx", false);
        for (name, expected) in [
            ("activity.redb.damaged-2026-11-30T16-58-12-123Z", true),
            ("data-folder-0f", true),
            ("reserve.8", true),
            ("tokens.json", true),
            ("tokens.json.bak", false),
        ] {
            assert_eq!(is_of(name, DataFile::FORMS), expected, "{name}");
        }
    }
}
