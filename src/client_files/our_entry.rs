//! The entry that leads a client to us, as its file wants it. Pure.

use serde_json::{Map, Value, json};

use super::clients::Client;

/// How a client is to reach us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectTarget {
    /// At an address.
    Http {
        /// The address.
        url: String,
        /// The variable of the client's environment that has its token, where one is asked for.
        token: Option<String>,
    },
    /// By a program that the client starts.
    Process {
        /// The program, by its whole path.
        command: String,
        /// Its arguments.
        args: Vec<String>,
    },
}

impl Client {
    /// Whether it connects to addresses on this machine.
    pub fn speaks_http(self) -> bool {
        self != Self::ClaudeDesktop
    }

    /// How a variable of its environment is referred to in a header; nothing where its file has no references.
    fn reference(self, variable: &str) -> Option<String> {
        match self {
            Self::ClaudeCode | Self::GeminiCli | Self::Goose => Some(format!("${{{variable}}}")),
            Self::Cursor | Self::VsCode | Self::Windsurf => Some(format!("${{env:{variable}}}")),
            Self::OpenCode => Some(format!("{{env:{variable}}}")),
            _ => None,
        }
    }

    /// Whether a token can be named in its file without standing there.
    pub fn refers_to_variables(self) -> bool {
        self == Self::Codex || self.reference("X").is_some()
    }

    /// The keys under which its servers stand in such a file.
    pub(super) fn list_keys(self, root: &Value) -> Vec<String> {
        let keys: &[&str] = match self {
            Self::VsCode | Self::Magg => &["servers"],
            Self::Codex => &["mcp_servers"],
            Self::Zed => &["context_servers"],
            Self::Goose => &["extensions"],
            Self::OpenCode => {
                let inner = root.get("mcp").and_then(|mcp| mcp.get("servers"));
                let is_list =
                    inner.is_some_and(|inner| inner.is_object() && inner.get("type").is_none());
                if is_list {
                    &["mcp", "servers"]
                } else {
                    &["mcp"]
                }
            }
            _ => &["mcpServers"],
        };
        keys.iter().map(|key| (*key).to_owned()).collect()
    }
}

/// Keys that say what an entry leads to: an entry that is changed keeps all others.
const TARGET_KEYS: [&str; 11] = [
    "type",
    "url",
    "serverUrl",
    "httpUrl",
    "uri",
    "command",
    "cmd",
    "args",
    "headers",
    "bearer_token_env_var",
    "source",
];

/// Keys whose value in an entry that is there already is a person's choice.
const PREFERENCES: [&str; 3] = ["alwaysLoad", "tool_timeout_sec", "timeout"];

/// How long a client may wait for a call, in seconds, where it gives up sooner by itself: the first start of a server that is downloaded
/// takes minutes, and it is part of the call.
const CALL_SECS: u64 = 300;

/// The entry; `present` is what stands there now.
pub(super) fn entry(
    client: Client,
    target: &ConnectTarget,
    name: &str,
    present: Option<&Map<String, Value>>,
) -> Map<String, Value> {
    let mut entry = match target {
        ConnectTarget::Http { url, token } => http(client, url, token.as_deref(), name),
        ConnectTarget::Process { command, args } => process(client, command, args, name),
    };
    for (key, value) in present.into_iter().flatten() {
        let is_kept = !TARGET_KEYS.contains(&key.as_str());
        // A token that somebody wrote there is theirs.
        let is_their_header = key == "headers" && !entry.contains_key("command");
        let is_chosen = PREFERENCES.contains(&key.as_str());
        if is_chosen || (is_kept || is_their_header) && !entry.contains_key(key) {
            entry.insert(key.clone(), value.clone());
        }
    }
    entry
}

