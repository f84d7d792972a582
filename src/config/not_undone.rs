//! Why a change of the configuration cannot be undone.

/// Why a change cannot be undone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotUndone {
    /// The history cannot be read.
    #[error("the history of the configuration cannot be read: {why}")]
    Unreadable {
        /// The reason.
        why: String,
        /// What to do about it.
        step: String,
    },
    /// There are no changes.
    #[error("there are no changes yet")]
    Empty,
    /// All changes are undone.
    #[error("no change is left to undo")]
    Nothing,
    /// The history has no change of this number.
    #[error("there is no change {0} in the history")]
    Unknown(u64),
    /// It is already undone.
    #[error("change {0} is already undone")]
    Already(u64),
    /// It replaced or removed a secret, or a long value.
    #[error(
        "change {id} replaced or removed `{path}`, and the history keeps no secrets and no long values"
    )]
    Secret {
        /// The change.
        id: u64,
        /// The path of that value.
        path: String,
    },
    /// It created the file.
    #[error("change {0} created the configuration file, and an undo deletes no files")]
    Begin(u64),
    /// The text before it is not known, or was too long to keep.
    #[error("change {0} cannot be undone: the former value is not known")]
    NotKept(u64),
    /// It revoked a token, of which the history keeps nothing.
    #[error("change {id} revoked the token {name:?}, and a revoked token cannot be restored")]
    Revoked {
        /// The change.
        id: u64,
        /// The name of the token.
        name: String,
    },
    /// It withdrew approvals, which need a new review.
    #[error("change {id} withdrew approvals of {server}, which only a new review can give")]
    Withdrawn {
        /// The change.
        id: u64,
        /// The server.
        server: String,
    },
    /// A later change changed the same value.
    #[error(
        "`{path}` was changed again after change {id}; undo {} first",
        later.map_or_else(|| "the later change".to_owned(), |later| format!("change {later}"))
    )]
    ChangedSince {
        /// The change.
        id: u64,
        /// The path of that value.
        path: String,
        /// The last change of it, if it is known.
        later: Option<u64>,
    },
}
