//! Commands that add a server to a client: `claude mcp add NAME -- …`. What their options say of the server becomes its entry, written as
//! ours are. Pure.

use std::slice;

use serde_json::{Value, json};

use super::{
    fault::FileFault,
    line_words::words_of_whole,
    our_text::is_variable,
    servers::{is_address, is_entry},
};
use crate::config;

/// The programs with such a command, beside ours.
const PROGRAMS: [&str; 7] = [
    "claude", "codex", "gemini", "qwen", "copilot", "amp", "droid",
];

/// What an option says of the server. A key inside a map of the entry is written with a dot: `oauth.client_id`.
#[derive(Clone, Copy)]
enum Meaning {
    /// It has no value, and does this to the entry.
    Flag(fn(&mut Value)),
    /// It has a value, which is for the client alone, or is found out when the server is reached.
    Ignored,
    /// Its value is that of this key.
    Text(&'static str),
    /// Its value has commas between the items of this list, and adds to those before it.
    List(&'static str),
    /// `KEY=VALUE`, once or several times.
    Variables,
    /// `NAME: VALUE`, once or several times.
    Headers,
    /// The variable with the token that is sent.
    TokenVariable,
    /// The port of this machine at which a login ends.
    CallbackPort,
}

use Meaning::{CallbackPort, Flag, Headers, Ignored, List, Text, TokenVariable, Variables};

/// The meaning of an option; nothing where it is unknown, so that the word behind it may be its value or not.
fn meaning(program: &str, option: &str) -> Option<Meaning> {
    Some(match option {
        "-e" | "--env" => Variables,
        "-H" | "--header" => Headers,
        "--url" => Text("url"),
        "--cwd" if program == "mcpproxy" => Text("cwd"),
        "--disabled" => Flag(|entry| entry["enabled"] = false.into()),
        "--quarantined" => Flag(|entry| entry["quarantined"] = true.into()),
        "--tools" | "--include-tools" => List("enabled_tools"),
        "--exclude-tools" => List("disabled_tools"),
        "--client-id" | "--oauth-client-id" => Text("oauth.client_id"),
        // Its client prompts for it.
        "--client-secret" => {
            Flag(|entry| entry["oauth"]["client_secret"] = "<CLIENT_SECRET>".into())
        }
        "--oauth-client-secret" => Text("oauth.client_secret"),
        "--callback-port" => CallbackPort,
        "--oauth-redirect-uri" => Text("oauth.redirect_uri"),
        "--oauth-scopes" => List("oauth.scopes"),
        // The rest of a login is found out when the server is reached.
        _ if option.starts_with("--oauth-") => Ignored,
        "--bearer-token-env-var" => TokenVariable,
        "--json" if program == "copilot" => Flag(|_| ()),
        "--check" | "--debug" | "--no-oauth" | "--no-trust" | "--quiet" | "--trust"
        | "--verbose" | "--workspace" | "--xaa" | "-d" | "-q" | "-v" => Flag(|_| ()),
        "--config" | "--config-dir" | "--data-dir" | "--description" | "--disable" | "--enable"
        | "--output" | "--scope" | "--secrets" | "--timeout" | "--transport" | "--type" | "-c"
        | "-o" | "-s" | "-t" => Ignored,
        _ => return None,
    })
}

/// The entry of the server that these words add, with its name in it; nothing where they are no such command.
pub(super) fn added(words: &[String]) -> Option<Result<Value, FileFault>> {
    let [program, noun, verb, words @ ..] = words else {
        return None;
    };
    let is_such = match program.as_str() {
        "mcpproxy" => noun == "upstream",
        program => noun == "mcp" && PROGRAMS.contains(&program),
    };
    if !is_such {
        return None;
    }
    let command = AddCommand {
        program,
        words: words.iter(),
        options: json!({}),
    };
    match verb.as_str() {
        "add" => Some(command.add()),
        "add-json" => Some(command.add_json()),
        _ => None,
    }
}

const UNFINISHED: &str = "the command ends before the server's command or URL";

fn stray() -> FileFault {
    let problem = "a word follows the server's URL";
    FileFault::with_step(problem, "remove it, or quote it with the word before")
}

/// Such a command while its words are read.
struct AddCommand<'a> {
    program: &'a str,
    /// The words that were not read yet.
    words: slice::Iter<'a, String>,
    /// What its options say: keys of the entry.
    options: Value,
}

impl<'a> AddCommand<'a> {
    /// What stands behind `add`: options and a name, then an address with more options, or the words of a command, which are all its own.
    fn add(mut self) -> Result<Value, FileFault> {
        let mut name = None;
        let target = loop {
            match self.words.next() {
                None => break None,
                Some(word) if word == "--" => {
                    name = name.or_else(|| self.words.next());
                    break self.words.next();
                }
                Some(word) if word.starts_with('-') => self.option(word)?,
                Some(word) if name.is_none() => name = Some(word),
                target => break target,
            }
        };
        let has_url = self.options.get("url").is_some();
        let mut entry = match target {
            None if has_url => json!({}),
            None => return Err(FileFault::new(UNFINISHED)),
            Some(_) if has_url => return Err(stray()),
            // Behind a command in one string, as Droid takes it, stand options, too.
            Some(whole) if is_address(whole) || words_of_whole(whole).is_some() => {
                while let Some(word) = self.words.next() {
                    self.option(word)?;
                }
                let key = if is_address(whole) { "url" } else { "command" };
                json!({ key: whole })
            }
            Some(program) => json!({ "command": program, "args": self.words.as_slice() }),
        };
        let name = name.ok_or_else(|| FileFault::new(UNFINISHED))?;
        self.put_into(&mut entry);
        Ok(named(entry, Some(name)))
    }

