//! A configuration file that the running daemon cannot use: the step, and the refusal to continue.

use super::{CommandFailure, Done, output};
use crate::{
    failure::NextStep,
    management::{Files, StatusReport},
};

/// The step to correct a file that the daemon rejects.
pub(super) fn correct_the_file(status: &StatusReport, files: &Files) -> String {
    let step = status.config_step.as_ref();
    let step = step.unwrap_or(&NextStep::CheckConfig).at_terminal("");
    if status.config_file == files.config_file() {
        return step;
    }
    let file = output::shell_word(&status.config_file.to_string_lossy());
    step.replace("`mcpproxy ", &format!("`mcpproxy --config {file} "))
}

/// Fails if the running daemon cannot use its file, such as one that was deleted. The daemon keeps its last good settings, and a new file
/// would replace them.
pub(super) fn refuse_unusable(files: &Files, status: Option<StatusReport>, outcome: &str) -> Done {
    let Some(status) = status.filter(|status| status.config_error.is_some()) else {
        return Ok(());
    };
    let step = correct_the_file(&status, files);
    let failure = CommandFailure::failed(status.config_error.unwrap_or_default());
    Err(failure.undone(outcome).next(step))
}
