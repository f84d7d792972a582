//! One line that a page of a server gives: the command that starts it, the command that adds it to a client, or a link that installs it.
//! Pure: nothing is run, by no shell.

use std::slice;

use base64::{Engine, prelude::BASE64_STANDARD};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::line_words::{is_address, is_assignment, pair, words_of};
use crate::config;

/// A server of a line: its name, where it says one, and its entry.
pub(super) struct LineServer {
    pub(super) name: Option<String>,
    pub(super) entry: Value,
}

/// Programs that start servers. Another word at the beginning of a line is taken for prose, unless it is a path.
const RUNNERS: [&str; 16] = [
    "npx", "bunx", "pnpm", "yarn", "bun", "node", "deno", "uvx", "uv", "pipx", "python", "python3",
    "docker", "podman", "go", "cargo",
];

/// Others that install programs.
const INSTALLERS: [&str; 7] = ["npm", "pip", "pip3", "brew", "apt", "apt-get", "git"];

/// The words by which they and runners do so.
const INSTALLING: [&str; 5] = ["install", "i", "add", "pull", "clone"];

/// Commands that add a server to a client: `claude mcp add NAME -- …`.
const ADDING: [&[&str]; 4] = [
    &["claude", "mcp"],
    &["codex", "mcp"],
    &["gemini", "mcp"],
    &["mcpproxy", "upstream"],
];

/// Their options that have a value which says nothing here.
const SILENT: [&str; 9] = [
    "-s",
    "--scope",
    "-t",
    "--transport",
    "--type",
    "--timeout",
    "--description",
    "--include-tools",
    "--exclude-tools",
];

/// The server of a line; nothing where it is none of these.
pub(super) fn server_of(text: &str) -> Option<LineServer> {
    link(text).or_else(|| {
        let mut words = words_of(text)?;
        if words.first().is_some_and(|word| word == "$") {
            words.remove(0);
        }
        let rest = |begin: &[&str]| {
            let given = words.get(..begin.len())?;
            (given == begin).then(|| words.get(begin.len()..).unwrap_or_default())
        };
        for begin in ADDING {
            match rest(begin).and_then(<[String]>::split_first) {
                Some((word, rest)) if word == "add" => return added(rest),
                Some((word, [name, json])) if word == "add-json" => {
                    return Some(LineServer {
                        name: Some(name.clone()),
                        entry: config::json_of(json).ok()?,
                    });
                }
                _ => (),
            }
        }
        match rest(&["code"]) {
            Some([option, json]) if option == "--add-mcp" => named_entry(json),
            _ => command(&words),
        }
    })
}

/// `KEY=value npx -y …`.
fn command(words: &[String]) -> Option<LineServer> {
    let n = words.iter().take_while(|word| is_assignment(word)).count();
    let (variables, line) = words.split_at_checked(n)?;
    let (program, args) = line.split_first()?;
    let is_path = ["/", "./", "../", "~/"]
        .iter()
        .any(|begin| program.starts_with(begin));
    if !is_path && !RUNNERS.contains(&program.as_str()) || installs(line) {
        return None;
    }
    let mut env = Map::new();
    env.extend(variables.iter().filter_map(|word| pair(word, &['='])));
    let mut entry = json!({ "command": program, "args": args });
    put(&mut entry, "env", env);
    Some(LineServer { name: None, entry })
}

/// Whether a line installs a program and starts none.
pub(super) fn is_installation(line: &str) -> bool {
    words_of(line.trim_matches(['$', '`', ' '])).is_some_and(|words| installs(&words))
}

fn installs(words: &[String]) -> bool {
    let mut plain = words.iter().map(String::as_str);
    let is_one = |program| INSTALLERS.contains(&program) || RUNNERS.contains(&program);
    let can = plain.next().is_some_and(is_one);
    let mut verbs = plain.filter(|word| !word.starts_with('-')).take(2);
    can && verbs.any(|word| INSTALLING.contains(&word))
}

