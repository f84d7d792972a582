//! What a configuration refers to outside its text.

use std::path::{Path, PathBuf};

use super::VariableLookup;

/// Variables, and the folder of the file.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Environment variables.
    pub lookup: VariableLookup<'a>,
    /// The folder relative paths start from: that of the file.
    pub folder: &'a Path,
}

impl Surroundings<'_> {
    /// A path as written: `~/` is the home folder, a relative one starts at the configuration's folder.
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
