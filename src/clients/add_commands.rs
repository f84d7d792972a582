//! Commands that add a server to a client: `claude mcp add NAME -- …`. What their options say of the server becomes its entry, written as
//! ours are. Pure.

use std::slice;

use serde_json::{Map, Value, json};

use super::{
    fault::FileFault,
    line_words::{is_assignment, pair, words_of_whole},
    our_text::is_variable,
    servers::is_address,
};
use crate::config;

/// A server of a line: its name, where it says one, and its entry.
pub(super) struct LineServer {
    pub(super) name: Option<String>,
    pub(super) entry: Value,
}

/// A command of a client that adds a server, with all its options: the word behind an unknown one may be its value or not.
struct AddCommand {
    /// Its words before `add`.
    begin: [&'static str; 2],
    /// Options without a value.
    flags: &'static str,
    /// Options with one.
    valued: &'static str,
}

const ADD_COMMANDS: [AddCommand; 8] = [
    AddCommand {
        begin: ["claude", "mcp"],
        flags: "--client-secret --xaa",
        valued: "-s --scope -t --transport -e --env -H --header --client-id --callback-port",
    },
    AddCommand {
        begin: ["codex", "mcp"],
        flags: "",
        valued: "--env --url --bearer-token-env-var --oauth-client-id --oauth-resource \
                 -c --config --enable --disable",
    },
    AddCommand {
        begin: ["gemini", "mcp"],
        flags: "--trust --no-trust -d --debug",
        valued: "-s --scope -t --transport --type -e --env -H --header --timeout --description \
                 --include-tools --exclude-tools",
    },
    AddCommand {
        begin: ["qwen", "mcp"],
        flags: "--trust --no-trust -d --debug",
        valued: "-s --scope -t --transport -e --env -H --header --timeout --description \
                 --include-tools --exclude-tools --oauth-client-id --oauth-client-secret \
                 --oauth-redirect-uri --oauth-scopes --oauth-authorization-url --oauth-token-url",
    },
    AddCommand {
        begin: ["copilot", "mcp"],
        flags: "--json",
        valued: "-t --transport --type --url -e --env -H --header --tools --timeout --config-dir",
    },
    AddCommand {
        begin: ["amp", "mcp"],
        flags: "--workspace",
        valued: "--transport --env --header",
    },
    AddCommand {
        begin: ["droid", "mcp"],
        flags: "--no-oauth",
        valued: "--type --env --header",
    },
    AddCommand {
        begin: ["mcpproxy", "upstream"],
        flags: "--disabled --quarantined --check -q --quiet -v --verbose",
        valued: "--url --type --transport -e --env -H --header --cwd --secrets \
                 -o --output --config --data-dir",
    },
];

/// The server that is added by these words; nothing where they are no such command.
pub(super) fn added(words: &[String]) -> Option<Result<LineServer, FileFault>> {
    let [first, second, verb, words @ ..] = words else {
        return None;
    };
    let mut commands = ADD_COMMANDS.iter();
    let command = commands.find(|command| command.begin == [first, second])?;
    match verb.as_str() {
        "add" => Some(command.added(words)),
        "add-json" => Some(command.added_as_json(words)),
        _ => None,
    }
}

impl AddCommand {
    /// What stands behind `add`: options and a name, then an address with more options, or the words of a command, which are all its own.
    fn added(&self, words: &[String]) -> Result<LineServer, FileFault> {
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
                self.read(word, &mut words, &mut options)?;
            } else if name.is_none() {
                name = Some(word.clone());
            } else {
                break Some(word);
            }
        };
        let mut entry = Map::new();
        match (options.0.shift_remove("url"), target) {
            (Some(url), None) => {
                entry.insert("url".to_owned(), url);
            }
            // Behind a command in one string, as Droid takes it, stand options, too.
            (None, Some(whole)) if is_address(whole) || words_of_whole(whole).is_some() => {
                let key = if is_address(whole) { "url" } else { "command" };
                entry.insert(key.to_owned(), json!(whole));
                while let Some(word) = words.next() {
                    self.read(word, &mut words, &mut options)?;
                }
            }
            (None, Some(program)) => {
                entry.insert("command".to_owned(), json!(program));
                entry.insert("args".to_owned(), json!(words.as_slice()));
            }
            (Some(_), Some(_)) => return Err(FileFault::new(STRAY)),
            (None, None) => return Err(FileFault::new(UNFINISHED)),
        }
        entry.extend(options.0);
        Ok(LineServer {
            name: Some(name.ok_or_else(|| FileFault::new(UNFINISHED))?),
            entry: Value::Object(entry),
        })
    }

    /// What stands behind `add-json`: options, a name and the entry.
    fn added_as_json(&self, words: &[String]) -> Result<LineServer, FileFault> {
        let mut options = AddOptions::default();
        let mut plain = Vec::new();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if word.starts_with('-') {
                self.read(word, &mut words, &mut options)?;
            } else {
                plain.push(word);
            }
        }
        let [name, json] = plain[..] else {
            return Err(FileFault::new(UNFINISHED));
        };
        let mut entry = config::json_of(json)?;
        let Value::Object(members) = &mut entry else {
            return Err(FileFault::new("the server's JSON is not an object"));
        };
        for (key, value) in options.0 {
            match (members.entry(key).or_insert(Value::Null), value) {
                (Value::Object(inside), Value::Object(more)) => inside.extend(more),
                (slot, value) => *slot = value,
            }
        }
        let name = Some(name.clone());
        Ok(LineServer { name, entry })
    }

    /// Reads an option with its value, which may be the next word, and with more of them where it has several.
    fn read<'a>(
        &self,
        word: &'a str,
        next: &mut slice::Iter<'a, String>,
        options: &mut AddOptions,
    ) -> Result<(), FileFault> {
        if !word.starts_with('-') {
            return Err(FileFault::new(STRAY));
        }
        let (option, joined) = parted(word);
        let is_in = |list: &str| list.split(' ').any(|known| known == option);
        if is_in(self.flags) {
            // `--trust=false` is as good as none.
            if joined != Some("false") {
                options.switch(option);
            }
            return Ok(());
        }
        if !is_in(self.valued) {
            return Err(FileFault::new(format!(
                "unknown option `{option}`; remove it unless the server needs it"
            )));
        }
        let value = joined.or_else(|| next.next().map(String::as_str));
        let value = value.ok_or_else(|| FileFault::new(format!("`{option}` has no value")))?;
        options.put(option, value)?;
        let is_one_more: fn(&str) -> bool = match option {
            "-e" | "--env" => is_assignment,
            "-H" | "--header" => is_header,
            _ => |_| false,
        };
        while let Some(value) = next.as_slice().first().filter(|word| is_one_more(word)) {
            next.next();
            options.put(option, value)?;
        }
        Ok(())
    }
}

