//! A file of a client, and what is read out of it.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read},
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};

use super::{
    clients::Client,
    entries::{self, ClientServer},
    fault::FileFault,
    formats::FileFormat,
    scope::Scope,
};

/// Limit: Claude Code keeps its history in the same file.
const LARGEST: u64 = 64 << 20;

/// A file that a client may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFile {
    /// Whose it is; nothing where only what stands in it can tell.
    pub client: Option<Client>,
    /// Where it is.
    pub path: PathBuf,
    /// What it is written in.
    pub format: FileFormat,
    /// Whom it is for.
    pub scope: Scope,
}

/// What stands in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundFile {
    /// Whose it is.
    pub client: Client,
    /// The servers in it.
    pub servers: Vec<ClientServer>,
    /// The paths of keys that stand twice among them; the last one counts.
    pub repeated: Vec<String>,
}

impl ClientFile {
    /// The project that it is for.
    pub fn project(&self) -> Option<&Path> {
        match &self.scope {
            Scope::User => None,
            Scope::Project(folder) => Some(folder),
        }
    }

    /// The servers in it; nothing where there is no such file.
    pub fn read(&self) -> Result<Option<FoundFile>, FileFault> {
        match self.text()? {
            Some(text) => self.servers_in(&text).map(Some),
            None => Ok(None),
        }
    }

    /// The servers in a text of this file.
    pub fn servers_in(&self, text: &str) -> Result<FoundFile, FileFault> {
        let root = self.format.read(text)?;
        let client = self.client.unwrap_or_else(|| guess(&root));
        let servers = entries::all(client, &root, &self.scope)?;
        let mut repeated = self.format.repeated(text)?;
        repeated.retain(|path| entries::is_of_servers(path));
        Ok(FoundFile {
            client,
            servers,
            repeated,
        })
    }

    /// Its text; nothing where there is no such file.
    pub fn text(&self) -> Result<Option<String>, FileFault> {
        match self.read_text() {
            Ok(text) => Ok(Some(text)),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(FileFault::new(error.to_string())),
        }
    }

    fn read_text(&self) -> io::Result<String> {
        let mut options = OpenOptions::new();
        options.read(true);
        // Opening a pipe would wait for its writer.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::custom_flags(
            &mut options,
            rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
        );
        let file: File = options.open(&self.path)?;
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        if found.len() > LARGEST {
            return Err(io::Error::other("it is larger than 64 MiB"));
        }
        let mut text = String::new();
        file.take(LARGEST).read_to_string(&mut text)?;
        Ok(text)
    }
}

/// Whether an error says that there is nothing at a path.
fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Whose a list is that many clients call `mcpServers`, by keys that only one of them has; else it is taken for a plain list.
fn guess_by_entries(list: &Value) -> Client {
    const OWN: [(Client, &[&str]); 3] = [
        (Client::Windsurf, &["serverUrl", "disabledTools"]),
        (
            Client::GeminiCli,
            &["httpUrl", "includeTools", "excludeTools", "trust"],
        ),
        (Client::Cursor, &["envFile"]),
    ];
    let entries = list.as_object().into_iter().flat_map(Map::values);
    let mut keys = entries.filter_map(Value::as_object).flat_map(Map::keys);
    let owner = keys.find_map(|key| OWN.iter().find(|(_, keys)| keys.contains(&key.as_str())));
    owner.map_or(Client::ServersJson, |(client, _)| *client)
}

/// Whose a JSON file of an unknown name is, by what stands in it.
fn guess(root: &Value) -> Client {
    let has = |key: &str| root.get(key).is_some();
    let is_magg = |entry: &Value| entry.get("source").is_some() || entry.get("uri").is_some();
    let servers = root.get("servers").and_then(Value::as_object);
    // OpenCode has a list there, too, with kinds of its own and no `args`.
    let below = root
        .get("mcp")
        .and_then(|mcp| mcp.get("servers")?.as_object());
    let is_of_vs_code = has("mcp.servers")
        || below.is_some_and(|servers| {
            servers.values().any(|entry| {
                entry.get("args").is_some() || entry.get("type").is_some_and(|kind| kind == "http")
            })
        });
    if root.get("mcpServers").is_some_and(Value::is_array) {
        Client::McpproxyGo
    } else if let Some(list) = root.get("mcpServers") {
        guess_by_entries(list)
    } else if has("context_servers") {
        Client::Zed
    } else if servers.is_some_and(|servers| servers.values().any(is_magg)) {
        Client::Magg
    } else if has("mcp") && !has("inputs") && !is_of_vs_code {
        Client::OpenCode
    } else if has("servers") || is_of_vs_code {
        Client::VsCode
    } else if has("mcp_servers") {
        Client::Codex
    } else if has("extensions") {
        Client::Goose
    } else {
        Client::ServersJson
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Client, guess};

    #[test]
    fn whose_a_file_is_shows_in_its_keys() {
        let check = |root: Value, expected: Client| assert_eq!(guess(&root), expected, "{root}");
        check(json!({ "mcpServers": [] }), Client::McpproxyGo);
        check(json!({ "mcpServers": {} }), Client::ServersJson);
        check(json!({ "context_servers": {} }), Client::Zed);
        check(
            json!({ "servers": { "a": { "command": "x" } } }),
            Client::VsCode,
        );
        check(
            json!({ "servers": { "a": { "source": "x" } } }),
            Client::Magg,
        );
        check(json!({ "mcp": {} }), Client::OpenCode);
        let listed = |entry: Value| json!({ "mcpServers": { "a": {}, "b": entry } });
        check(listed(json!({ "serverUrl": "x" })), Client::Windsurf);
        check(listed(json!({ "httpUrl": "x" })), Client::GeminiCli);
        check(
            listed(json!({ "url": "x", "trust": true })),
            Client::GeminiCli,
        );
        check(listed(json!({ "envFile": ".env" })), Client::Cursor);
        check(listed(json!({ "url": "x" })), Client::ServersJson);
        let below = |entry: Value| json!({ "mcp": { "servers": { "a": entry } } });
        check(below(json!({ "command": "x", "args": [] })), Client::VsCode);
        check(
            below(json!({ "type": "local", "command": ["x"] })),
            Client::OpenCode,
        );
        check(json!(7), Client::ServersJson);
    }
}
