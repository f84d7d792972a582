//! `mcpproxy config edit`: the configuration file in an editor.

use std::path::Path;

use super::super::{CommandFailure, Done};
use crate::{
    config::{self, ConfigError},
    management::Files,
    storage::open_to_read,
};

/// Opens the file in the user's editor, unless no editor could open it.
pub(super) async fn edit(files: &Files) -> Done {
    /// The exit code of a shell that does not find a command.
    const NOT_FOUND: i32 = 127;
    let file = files.config_file();
    // An editor also opens what is not text.
    if file.exists() && open_to_read(file).is_err() {
        return Ok(());
    }
    let named = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR"));
    let editor = editor.unwrap_or_else(|| "vi".to_owned());
    // A shell runs it, as git does, because the variable may have arguments: `code --wait`.
    let mut command = tokio::process::Command::new("sh");
    let line = at_mistake(&editor, file).unwrap_or_default();
    command.args(["-c", &format!("{editor} {line} \"$1\""), "sh"]);
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

/// The option with which an editor shows the first mistake in the syntax of the file; nothing for an editor that may not have it.
fn at_mistake(editor: &str, file: &Path) -> Option<String> {
    let program = Path::new(editor).file_name()?.to_str()?;
    let text = config::read_text(file).ok()?;
    let Err(ConfigError::Syntax { place, .. }) = config::json_of(&text) else {
        return None;
    };
    let takes_line = ["vi", "vim", "nvim", "nano", "emacs"].contains(&program);
    takes_line.then(|| format!("+{}", place.line))
}

#[cfg(test)]
mod tests {
    use super::at_mistake;

    #[test]
    fn an_editor_that_takes_a_line_begins_at_the_mistake() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let check = |text: &str, editor: &str, expected: Option<&str>| {
            std::fs::write(file.path(), text).expect("ours");
            assert_eq!(at_mistake(editor, file.path()).as_deref(), expected);
        };
        check("{\n\"a\": ]\n}", "/usr/bin/vim", Some("+2"));
        check("{\n\"a\": ]\n}", "code --wait", None);
        check("{}", "vi", None);
    }
}