/// What stands behind `add`: options and a name, then an address with more options, or the words of a command, which are all its own.
fn added(words: &[String]) -> Option<LineServer> {
    let mut options = AddOptions::default();
    let mut name = None;
    let mut words = words.iter();
    let target = loop {
        let Some(word) = words.next() else {
            break None;
        };
        if word == "--" {
            name = name.or_else(|| words.next().cloned());
            break words.next();
        }
        if word.starts_with('-') {
            options.read(word, &mut words)?;
        } else if name.is_none() {
            name = Some(word.clone());
        } else {
            break Some(word);
        }
    };
    let name = Some(name?);
    let address = target.filter(|word| is_address(word));
    if options.url.is_some() || address.is_some() {
        while let Some(word) = words.next() {
            options.read(word, &mut words)?;
        }
    }
    let AddOptions { env, headers, url } = options;
    let mut entry = match (url.or_else(|| address.cloned()), target) {
        (Some(url), _) => json!({ "url": url }),
        (None, Some(program)) => json!({ "command": program, "args": words.as_slice() }),
        (None, None) => return None,
    };
    put(&mut entry, "env", env);
    put(&mut entry, "headers", headers);
    Some(LineServer { name, entry })
}

/// What the options of an `add` say of the server.
#[derive(Default)]
struct AddOptions {
    env: Map<String, Value>,
    headers: Map<String, Value>,
    url: Option<String>,
}

impl AddOptions {
    /// Reads one with its value, which may be the next word. Nothing where that is missing.
    fn read(&mut self, word: &str, next: &mut slice::Iter<'_, String>) -> Option<()> {
        let (option, given) = match word.split_once('=') {
            Some((option, value)) if option.starts_with("--") => (option, Some(value.to_owned())),
            _ => (word, None),
        };
        let value = || given.or_else(|| next.next().cloned());
        match option {
            "-e" | "--env" => self.env.extend(pair(&value()?, &['='])),
            "-H" | "--header" => self.headers.extend(pair(&value()?, &[':'])),
            "--url" => self.url = value(),
            option if SILENT.contains(&option) => drop(value()),
            _ => (),
        }
        Some(())
    }
}

/// A link of Cursor or VS Code that installs a server: its entry stands in it, as JSON or that in Base64.
fn link(text: &str) -> Option<LineServer> {
    if text.contains(char::is_whitespace) {
        return None;
    }
    let (place, query) = text.split_once('?')?;
    let decoded = |text: &str| {
        percent_decode_str(text)
            .decode_utf8()
            .ok()
            .map(String::from)
    };
    if place.starts_with("vscode") && place.ends_with(":mcp/install") {
        return named_entry(&decoded(query)?);
    }
    if !place.ends_with("mcp/install") && !place.ends_with("install-mcp") {
        return None;
    }
    let value = |key: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        decoded(pairs.find(|(name, _)| *name == key)?.1)
    };
    let config = value("config")?;
    let entry = config::json_of(&config).ok().or_else(|| {
        let json = BASE64_STANDARD.decode(config.replace(' ', "+")).ok()?;
        config::json_of(std::str::from_utf8(&json).ok()?).ok()
    })?;
    let name = value("name");
    Some(LineServer { name, entry })
}

/// `{"name": …, "command": …}`.
fn named_entry(json: &str) -> Option<LineServer> {
    let entry = config::json_of(json).ok()?;
    let name = entry.get("name").and_then(Value::as_str);
    Some(LineServer {
        name: name.map(str::to_owned),
        entry,
    })
}

