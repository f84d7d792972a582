//! `mcpproxy config edit`: the configuration file in an editor.

use std::fs::File;

use super::super::{CommandFailure, Done};
use crate::management::Files;

/// Opens the file in the user's editor, unless no editor could open it.
pub(super) async fn edit(files: &Files) -> Done {
    /// The exit code of a shell that does not find a command.
    const NOT_FOUND: i32 = 127;
    let file = files.config_file();
    // An editor also opens what is not text.
    let is_open = file.is_file() && File::open(file).is_ok();
    if file.exists() && !is_open {
        return Ok(());
    }
    let named = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR"));
    let editor = editor.unwrap_or_else(|| "vi".to_owned());
    // A shell runs it, as git does, because the variable may have arguments: `code --wait`.
    let mut command = tokio::process::Command::new("sh");
    command.args(["-c", &format!("{editor} \"$1\""), "sh"]);
    let ended = command.arg(file).status().await;
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) if status.code() != Some(NOT_FOUND) => {
            let failure = CommandFailure::failed(format!("the editor {editor:?} failed"));
            let failure = failure.undone("the file was not checked");
            Err(failure.next("`mcpproxy config check`"))
        }
        _ => {
            let failure = CommandFailure::failed(format!("there is no editor {editor:?}"));
            let failure = failure.undone("nothing was changed");
            Err(failure.next("name an installed editor: `VISUAL=nano mcpproxy config edit`"))
        }
    }
}
