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

/// First words by which runners prepare or test something else, in the folder of a project.
const PREPARING: [&str; 13] = [
    "build", "compose", "sync", "test", "venv", "pytest", "jest", "vitest", "tsc", "mypy", "ruff",
    "black", "prettier",
];

/// Editors that take a server as JSON: `code --add-mcp '{"name": …}'`.
const EDITORS: [&str; 4] = ["code", "code-insiders", "codium", "cursor"];

/// What a line gives: its entry, with its name in it where the line has one, or the fault of one that should have an entry; nothing where
/// the line is none of these.
type OfLine = Option<Result<Value, FileFault>>;

/// Of a command or a link that adds a server to a client.
pub(super) fn added_by(text: &str) -> OfLine {
    let of_client = |words: &[String]| added(words).or_else(|| added_to_editor(words).map(Ok));
    link(text).or_else(|| of_words(text, of_client))
}

/// Of a command that starts a server.
pub(super) fn started_by(text: &str) -> OfLine {
    of_words(text, |words| command(words).map(Ok))
}

/// Of either.
pub(super) fn server_of(text: &str) -> OfLine {
    added_by(text).or_else(|| started_by(text))
}

fn of_words(text: &str, read: impl Fn(&[String]) -> OfLine) -> OfLine {
    let (mut words, fault) = words_in_shell(text)?;
    if words.first().is_some_and(|word| word == "$") {
        words.remove(0);
    }
    let entry = read(&words)?;
    Some(fault.map_or(entry, Err))
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
    let only_tells = matches!(args, [.., last] if last == "--version" || last == "--help");
    let names_one = args.iter().any(|word| !word.starts_with('-'));
    let is_runner = names_one && RUNNERS.contains(&program.as_str());
    if !is_path && !is_runner || installs(line) || only_tells {
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

/// Whether a line installs or prepares a program and starts none.
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
    let verbs = plain.take_while(|word| !is_option(word)).take(2);
    let verbs: Vec<&str> = verbs.collect();
    let (["run" | "exec", first] | [first, ..]) = verbs[..] else {
        return false;
    };
    can && (PREPARING.contains(&first) || verbs.iter().any(|word| INSTALLING.contains(word)))
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
            "docker build -t mcp/x .",
            "docker compose up -d",
            "uv sync --all-extras",
            "python -m venv .venv",
            "node --version",
            "uv run pytest",
            "npx tsc --watch",
            "npx -y",
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
