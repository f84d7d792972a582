//! A configuration file that the running daemon cannot use: the step, and the refusal to continue.

use std::path::Path;

use super::{CommandFailure, Done, output};
use crate::management::{Files, RESTORE, StatusReport};

/// The step to correct a file that the daemon rejects.
pub(super) fn correct_the_file(file: &Path, files: &Files) -> String {
    if !file.exists() {
        RESTORE.to_owned()
    } else if file == files.config_file() {
        "`mcpproxy config edit`".to_owned()
    } else {
        let file = output::shell_word(&file.to_string_lossy());
        format!("`mcpproxy --config {file} config edit`")
    }
}

/// Fails if the running daemon cannot use its file, such as one that was deleted. The daemon keeps its last good settings, and a new file
/// would replace them.
pub(super) fn refuse_unusable(files: &Files, status: Option<StatusReport>, outcome: &str) -> Done {
    let unusable = status.and_then(|status| Some((status.config_error?, status.config_file)));
    match unusable {
        None => Ok(()),
        Some((error, file)) => Err(CommandFailure::failed(error)
            .undone(outcome)
            .next(correct_the_file(&file, files))),
    }
}