const UNFINISHED: &str = "the command ends before the server's command or URL";

const STRAY: &str = "a word follows the server's URL; remove it, or quote it with the word before";

/// An option and the value that is joined to it: `--env=A=1`, `-eA=1`.
fn parted(word: &str) -> (&str, Option<&str>) {
    if word.starts_with("--") {
        let parts = word.split_once('=');
        return parts.map_or((word, None), |(option, value)| (option, Some(value)));
    }
    match word.split_at_checked(2) {
        Some((option, value)) if !value.is_empty() => {
            (option, Some(value.strip_prefix('=').unwrap_or(value)))
        }
        _ => (word, None),
    }
}

fn is_header(word: &str) -> bool {
    word.contains(':') && !word.starts_with('-') && !is_address(word)
}

/// What the options of an `add` say of the server: keys of its entry.
#[derive(Default)]
struct AddOptions(Map<String, Value>);

impl AddOptions {
    /// Takes a known option without a value.
    fn switch(&mut self, option: &str) {
        match option {
            // Its client asks for it.
            "--client-secret" => self.put_inside("oauth", "client_secret", "<CLIENT_SECRET>"),
            "--disabled" => self.put_key("enabled", false),
            "--quarantined" => self.put_key("quarantined", true),
            _ => (),
        }
    }

