//! What commands do about a configuration file that the daemon that runs cannot use.

use std::path::Path;

use super::{CommandFailure, Done, output};
use crate::management::{Files, StatusReport};

/// What to do where a daemon does not take the file as it stands.
pub(super) fn correct_the_file(file: &Path, files: &Files) -> String {
    if !file.exists() {
        "restore it from a backup, or create a new one: `mcpproxy stop`, then `mcpproxy setup`"
            .to_owned()
    } else if file == files.config_file() {
        "`mcpproxy config edit`".to_owned()
    } else {
        let file = output::shell_word(&file.to_string_lossy());
        format!("`mcpproxy --config {file} config edit`")
    }
}

/// Refuses to go on with a file that the daemon that runs cannot use, such as one that is gone: the daemon keeps the settings that it read
/// from it before, and those of a new file would replace them.
pub(super) fn refuse_unusable(files: &Files, status: Option<StatusReport>, outcome: &str) -> Done {
    let unusable = status.and_then(|status| Some((status.config_error?, status.config_file)));
    match unusable {
        None => Ok(()),
        Some((error, file)) => Err(CommandFailure::failed(error)
            .undone(outcome)
            .next(correct_the_file(&file, files))),
    }
}
