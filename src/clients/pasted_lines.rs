//! One line that a page of a server gives: the command that starts it, the command that adds it to a client, or a link that installs it.
//! Pure: nothing is run, by no shell.

use serde_json::{Map, Value, json};

use super::{
    add_commands::{added, is_assignment, pair},
    fault::FileFault,
    install_links::link,
    line_words::{words_in_shell, words_of},
};
use crate::config;

/// Programs that start servers. Another word at the beginning of a line is taken for prose, unless it is a path.
const RUNNERS: [&str; 16] = [
    "npx", "bunx", "pnpm", "yarn", "bun", "node", "deno", "uvx", "uv", "pipx", "python", "python3",
    "docker", "podman", "go", "cargo",
];

/// Others that install programs.
const INSTALLERS: [&str; 7] = ["npm", "pip", "pip3", "brew", "apt", "apt-get", "git"];

/// The words by which they and runners do so.
const INSTALLING: [&str; 5] = ["install", "i", "add", "pull", "clone"];

/// Editors that take a server as JSON: `code --add-mcp '{"name": …}'`.
const EDITORS: [&str; 4] = ["code", "code-insiders", "codium", "cursor"];

/// The entry of a line, with its name in it where the line has one, or the fault of a command that should have an entry; nothing where the
/// line is none of these.
pub(super) fn server_of(text: &str) -> Option<Result<Value, FileFault>> {
    link(text).or_else(|| {
        let (mut words, fault) = words_in_shell(text)?;
        if words.first().is_some_and(|word| word == "$") {
            words.remove(0);
        }
        let entry = added(&words)
            .or_else(|| added_to_editor(&words).map(Ok))
            .or_else(|| command(&words).map(Ok))?;
        Some(fault.map_or(entry, Err))
    })
}

fn added_to_editor(words: &[String]) -> Option<Value> {
    let (program, options) = words.split_first()?;
    if !EDITORS.contains(&program.as_str()) {
        return None;
    }
    let mut options = options.iter().map(String::as_str);
    let joined = options.find_map(|option| option.strip_prefix("--add-mcp"))?;
    let json = joined.strip_prefix('=').or_else(|| options.next())?;
    config::json_of(json).ok()
}

/// `KEY=value npx -y …`.
fn command(words: &[String]) -> Option<Value> {
    let n = words.iter().take_while(|word| is_assignment(word)).count();
    let (variables, line) = words.split_at_checked(n)?;
    let (program, args) = line.split_first()?;
    let is_path = ["/", "./", "../", "${HOME}/"]
        .iter()
        .any(|begin| program.starts_with(begin));
    if !is_path && !RUNNERS.contains(&program.as_str()) || installs(line) {
        return None;
    }
    let mut env = Map::new();
    env.extend(variables.iter().filter_map(|word| pair(word, &['='])));
    let mut entry = json!({ "command": program, "args": args });
    if !env.is_empty() {
        entry["env"] = env.into();
    }
    Some(entry)
}

/// Whether a line installs a program and starts none.
pub(super) fn is_installation(line: &str) -> bool {
    words_of(line.trim_matches(['$', '`', ' '])).is_some_and(|words| installs(&words))
}

fn installs(words: &[String]) -> bool {
    let mut plain = words.iter().map(String::as_str);
    let is_one = |program| INSTALLERS.contains(&program) || RUNNERS.contains(&program);
    let can = plain.next().is_some_and(is_one);
    // Behind a later option may stand its value.
    let is_option = |word: &&str| word.starts_with('-');
    let plain = plain.skip_while(is_option);
    let mut verbs = plain.take_while(|word| !is_option(word)).take(2);
    can && verbs.any(|word| INSTALLING.contains(&word))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::server_of;

    #[track_caller]
    fn check(text: &str, entry: &Value) {
        let found = server_of(text).unwrap_or_else(|| panic!("{text}"));
        let found = found.unwrap_or_else(|fault| panic!("{text}: {fault}"));
        assert_eq!(&found, entry, "{text}");
    }

    #[test]
    fn a_command_is_read_as_a_shell_would() {
        let expected = json!({ "command": "npx", "args": ["-y", "a b", "c"] });
        check("npx -y 'a b' c", &expected);
        check("$ npx -y \"a b\" \\\n  c", &expected);
        let env = json!({ "command": "uvx", "args": ["x"], "env": { "TOKEN": "<TOKEN>" } });
        check("TOKEN='<TOKEN>' uvx x", &env);
        let path = json!({ "command": "/opt/x", "args": [] });
        check("/opt/x", &path);
        let own = json!({ "command": "${HOME}/x", "args": ["${HOME}/a"], "env": { "K": "${K}" } });
        check("K=$K ~/x $HOME/a", &own);
        assert!(server_of("npx x && npx y").is_some_and(|it| it.is_err()));
        let mode = json!({ "command": "npx", "args": ["-y", "x", "--mode", "add"] });
        check("npx -y x --mode add", &mode);
        for prose in [
            "add the server",
            "npx 'open",
            "npx a\nnpx b",
            "",
            "\\",
            "a=b",
        ] {
            assert!(server_of(prose).is_none(), "{prose}");
        }
    }

    #[test]
    fn commands_that_add_to_a_client_are_read_or_have_a_fault() {
        let started = json!({ "name": "x", "command": "npx", "args": [] });
        check("$ claude mcp add x -- npx # once", &started);
        let named = json!({ "name": "x", "command": "npx" });
        for line in [
            r#"code --add-mcp '{"name":"x","command":"npx"}'"#,
            r#"code --profile p --add-mcp '{"name":"x","command":"npx"}'"#,
            r#"cursor "--add-mcp={\"name\":\"x\",\"command\":\"npx\"}""#,
        ] {
            check(line, &named);
        }
        assert!(server_of("claude mcp add --new ID x -- npx").is_some_and(|it| it.is_err()));
        for other in ["claude mcp list", "code x.json", "code --add-mcp"] {
            assert!(server_of(other).is_none(), "{other}");
        }
    }
}