    /// What stands behind `add-json`: options, a name and the entry.
    fn add_json(mut self) -> Result<Value, FileFault> {
        let mut plain = Vec::new();
        while let Some(word) = self.words.next() {
            if word.starts_with('-') {
                self.option(word)?;
            } else {
                plain.push(word);
            }
        }
        let [name, json] = plain[..] else {
            return Err(FileFault::new(UNFINISHED));
        };
        let mut entry = config::json_of(json)?;
        if !entry.is_object() {
            return Err(FileFault::new("the server's JSON is not an object"));
        }
        self.put_into(&mut entry);
        Ok(named(entry, Some(name)))
    }

    /// Adds what the options say to an entry.
    fn put_into(self, entry: &mut Value) {
        let Value::Object(options) = self.options else {
            return;
        };
        for (key, value) in options {
            match (&mut entry[&key], value) {
                (Value::Object(inside), Value::Object(more)) => inside.extend(more),
                (slot, value) => *slot = value,
            }
        }
    }

    /// Reads an option with its value, which may be the next word, and with more of them where it has several.
    fn option(&mut self, word: &'a str) -> Result<(), FileFault> {
        if !word.starts_with('-') {
            return Err(stray());
        }
        let (option, joined) = parted(word);
        let unknown = || {
            let problem = format!("unknown option `{option}`");
            FileFault::with_step(problem, "remove it unless the server needs it")
        };
        let meaning = meaning(self.program, option).ok_or_else(unknown)?;
        if let Flag(put) = meaning {
            // `--trust=false` is as good as none.
            if joined != Some("false") {
                put(&mut self.options);
            }
            return Ok(());
        }
        let value = joined.or_else(|| self.words.next().map(String::as_str));
        let value = value.ok_or_else(|| FileFault::new(format!("`{option}` has no value")))?;
        self.take(option, meaning, value)?;
        let is_one_more: fn(&str) -> bool = match meaning {
            Variables => is_assignment,
            Headers => is_header,
            _ => |_| false,
        };
        while let Some(value) = self.words.as_slice().first()
            && is_one_more(value)
        {
            self.words.next();
            self.take(option, meaning, value)?;
        }
        Ok(())
    }

