//! Why secrets cannot be read or changed, and the next step. No error contains a value, or a part of one.

use crate::config::NoSecret;

/// Why secrets could not be read or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyringError {
    /// No secret of this name is in this store.
    #[error("is not in {1}")]
    Missing(String, String),
    /// The platform's keyring is locked.
    #[error("{} is locked", PLATFORM)]
    Locked,
    /// The user closed its dialog, or it could not be shown.
    #[error(
        "{} is locked, and its dialog was closed or could not be shown",
        PLATFORM
    )]
    Dismissed,
    /// It does not run.
    #[error("{} cannot be reached ({})", PLATFORM, .0)]
    Absent(String),
    /// It does not answer, usually because it waits for the user.
    #[error("{} did not answer in time", PLATFORM)]
    Silent,
    /// The connection to it ended early.
    #[error("the connection to {} was lost", PLATFORM)]
    Lost,
    /// The private file is not as it was written.
    #[error("{0}")]
    Damaged(String),
    /// The private file could not be read or written; with the next step.
    #[error("{0}")]
    Disk(String, String),
    /// `$MCPPROXY_KEYRING` has this unknown value.
    #[error("$MCPPROXY_KEYRING cannot be {0:?}")]
    UnknownChoice(String),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

/// The platform's keyring in words.
#[cfg(target_os = "linux")]
pub(super) const PLATFORM: &str = "the Secret Service";
#[cfg(target_os = "macos")]
pub(super) const PLATFORM: &str = "the keychain";
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(super) const PLATFORM: &str = "a keyring of the platform";

impl KeyringError {
    /// The operator's next step.
    pub fn next_step(&self) -> String {
        let step = match self {
            Self::Missing(name, _) => return format!("`mcpproxy secret set {name}` stores it"),
            Self::Locked | Self::Dismissed => {
                "unlock it (log in at the desktop), or `mcpproxy config set keyring file`"
            }
            Self::Absent(_) if std::env::var_os("MCPPROXY_KEYRING").is_some() => {
                "`unset MCPPROXY_KEYRING`"
            }
            Self::Absent(_) => "`mcpproxy config set keyring auto`",
            Self::Lost | Self::Failed(_) => "try again, or `mcpproxy config set keyring file`",
            Self::Silent => "answer its dialog, or `mcpproxy config set keyring file`",
            Self::Damaged(_) => {
                "restore the file from a backup, or move it away and store each secret again"
            }
            Self::Disk(_, step) => step,
            Self::UnknownChoice(_) => {
                "`unset MCPPROXY_KEYRING`, or set it to auto, platform or file"
            }
        };
        step.to_owned()
    }

    /// The error for an entry that refers to the secret. Clients can read it, so it contains no path and no text of the platform or the
    /// disk: `mcpproxy secret list` shows these.
    pub(super) fn fault(&self) -> NoSecret {
        let listed = || "`mcpproxy secret list` says why".to_owned();
        let (why, how) = match self {
            Self::Missing(..) => return NoSecret::Missing,
            Self::Absent(_) => (format!("{PLATFORM} cannot be used"), self.next_step()),
            Self::Damaged(_) => ("the file of secrets is damaged".to_owned(), listed()),
            Self::Disk(..) | Self::Failed(_) => ("its store failed".to_owned(), listed()),
            _ => (self.to_string(), self.next_step()),
        };
        NoSecret::Unreadable { why, how }
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyringError, NoSecret};

    #[test]
    fn a_reason_names_no_path() {
        let path = "/home/ann/.local/share/mcpproxy/secrets.json".to_owned();
        for error in [
            KeyringError::Absent(path.clone()),
            KeyringError::Failed(path.clone()),
            KeyringError::Damaged(path.clone()),
            KeyringError::Disk(path.clone(), "try again".to_owned()),
            KeyringError::Locked,
            KeyringError::Silent,
        ] {
            let shown = error.fault().to_string();
            assert!(!shown.contains("/home"), "{shown}");
        }
        let missing = KeyringError::Missing("gh".to_owned(), path);
        assert_eq!(missing.fault(), NoSecret::Missing);
    }
}
