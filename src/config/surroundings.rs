//! What a configuration refers to outside its text: variables, and the folder of its file.

use std::path::{Path, PathBuf};

use super::VariableLookup;

/// The environment variables and the folder of a file.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Environment variables.
    pub lookup: VariableLookup<'a>,
    /// The folder of the file, to which its relative paths are relative.
    pub folder: &'a Path,
}

impl Surroundings<'_> {
    /// Resolves a path as it is written: `~/` is the home folder, and a relative path is relative to the folder of the file.
    pub fn path(&self, written: &str) -> PathBuf {
        let home = || (self.lookup)("HOME").or_else(|| (self.lookup)("USERPROFILE"));
        if let Some(rest) = written.strip_prefix("~/")
            && let Some(home) = home()
        {
            return Path::new(&home).join(rest);
        }
        self.folder.join(written)
    }
}