fn http(client: Client, url: &str, token: Option<&str>, name: &str) -> Map<String, Value> {
    let entry = match client {
        // Our tools are few, and lead to all others: a client that looks tools up before it has them would look twice.
        Client::ClaudeCode => json!({ "type": "http", "url": url, "alwaysLoad": true }),
        Client::VsCode => json!({ "type": "http", "url": url }),
        Client::Codex => json!({ "url": url, "tool_timeout_sec": CALL_SECS }),
        Client::Windsurf => json!({ "serverUrl": url }),
        Client::GeminiCli => json!({ "httpUrl": url }),
        Client::OpenCode => json!({ "type": "remote", "url": url, "enabled": true }),
        Client::Goose => json!({
            "enabled": true, "type": "streamable_http", "name": name, "description": "", "uri": url, "timeout": CALL_SECS,
        }),
        _ => json!({ "url": url }),
    };
    let Value::Object(mut entry) = entry else {
        return Map::new();
    };
    if let Some(token) = token {
        if client == Client::Codex {
            entry.insert("bearer_token_env_var".to_owned(), json!(token));
        } else if let Some(reference) = client.reference(token) {
            let headers = json!({ "Authorization": format!("Bearer {reference}") });
            entry.insert("headers".to_owned(), headers);
        }
    }
    entry
}

fn process(client: Client, command: &str, args: &[String], name: &str) -> Map<String, Value> {
    let entry = match client {
        Client::VsCode => json!({ "type": "stdio", "command": command, "args": args }),
        Client::ClaudeCode => json!({ "command": command, "args": args, "alwaysLoad": true }),
        Client::Codex => {
            json!({ "command": command, "args": args, "tool_timeout_sec": CALL_SECS })
        }
        Client::OpenCode => {
            let words: Vec<&str> = [command]
                .into_iter()
                .chain(args.iter().map(String::as_str))
                .collect();
            json!({ "type": "local", "command": words, "enabled": true })
        }
        Client::Goose => json!({
            "enabled": true, "type": "stdio", "name": name, "description": "", "cmd": command, "args": args, "timeout": CALL_SECS,
        }),
        _ => json!({ "command": command, "args": args }),
    };
    entry.as_object().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Client, ConnectTarget, entry};

    #[test]
    fn every_client_gets_the_entry_that_it_understands() {
        let http = ConnectTarget::Http {
            url: "u".to_owned(),
            token: Some("T".to_owned()),
        };
        let check = |client: Client, expected: Value| {
            let made = Value::Object(entry(client, &http, "us", None));
            assert_eq!(made, expected, "{client:?}");
        };
        check(
            Client::ClaudeCode,
            json!({ "type": "http", "url": "u", "alwaysLoad": true, "headers": { "Authorization": "Bearer ${T}" } }),
        );
        check(
            Client::Cursor,
            json!({ "url": "u", "headers": { "Authorization": "Bearer ${env:T}" } }),
        );
        check(
            Client::VsCode,
            json!({ "type": "http", "url": "u", "headers": { "Authorization": "Bearer ${env:T}" } }),
        );
        check(
            Client::Windsurf,
            json!({ "serverUrl": "u", "headers": { "Authorization": "Bearer ${env:T}" } }),
        );
        check(
            Client::Codex,
            json!({ "url": "u", "bearer_token_env_var": "T", "tool_timeout_sec": 300 }),
        );
        check(
            Client::GeminiCli,
            json!({ "httpUrl": "u", "headers": { "Authorization": "Bearer ${T}" } }),
        );
        check(Client::Zed, json!({ "url": "u" }));
        check(
            Client::OpenCode,
            json!({ "type": "remote", "url": "u", "enabled": true, "headers": { "Authorization": "Bearer {env:T}" } }),
        );
        let process = ConnectTarget::Process {
            command: "/m".to_owned(),
            args: vec!["stdio".to_owned()],
        };
        let made = |client| Value::Object(entry(client, &process, "us", None));
        assert_eq!(
            made(Client::ClaudeDesktop),
            json!({ "command": "/m", "args": ["stdio"] })
        );
        assert_eq!(made(Client::OpenCode)["command"], json!(["/m", "stdio"]));
        assert_eq!(made(Client::Goose)["cmd"], "/m");
    }

    #[test]
    fn what_a_person_added_to_an_entry_of_ours_stays() {
        let http = ConnectTarget::Http {
            url: "new".to_owned(),
            token: None,
        };
        let present =
            json!({ "url": "old", "alwaysLoad": false, "headers": { "X": "y" }, "args": ["x"] });
        let made = entry(Client::ClaudeCode, &http, "us", present.as_object());
        assert_eq!(
            Value::Object(made),
            json!({ "type": "http", "url": "new", "alwaysLoad": false, "headers": { "X": "y" } })
        );
    }
}
