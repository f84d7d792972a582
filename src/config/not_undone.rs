//! Why a change of the configuration is not undone.

/// Why a change is not undone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotUndone {
    /// The history cannot be read.
    #[error("the history of the configuration cannot be read")]
    Unreadable,
    /// There is none.
    #[error("there is no change to undo")]
    Nothing,
    /// It is not in the history.
    #[error("there is no change {0} in the history")]
    Unknown(u64),
    /// It was undone before.
    #[error("change {0} is undone already")]
    Already(u64),
    /// It took a secret away.
    #[error("change {0} removed a secret, which the history does not keep")]
    Secret(u64),
    /// Nobody saw the text before it, or it was too long.
    #[error("change {0} cannot be undone: the former value is not known")]
    NotKept(u64),
    /// It revoked a token, of which nothing is kept.
    #[error("change {id} revoked the token {name:?}, which cannot come back; issue another one")]
    Revoked {
        /// The change.
        id: u64,
        /// The name of the token.
        name: String,
    },
    /// It took approvals back, which a person gives only to what they see.
    #[error("change {id} took back what was approved of {server}; review it again")]
    Withdrawn {
        /// The change.
        id: u64,
        /// The server.
        server: String,
    },
    /// A later change is about the same.
    #[error("`{path}` was changed again after change {id}")]
    ChangedSince {
        /// The change.
        id: u64,
        /// What was changed again.
        path: String,
    },
}
