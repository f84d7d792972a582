//! The names of what mcpproxy keeps in its data folder. Its parts open their files by this list, so that `uninstall` knows them all.

use std::{
    fmt,
    path::{Path, PathBuf},
};

macro_rules! data_files {
    ($($file:ident $name:literal)+; $($folder:ident $folder_name:literal)+) => {
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

            /// Its name. Where it ends in a hyphen, each file has an ending of its own.
            pub fn name(self) -> &'static str {
                Self::NAMES[self as usize]
            }
        }
    };
}

data_files! {
    Activity "activity.redb" Address "address" ApiKey "api_key" ClientFiles "client-files" DataFolderNote "data-folder-"
    DoctorProbe ".doctor" HadServerAuth "had-server-auth" History "config-history.jsonl" Lock "lock"
    PageLogins "page-logins.json" Reserve "reserve" Secrets "secrets.json" SecretsLock "secrets.lock"
    SessionKey "session_key" Socket "mcpproxy.sock" TokenUses "token-uses.json" Tokens "tokens.json" TokensLock "tokens.lock";
    Approvals "approvals" Catalog "catalog" Children "children" Logins "logins" Logs "logs" Reviews "reviews" Sessions "sessions"
}

impl DataFile {
    /// Where it is, if this is the data folder.
    pub fn within(self, folder: &Path) -> PathBuf {
        folder.join(self.name())
    }

    /// The file of a server in this folder of the data folder.
    pub fn of_server(self, folder: &Path, server: impl fmt::Display, ending: &str) -> PathBuf {
        self.within(folder).join(format!("{server}.{ending}"))
    }

    /// Whether one has this name, with or without an ending such as those of unfinished and damaged files.
    pub fn is_one(name: &str) -> bool {
        Self::NAMES.iter().any(|known| {
            let rest = name.strip_prefix(known);
            rest.is_some_and(|rest| {
                rest.is_empty() || rest.starts_with('.') || known.ends_with('-')
            })
        })
    }

    /// Whether a folder has a file of mcpproxy, or approvals.
    pub fn are_in(folder: &Path) -> bool {
        let has_file = Self::NAMES.iter().any(|name| folder.join(name).is_file());
        has_file || Self::Approvals.within(folder).is_dir()
    }
}