    /// Takes a known option with its value.
    fn put(&mut self, option: &str, value: &str) -> Result<(), FileFault> {
        let needs = |what: &str| FileFault::new(format!("`{option}` needs {what}"));
        match option {
            "-e" | "--env" => {
                let pair = pair(value, &['=']);
                let (key, value) = pair.ok_or_else(|| needs("KEY=VALUE"))?;
                self.put_inside("env", &key, value);
            }
            "-H" | "--header" => {
                let pair = pair(value, &[':', '=']);
                let (name, value) = pair.ok_or_else(|| needs("\"NAME: VALUE\""))?;
                self.put_inside("headers", &name, value);
            }
            "--bearer-token-env-var" if is_variable(value) => {
                let token = format!("Bearer ${{{value}}}");
                self.put_inside("headers", "Authorization", token);
            }
            "--bearer-token-env-var" => return Err(needs("the name of a variable")),
            "--client-id" | "--oauth-client-id" => self.put_inside("oauth", "client_id", value),
            "--oauth-client-secret" => self.put_inside("oauth", "client_secret", value),
            "--oauth-redirect-uri" => self.put_inside("oauth", "redirect_uri", value),
            "--oauth-scopes" => self.put_inside("oauth", "scopes", list(value)),
            "--callback-port" => {
                let port: u16 = value.parse().map_err(|_| needs("a port"))?;
                let address = format!("http://localhost:{port}/callback");
                self.put_inside("oauth", "redirect_uri", address);
            }
            "--url" => self.put_key("url", value),
            "--cwd" => self.put_key("cwd", value),
            "--tools" if value == "*" => (),
            "--tools" | "--include-tools" => self.put_tools("enabled_tools", value),
            "--exclude-tools" => self.put_tools("disabled_tools", value),
            // The others are for their client alone, or are found out when the server is reached.
            _ => (),
        }
        Ok(())
    }

    fn put_key(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }

    /// Tools beside those of the same option before it.
    fn put_tools(&mut self, key: &str, names: &str) {
        let tools = self.0.entry(key).or_insert_with(|| json!([]));
        if let Some(tools) = tools.as_array_mut() {
            tools.extend(list(names).into_iter().map(Value::from));
        }
    }

    fn put_inside(&mut self, key: &str, inner: &str, value: impl Into<Value>) {
        let members = self.0.entry(key).or_insert_with(|| json!({}));
        if let Some(members) = members.as_object_mut() {
            members.insert(inner.to_owned(), value.into());
        }
    }
}

