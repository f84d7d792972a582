//! Why a secret could not be had, and what to do next. Never a value, or a part of one.

/// Why secrets could not be read or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyringError {
    /// There is none of this name in this place.
    #[error("is not in {1}")]
    Missing(String, String),
    /// The platform's keyring has to be unlocked by its owner.
    #[error("{} is locked", PLATFORM)]
    Locked,
    /// Its owner closed the dialog, or nobody could be asked.
    #[error(
        "{} is locked, and its dialog was closed or could not be shown",
        PLATFORM
    )]
    Dismissed,
    /// It does not run.
    #[error("{} cannot be used: {}", PLATFORM, .0)]
    Absent(String),
    /// It does not answer, mostly because it waits for its owner.
    #[error("{} did not answer in time", PLATFORM)]
    Silent,
    /// The private file is not as it was written.
    #[error("{0}")]
    Damaged(String),
    /// The private file could not be read or written, and this may help.
    #[error("{0}")]
    Disk(String, &'static str),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

/// What the platform calls its keyring.
#[cfg(target_os = "linux")]
pub(super) const PLATFORM: &str = "the Secret Service";
#[cfg(target_os = "macos")]
pub(super) const PLATFORM: &str = "the keychain";
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(super) const PLATFORM: &str = "a keyring of the platform";

impl KeyringError {
    /// What the operator can do.
    pub fn next_step(&self) -> String {
        let step = match self {
            Self::Missing(name, _) => return format!("`mcpproxy secret set {name}` stores it"),
            Self::Locked | Self::Dismissed => {
                "unlock it (mostly by logging in at the desktop), or keep secrets in a private file: \"keyring\": \"file\" in the configuration"
            }
            Self::Absent(_) => {
                "keep secrets in a private file: \"keyring\": \"auto\" or \"file\" in the configuration"
            }
            Self::Silent => {
                "answer its dialog if there is one, or keep secrets in a private file: \"keyring\": \"file\" in the configuration"
            }
            Self::Damaged(_) => {
                "correct the file, or move it away and store its secrets again: `mcpproxy secret set NAME`"
            }
            Self::Disk(_, step) => step,
            Self::Failed(_) => "correct what it says, and try again",
        };
        step.to_owned()
    }

    /// What stands behind the name of the secret in the reason of an entry, with the next step. Clients read it, so it names no path: what
    /// the platform or the disk says is for `mcpproxy secret list`.
    pub(super) fn reason(&self) -> String {
        let step = self.next_step();
        match self {
            Self::Missing(..) => format!("is not in the keyring; {step}"),
            Self::Absent(_) => format!("could not be read: {PLATFORM} cannot be used; {step}"),
            Self::Damaged(_) | Self::Disk(..) | Self::Failed(_) => {
                "could not be read; `mcpproxy secret list` says why".to_owned()
            }
            _ => format!("could not be read: {self}; {step}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::KeyringError;

    #[test]
    fn a_reason_names_no_path() {
        let path = "/home/ann/.local/share/mcpproxy/secrets.json".to_owned();
        for error in [
            KeyringError::Missing("gh".to_owned(), path.clone()),
            KeyringError::Absent(path.clone()),
            KeyringError::Failed(path.clone()),
            KeyringError::Damaged(path.clone()),
            KeyringError::Disk(path.clone(), "try again"),
            KeyringError::Locked,
            KeyringError::Silent,
        ] {
            let reason = error.reason();
            assert!(!reason.contains("/home"), "{reason}");
        }
        let missing = KeyringError::Missing("gh".to_owned(), path).reason();
        assert!(missing.contains("`mcpproxy secret set gh`"), "{missing}");
    }
}
