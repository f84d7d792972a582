//! `mcpproxy config undo`: undoes a change.

use clap::Args;
use http::Method;

use super::{
    super::{Done, Output},
    change,
};
use crate::management::{Files, UndoRequest};

/// Undo a change to the configuration, a token or an approval
///
/// Restores the file byte for byte if nothing has changed since, otherwise value by value. If the change issued a token, the undo revokes
/// the token. The history contains no secrets, so you can undo a change to a secret in the file only until the daemon stops.
#[derive(Debug, Args)]
pub(in crate::cli) struct ConfigUndo {
    /// The number in `config history`; by default the latest change
    #[arg(value_name = "NUMBER")]
    id: Option<u64>,
    /// Show what would change, and write nothing
    #[arg(long)]
    dry_run: bool,
}

impl ConfigUndo {
    pub(super) async fn run(self, files: &Files, out: Output) -> Done {
        let Self { id, dry_run } = self;
        let route = (Method::POST, "/api/v1/config/undo");
        change::make(files, route, &UndoRequest { id, dry_run }, dry_run, out).await
    }
}