fn put(entry: &mut Value, key: &str, map: Map<String, Value>) {
    if let (Some(entry), false) = (entry.as_object_mut(), map.is_empty()) {
        entry.insert(key.to_owned(), map.into());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::server_of;

    #[track_caller]
    fn check(text: &str, name: Option<&str>, entry: &Value) {
        let found = server_of(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(found.name.as_deref(), name, "{text}");
        assert_eq!(&found.entry, entry, "{text}");
    }

    #[test]
    fn a_command_is_read_as_a_shell_would() {
        let expected = json!({ "command": "npx", "args": ["-y", "a b", "c"] });
        check("npx -y 'a b' c", None, &expected);
        check("$ npx -y \"a b\" \\\n  c", None, &expected);
        let env = json!({ "command": "uvx", "args": ["x"], "env": { "TOKEN": "<TOKEN>" } });
        check("TOKEN='<TOKEN>' uvx x", None, &env);
        let path = json!({ "command": "/opt/x", "args": [] });
        check("/opt/x", None, &path);
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
    fn commands_that_add_to_a_client_name_their_server() {
        let started = json!({ "command": "npx", "args": ["-y", "x"], "env": { "A": "1" } });
        for line in [
            "claude mcp add -s user --env A=1 x -- npx -y x",
            "claude mcp add x -e A=1 -- npx -y x",
            "codex mcp add x --env A=1 -- npx -y x",
            "gemini mcp add -e A=1 x npx -y x",
            "mcpproxy upstream add x --env=A=1 -- npx -y x",
        ] {
            check(line, Some("x"), &started);
        }
        let remote = json!({ "url": "https://h/mcp", "headers": { "Authorization": "Bearer t" } });
        check(
            "claude mcp add --transport http x https://h/mcp --header \"Authorization: Bearer t\"",
            Some("x"),
            &remote,
        );
        let plain = json!({ "command": "npx" });
        check(
            r#"claude mcp add-json x '{"command":"npx"}'"#,
            Some("x"),
            &plain,
        );
        let named = json!({ "name": "x", "command": "npx" });
        check(
            r#"code --add-mcp '{"name":"x","command":"npx"}'"#,
            Some("x"),
            &named,
        );
    }

    #[test]
    fn the_words_of_a_command_that_is_added_are_its_own() {
        let docker = json!({
            "command": "docker",
            "args": ["run", "-i", "--rm", "-e", "GITHUB_TOKEN", "-t", "ghcr.io/x", "--url", "u", "--"],
        });
        for line in [
            "gemini mcp add gh docker run -i --rm -e GITHUB_TOKEN -t ghcr.io/x --url u --",
            "gemini mcp add --trust --timeout 5 -s user gh docker run -i --rm -e GITHUB_TOKEN -t ghcr.io/x --url u --",
            "claude mcp add gh -- docker run -i --rm -e GITHUB_TOKEN -t ghcr.io/x --url u --",
            "claude mcp add -- gh docker run -i --rm -e GITHUB_TOKEN -t ghcr.io/x --url u --",
        ] {
            check(line, Some("gh"), &docker);
        }
        check(
            "codex mcp add x --url https://h/mcp",
            Some("x"),
            &json!({ "url": "https://h/mcp" }),
        );
        for unfinished in [
            "claude mcp add x",
            "claude mcp add x --",
            "claude mcp add x -e",
        ] {
            assert!(server_of(unfinished).is_none(), "{unfinished}");
        }
    }

    #[test]
    fn links_that_install_hold_their_entry() {
        let entry = json!({ "command": "npx" });
        check(
            "cursor://anysphere.cursor-deeplink/mcp/install?name=x&config=eyJjb21tYW5kIjoibnB4In0=",
            Some("x"),
            &entry,
        );
        check(
            "https://insiders.vscode.dev/redirect/mcp/install?name=x&config=%7B%22command%22%3A%22npx%22%7D",
            Some("x"),
            &entry,
        );
        let named = json!({ "name": "x", "command": "npx" });
        check(
            "vscode:mcp/install?%7B%22name%22%3A%22x%22%2C%22command%22%3A%22npx%22%7D",
            Some("x"),
            &named,
        );
        assert!(server_of("https://h/mcp?a=b").is_none());
    }
}