fn list(value: &str) -> Vec<&str> {
    value.split(',').map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{LineServer, added};
    use crate::clients::{fault::FileFault, line_words::words_of};

    fn server_of(line: &str) -> Result<LineServer, FileFault> {
        let words = words_of(line).expect("words");
        added(&words).expect("a command that adds")
    }

    #[track_caller]
    fn check(line: &str, name: &str, entry: &Value) {
        let found = server_of(line).unwrap_or_else(|fault| panic!("{line}: {fault}"));
        assert_eq!(found.name.as_deref(), Some(name), "{line}");
        assert_eq!(&found.entry, entry, "{line}");
    }

    #[test]
    fn commands_that_add_to_a_client_name_their_server() {
        let started = json!({ "command": "npx", "args": ["-y", "x"], "env": { "A": "1" } });
        for line in [
            "claude mcp add -s user --env A=1 x -- npx -y x",
            "claude mcp add x -e A=1 -- npx -y x",
            "codex mcp add x --env A=1 -- npx -y x",
            "gemini mcp add -e A=1 x npx -y x",
            "qwen mcp add --trust -eA=1 x npx -y x",
            "copilot mcp add x --tools '*' --env A=1 -- npx -y x",
            "amp mcp add --workspace --env A=1 x -- npx -y x",
            "mcpproxy upstream add x --env=A=1 --secrets keyring -- npx -y x",
        ] {
            check(line, "x", &started);
        }
        let whole = json!({ "command": "npx -y x", "env": { "A": "1" } });
        check("droid mcp add x 'npx -y x' --env A=1", "x", &whole);
        let two = json!({ "command": "npx", "args": [], "env": { "A": "1", "B": "2" } });
        check("claude mcp add -e A=1 B=2 -- x npx", "x", &two);
        check("claude mcp add x -e A=1 B=2 -- npx", "x", &two);
        let own = json!({ "command": "npx", "args": ["y"], "cwd": "/d", "quarantined": true, "enabled": false });
        check(
            "mcpproxy upstream add x --cwd /d --quarantined --disabled -- npx y",
            "x",
            &own,
        );
    }

    #[test]
    fn remote_servers_keep_their_headers_and_login() {
        let remote = json!({ "url": "https://h/mcp", "headers": { "Authorization": "Bearer t" } });
        for line in [
            "claude mcp add --transport http x https://h/mcp --header \"Authorization: Bearer t\"",
            "claude mcp add -t http -H 'Authorization: Bearer t' x https://h/mcp",
            "droid mcp add x https://h/mcp --type http --header 'Authorization: Bearer t'",
            "amp mcp add x --header 'Authorization=Bearer t' https://h/mcp",
        ] {
            check(line, "x", &remote);
        }
        let named =
            json!({ "url": "https://h/mcp", "headers": { "Authorization": "Bearer ${T}" } });
        for line in [
            "codex mcp add x --url https://h/mcp --bearer-token-env-var T",
            "codex mcp add --bearer-token-env-var=T --url https://h/mcp x",
        ] {
            check(line, "x", &named);
        }
        let both = json!({ "url": "https://h/mcp", "headers": { "A": "1", "B": "2" } });
        check("claude mcp add x https://h/mcp -H A:1 'B: 2'", "x", &both);
        let login = json!({
            "url": "https://h/mcp",
            "oauth": {
                "client_id": "ID",
                "client_secret": "<CLIENT_SECRET>",
                "redirect_uri": "http://localhost:8080/callback",
            },
        });
        for line in [
            "claude mcp add --transport http --client-id ID --client-secret --callback-port 8080 x https://h/mcp",
            "claude mcp add x https://h/mcp --client-id ID --client-secret --callback-port 8080",
        ] {
            check(line, "x", &login);
        }
        let tools = json!({ "url": "https://h/mcp", "enabled_tools": ["a", "b"] });
        for line in [
            "gemini mcp add x https://h/mcp --include-tools a,b",
            "gemini mcp add x https://h/mcp --include-tools a --include-tools=b",
        ] {
            check(line, "x", &tools);
        }
        let plain = json!({ "url": "https://h/mcp" });
        check(
            "mcpproxy upstream add x --url https://h/mcp --disabled=false",
            "x",
            &plain,
        );
    }

    #[test]
    fn an_entry_in_json_may_come_with_options() {
        let plain = json!({ "command": "npx" });
        for line in [
            r#"claude mcp add-json x '{"command":"npx"}'"#,
            r#"claude mcp add-json -s user x '{"command":"npx"}'"#,
            r#"claude mcp add-json x '{"command":"npx"}' --scope project"#,
        ] {
            check(line, "x", &plain);
        }
        let login =
            json!({ "url": "u", "oauth": { "clientId": "i", "client_secret": "<CLIENT_SECRET>" } });
        check(
            r#"claude mcp add-json x '{"url":"u","oauth":{"clientId":"i"}}' --client-secret"#,
            "x",
            &login,
        );
        assert!(server_of("claude mcp add-json x").is_err());
        assert!(server_of("claude mcp add-json x '{'").is_err());
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
            check(line, "gh", &docker);
        }
    }

    #[test]
    fn what_cannot_be_read_is_named_and_no_value_is_shown() {
        for (line, expected) in [
            (
                "claude mcp add --new-id ID x https://h",
                "unknown option `--new-id`",
            ),
            (
                "claude mcp add --new-id=s3cret x https://h",
                "unknown option `--new-id`",
            ),
            ("claude mcp add x https://h -ks3cret", "unknown option `-k`"),
            ("codex mcp add x --cwd /d -- npx", "unknown option `--cwd`"),
            (
                "mcpproxy upstream add --json '{}'",
                "unknown option `--json`",
            ),
            ("claude mcp add x -e", "`-e` has no value"),
            ("claude mcp add x -e s3cret -- npx", "`-e` needs KEY=VALUE"),
            (
                "claude mcp add x https://h -H s3cret",
                "`-H` needs \"NAME: VALUE\"",
            ),
            (
                "codex mcp add x --url u --bearer-token-env-var s3-cret",
                "needs the name of a variable",
            ),
            (
                "claude mcp add x https://h --callback-port s3cret",
                "needs a port",
            ),
            (
                "claude mcp add x https://h -H Authorization: Bearer s3cret",
                "a word follows",
            ),
            ("codex mcp add x --url u s3cret", "a word follows"),
            ("claude mcp add x", "the command ends before"),
            ("claude mcp add x --", "the command ends before"),
            ("claude mcp add -- x", "the command ends before"),
            ("claude mcp add", "the command ends before"),
        ] {
            let fault = server_of(line).err().expect(line).to_string();
            assert!(fault.contains(expected), "{line}: {fault}");
            assert!(!fault.contains("s3cret"), "{line}: {fault}");
        }
    }
}
