//! Why a change of the configuration is not undone.

/// Why a change is not undone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotUndone {
    /// The history cannot be read.
    #[error("the history of the configuration cannot be read")]
    Unreadable,
    /// There is none, or all are undone.
    #[error("no change is left to undo")]
    Nothing,
    /// It is not in the history.
    #[error("there is no change {0} in the history")]
    Unknown(u64),
    /// It was undone before.
    #[error("change {0} is already undone")]
    Already(u64),
    /// It took a secret away.
    #[error("change {0} replaced or removed a secret, and the history keeps no secrets")]
    Secret(u64),
    /// It made the file.
    #[error("change {0} created the configuration, and mcpproxy needs one")]
    Begin(u64),
    /// Nobody saw the text before it, or it was too long.
    #[error("change {0} cannot be undone: the former value is not known")]
    NotKept(u64),
    /// It revoked a token, of which nothing is kept.
    #[error("change {id} revoked the token {name:?}, and a revoked token cannot be restored")]
    Revoked {
        /// The change.
        id: u64,
        /// The name of the token.
        name: String,
    },
    /// It took approvals back, which a person gives only to what they see.
    #[error("change {id} withdrew approvals of {server}, which only a new review can give")]
    Withdrawn {
        /// The change.
        id: u64,
        /// The server.
        server: String,
    },
    /// A later change is about the same.
    #[error("`{path}` was changed again after change {id}; undo the later change first")]
    ChangedSince {
        /// The change.
        id: u64,
        /// What was changed again.
        path: String,
    },
}
