//! The entry that leads a client to us, as its file wants it. Pure.

use serde_json::{Map, Value, json};

use super::{
    client::Client,
    line_words::is_among,
    sent_token::{SentToken, TOKEN_VARIABLE},
    servers::URLS,
    table::TokenPlace,
};

/// How a client is to reach us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ConnectTarget {
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
        /// The token for its variable: other users can read the arguments of a process.
        token: Option<String>,
    },
}

/// What an entry that leads to us has beside its name.
#[derive(Default)]
pub(super) struct EntryTraits {
    /// Its endpoint, where that is not `/mcp`.
    pub endpoint: Option<String>,
    /// Whether it starts a process.
    pub is_process: bool,
    /// The token that it sends.
    pub token: SentToken,
}

/// Keys that say what an entry leads to, beside its address: an entry that is changed keeps all others.
const TARGET_KEYS: &str = "type command cmd args source";

/// Keys of what an entry sends to an address.
const SENT_KEYS: &str = "headers http_headers bearer_token_env_var";

/// Keys whose value in an entry that is there already is a person's choice.
const PREFERENCES: [&str; 3] = ["alwaysLoad", "tool_timeout_sec", "timeout"];

/// The entry; `present` is what stands there now.
pub(super) fn entry(
    client: Client,
    target: &ConnectTarget,
    name: &str,
    present: Option<&Map<String, Value>>,
) -> Map<String, Value> {
    let mut entry = made(client, target, name);
    for (key, value) in present.into_iter().flatten() {
        let is_kept = match target {
            ConnectTarget::Process { .. } if is_among(key, SENT_KEYS) => false,
            _ => !is_among(key, TARGET_KEYS) && !URLS.contains(&key.as_str()),
        };
        let is_chosen = PREFERENCES.contains(&key.as_str());
        if let (Some(Value::Object(made)), Value::Object(theirs)) = (entry.get_mut(key), value) {
            // Our token comes beside their headers or variables.
            for (name, value) in theirs {
                made.entry(name).or_insert_with(|| value.clone());
            }
        } else if is_chosen || is_kept && !entry.contains_key(key) {
            entry.insert(key.clone(), value.clone());
        }
    }
    entry
}

fn made(client: Client, target: &ConnectTarget, name: &str) -> Map<String, Value> {
    let Some(shape) = &client.0.entry else {
        return Map::new();
    };
    let (kind, keys) = match target {
        ConnectTarget::Http { url, .. } => (shape.http_type, vec![(shape.url, json!(url))]),
        ConnectTarget::Process { command, args, .. } if shape.is_one_list => {
            let words: Vec<&String> = [command].into_iter().chain(args).collect();
            (shape.process_type, vec![(shape.command, json!(words))])
        }
        ConnectTarget::Process { command, args, .. } => {
            let keys = vec![(shape.command, json!(command)), ("args", json!(args))];
            (shape.process_type, keys)
        }
    };
    let kind = kind.map(|kind| ("type", json!(kind)));
    let keys = kind.into_iter().chain(keys);
    let keys = keys.map(|(key, value)| (key.to_owned(), value));
    let mut entry: Map<String, Value> = keys.collect();
    if let Value::Object(more) = (shape.more)(name) {
        entry.extend(more);
    }
    let (ConnectTarget::Http { token, .. } | ConnectTarget::Process { token, .. }) = target;
    let Some(token) = token else {
        return entry;
    };
    let (key, value) = match (target, &shape.token) {
        (ConnectTarget::Process { .. }, _) => (shape.env, json!({ TOKEN_VARIABLE: token })),
        (_, TokenPlace::Nowhere) => return entry,
        (_, TokenPlace::Key(key)) => (*key, json!(token)),
        (_, TokenPlace::Header(reference)) => {
            let bearer = format!("Bearer {}", reference.replace("NAME", token));
            ("headers", json!({ "Authorization": bearer }))
        }
    };
    entry.insert(key.to_owned(), value);
    entry
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Client, ConnectTarget, entry};

    fn client(word: &str) -> Client {
        Client::from_word(word).expect("a client")
    }

    #[test]
    fn every_client_gets_the_entry_that_it_understands() {
        let http = ConnectTarget::Http {
            url: "u".to_owned(),
            token: Some("T".to_owned()),
        };
        let process = ConnectTarget::Process {
            command: "/m".to_owned(),
            args: vec!["stdio".to_owned()],
            token: None,
        };
        let bearer = |reference: &str| json!({ "Authorization": format!("Bearer {reference}") });
        for (word, target, expected) in [
            (
                "claude-code",
                &http,
                json!({ "type": "http", "url": "u", "alwaysLoad": true, "headers": bearer("${T}") }),
            ),
            (
                "cursor",
                &http,
                json!({ "url": "u", "headers": bearer("${env:T}") }),
            ),
            (
                "vscode",
                &http,
                json!({ "type": "http", "url": "u", "headers": bearer("${env:T}") }),
            ),
            (
                "windsurf",
                &http,
                json!({ "serverUrl": "u", "headers": bearer("${env:T}") }),
            ),
            (
                "codex",
                &http,
                json!({ "url": "u", "bearer_token_env_var": "T", "tool_timeout_sec": 300 }),
            ),
            (
                "gemini-cli",
                &http,
                json!({ "httpUrl": "u", "headers": bearer("${T}") }),
            ),
            ("zed", &http, json!({ "url": "u" })),
            (
                "opencode",
                &http,
                json!({ "type": "remote", "url": "u", "enabled": true, "headers": bearer("{env:T}") }),
            ),
            (
                "claude-desktop",
                &process,
                json!({ "command": "/m", "args": ["stdio"] }),
            ),
            (
                "opencode",
                &process,
                json!({ "type": "local", "command": ["/m", "stdio"], "enabled": true }),
            ),
            (
                "goose",
                &process,
                json!({ "type": "stdio", "cmd": "/m", "args": ["stdio"], "enabled": true, "name": "us", "description": "", "timeout": 300 }),
            ),
        ] {
            let made = entry(client(word), target, "us", None);
            assert_eq!(json!(made), expected, "{word}");
        }
    }

    #[test]
    fn what_a_person_added_to_an_entry_of_ours_stays() {
        let http = ConnectTarget::Http {
            url: "new".to_owned(),
            token: None,
        };
        let present =
            json!({ "url": "old", "alwaysLoad": false, "headers": { "X": "y" }, "args": ["x"] });
        let made = entry(client("claude-code"), &http, "us", present.as_object());
        assert_eq!(
            json!(made),
            json!({ "type": "http", "url": "new", "alwaysLoad": false, "headers": { "X": "y" } })
        );
        let token = Some("T".to_owned());
        let http = ConnectTarget::Http {
            url: "new".to_owned(),
            token,
        };
        let made = entry(client("cursor"), &http, "us", present.as_object());
        let both = json!({ "Authorization": "Bearer ${env:T}", "X": "y" });
        assert_eq!(made["headers"], both);
        let process = ConnectTarget::Process {
            command: "/m".to_owned(),
            args: Vec::new(),
            token: Some("t".to_owned()),
        };
        for (word, key) in [
            ("cursor", "env"),
            ("goose", "envs"),
            ("opencode", "environment"),
        ] {
            let present = json!({ key: { "MCPPROXY_TOKEN": "old", "X": "y" } });
            let made = entry(client(word), &process, "us", present.as_object());
            assert_eq!(made[key], json!({ "MCPPROXY_TOKEN": "t", "X": "y" }));
        }
    }
}