    fn take(&mut self, option: &str, meaning: Meaning, value: &str) -> Result<(), FileFault> {
        let needs = |what: &str| FileFault::new(format!("`{option}` needs {what}"));
        match meaning {
            Text(key) => *self.slot(key) = value.into(),
            // All tools, as without the option.
            List("enabled_tools") if value == "*" => (),
            List(key) => {
                let items = value.split(',').map(|item| Value::from(item.trim()));
                match self.slot(key) {
                    Value::Array(list) => list.extend(items),
                    slot => *slot = items.collect(),
                }
            }
            Variables => {
                let (name, value) = pair(value, &['=']).ok_or_else(|| needs("KEY=VALUE"))?;
                self.options["env"][name] = value;
            }
            Headers => {
                let pair = pair(value, &[':', '=']);
                let (name, value) = pair.ok_or_else(|| needs("\"NAME: VALUE\""))?;
                self.options["headers"][name] = value;
            }
            TokenVariable if is_variable(value) => {
                let token = format!("Bearer ${{{value}}}");
                *self.slot("headers.Authorization") = token.into();
            }
            TokenVariable => return Err(needs("the name of a variable")),
            CallbackPort => {
                let port: u16 = value.parse().map_err(|_| needs("a port"))?;
                let address = format!("http://localhost:{port}/callback");
                *self.slot("oauth.redirect_uri") = address.into();
            }
            Flag(_) | Ignored => (),
        }
        Ok(())
    }

    /// Where the value of a key stands; null where there is none yet.
    fn slot(&mut self, key: &str) -> &mut Value {
        let keys = key.split('.');
        keys.fold(&mut self.options, |value, key| &mut value[key])
    }
}

/// An entry with this name in it.
pub(super) fn named(mut entry: Value, name: Option<&str>) -> Value {
    if let Some(name) = name.filter(|_| is_entry(&entry)) {
        entry["name"] = name.into();
    }
    entry
}

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

/// Whether it gives a variable its value: `KEY=value`.
pub(super) fn is_assignment(word: &str) -> bool {
    word.split_once('=')
        .is_some_and(|(name, _)| is_variable(name))
}

fn is_header(word: &str) -> bool {
    word.contains(':') && !word.starts_with('-') && !is_address(word)
}

/// A key and its value, with the first of these letters between them.
pub(super) fn pair(word: &str, between: &[char]) -> Option<(String, Value)> {
    let (key, value) = word.split_once(between)?;
    let key = key.trim();
    (!key.is_empty()).then(|| (key.to_owned(), value.trim().into()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{added, is_assignment};
    use crate::clients::{fault::FileFault, line_words::words_of};

    fn server_of(line: &str) -> Result<Value, FileFault> {
        let words = words_of(line).expect("words");
        added(&words).expect("a command that adds")
    }

    #[track_caller]
    fn check(line: &str, name: &str, entry: &Value) {
        let found = server_of(line).unwrap_or_else(|fault| panic!("{line}: {fault}"));
        let mut expected = entry.clone();
        expected["name"] = json!(name);
        assert_eq!(found, expected, "{line}");
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
        let none = json!({
            "url": "https://h/mcp", "disabled_tools": ["*"], "oauth": { "scopes": ["*"] },
        });
        check(
            "gemini mcp add --exclude-tools '*' --oauth-scopes '*' x https://h/mcp",
            "x",
            &none,
        );
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
            let fault = server_of(line).expect_err(line).to_string();
            assert!(fault.contains(expected), "{line}: {fault}");
            assert!(!fault.contains("s3cret"), "{line}: {fault}");
        }
    }

    #[test]
    fn a_variable_is_named_as_in_a_shell() {
        for (word, expected) in [
            ("_X1=a=b", true),
            ("1X=a", false),
            ("=a", false),
            ("X", false),
        ] {
            assert_eq!(is_assignment(word), expected, "{word}");
        }
    }
}
