//! The servers that a file names, as they are written there: each client has its key for them. What an entry means is for `convert` to say.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Map, Value};

use super::{client::Client, fault::FileFault, rows::CLIENTS};
use crate::config::LeadsTo;

/// A server as a client's file names it. Its entry may hold secrets.
#[derive(Clone, PartialEq, Default)]
pub struct ClientServer {
    /// Its name there.
    pub name: String,
    /// The project it is for; nothing where it is for the person.
    pub project: Option<PathBuf>,
    /// The keys that lead to the list that it is in.
    pub(super) list: Vec<String>,
    /// What stands under its name.
    pub entry: Value,
    /// What the file asks the person for, by id.
    pub(super) inputs: Arc<Map<String, Value>>,
}

impl fmt::Debug for ClientServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientServer")
            .field("name", &self.name)
            .field("project", &self.project)
            .finish_non_exhaustive()
    }
}

/// The keys under which clients write the address of a server; where there are several, the first counts.
pub(super) const URLS: [&str; 4] = ["httpUrl", "url", "serverUrl", "uri"];

/// Whether a value is an entry: it has a program or an address.
pub(super) fn is_entry(value: &Value) -> bool {
    let mut keys = ["command", "cmd"].iter().chain(&URLS);
    keys.any(|key| value.get(key).is_some())
}

/// The program of an entry and its arguments: they stand in one list, in a map, or under a key each.
pub(super) fn program(entry: &Map<String, Value>) -> Option<(&Value, Vec<&Value>)> {
    let mut named = ["command", "cmd"].iter().filter_map(|key| entry.get(*key));
    let command = named.find(|command| !command.is_null())?;
    let beside = items(entry.get("args"));
    Some(match command {
        Value::Array(words) => {
            let args = words.iter().skip(1).chain(beside);
            (words.first()?, args.collect())
        }
        Value::Object(inside) => (inside.get("path")?, items(inside.get("args")).collect()),
        word => (word, beside.collect()),
    })
}

fn items(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    list.and_then(Value::as_array).into_iter().flatten()
}

/// Whether a text is the address of a remote server.
pub(super) fn is_address(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

impl ClientServer {
    /// One of this name with an empty entry.
    pub(super) fn written(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// Its address, as it is written.
    pub fn url(&self) -> Option<&str> {
        URLS.iter().find_map(|key| self.text(key))
    }

    /// Its program, as it is written.
    pub fn command(&self) -> Option<&str> {
        program(self.entry.as_object()?)?.0.as_str()
    }

    /// Its program, where that is given by its whole path and is not there.
    pub fn missing_program(&self) -> Option<&str> {
        let command = self.command()?;
        let path = Path::new(command);
        (path.is_absolute() && !path.exists()).then_some(command)
    }

    /// What it leads to.
    pub(super) fn leads_to(&self) -> LeadsTo<'_> {
        LeadsTo {
            url: self.url(),
            command: self.command(),
            args: self.args(),
            env: Vec::new(),
        }
    }

    /// Whether it starts a program that brings it to the address of a server.
    pub(super) fn is_bridged(&self) -> bool {
        self.command().is_some() && self.leads_to().address().is_some()
    }

    /// The arguments of its program, as they are written.
    pub fn args(&self) -> Vec<&str> {
        let program = self.entry.as_object().and_then(program);
        let args = program.into_iter().flat_map(|(_, args)| args);
        args.filter_map(Value::as_str).collect()
    }

    /// The text under a key.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.entry.get(key)?.as_str()
    }
}

/// All servers of a file, which may be of a project, in its order.
pub(super) fn all(
    client: Client,
    root: &Value,
    project: Option<&Path>,
) -> Result<Vec<ClientServer>, FileFault> {
    if root.is_null() {
        return Ok(Vec::new());
    }
    if !root.is_object() {
        return Err(FileFault::new("its top level is not an object"));
    }
    let mut servers = Vec::new();
    for path in client.lists_in(root) {
        let Some((key, above)) = path.split_last() else {
            continue;
        };
        let beside = above.iter().try_fold(root, |value, key| value.get(key));
        // What a file asks for stands beside its list: of old under a name with a dot, too.
        let inputs = key
            .rsplit_once('.')
            .map(|(above, _)| format!("{above}.inputs"));
        let inputs = beside.and_then(|beside| beside.get(inputs.as_deref().unwrap_or("inputs")));
        if let Some(list) = beside.and_then(|beside| beside.get(key)) {
            servers.extend(of_list(list, inputs, path, project)?);
        }
    }
    if client.0.has_projects {
        let projects = root.get("projects").and_then(Value::as_object);
        for (folder, inside) in projects.into_iter().flatten() {
            if let Some(list) = inside.get("mcpServers") {
                let path = ["projects", folder.as_str(), "mcpServers"];
                servers.extend(of_list(list, None, &path, Some(Path::new(folder)))?);
            }
        }
    }
    Ok(servers)
}

/// Whether the path of a key leads to servers or into one.
pub(super) fn is_of_servers(path: &str) -> bool {
    // Of a project only its servers are looked at; its name is a path.
    if let Some(("projects", inside)) = path.split_once('.') {
        return inside.contains(".mcpServers");
    }
    let first = path.split(['.', '[']).next();
    let mut lists = CLIENTS.iter().flat_map(|client| client.lists);
    lists.any(|list| list.first().copied() == first)
}

fn of_list(
    list: &Value,
    inputs: Option<&Value>,
    path: &[&str],
    project: Option<&Path>,
) -> Result<Vec<ClientServer>, FileFault> {
    let inputs = Arc::new(by_id(inputs));
    let keys: Vec<String> = path.iter().map(|&key| key.to_owned()).collect();
    let server = |name: String, entry: &Value| ClientServer {
        name,
        project: project.map(Path::to_owned),
        list: keys.clone(),
        entry: entry.clone(),
        inputs: Arc::clone(&inputs),
    };
    match list {
        Value::Null => Ok(Vec::new()),
        Value::Object(map) => Ok(map
            .iter()
            .map(|(name, entry)| server(name.clone(), entry))
            .collect()),
        Value::Array(entries) => Ok(entries
            .iter()
            .map(|entry| {
                let name = entry.get("name").and_then(Value::as_str);
                server(name.unwrap_or_default().to_owned(), entry)
            })
            .collect()),
        _ => Err(FileFault::new(format!(
            "`{}` must be a list or a map of servers",
            path.join(".")
        ))),
    }
}

fn by_id(inputs: Option<&Value>) -> Map<String, Value> {
    let inputs = inputs.and_then(Value::as_array).into_iter().flatten();
    let named = inputs.filter_map(|input| {
        let id = input.get("id")?.as_str()?;
        Some((id.to_owned(), input.clone()))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::{Client, all};

    fn client(word: &str) -> Client {
        Client::from_word(word).expect("a client")
    }

    #[test]
    fn every_client_has_its_key() {
        for (word, root, expected) in [
            (
                "claude-code",
                json!({ "mcpServers": { "a": {} }, "projects": { "/p": { "mcpServers": { "b": {} } }, "/q": {} } }),
                "a b",
            ),
            (
                "vscode",
                json!({ "servers": { "a": {} }, "mcp": { "servers": { "b": {} } }, "mcp.servers": { "c": {} } }),
                "a b c",
            ),
            ("codex", json!({ "mcp_servers": { "a": {} } }), "a"),
            ("zed", json!({ "context_servers": { "a": {} } }), "a"),
            ("goose", json!({ "extensions": { "a": {} } }), "a"),
            (
                "opencode",
                json!({ "mcp": { "a": {}, "servers": { "type": "local" } } }),
                "a servers",
            ),
            (
                "opencode",
                json!({ "mcp": { "servers": { "a": {} } } }),
                "a",
            ),
            (
                "mcpproxy-go",
                json!({ "mcpServers": [{ "name": "a" }, {}] }),
                "a ",
            ),
            ("magg", json!({ "servers": { "a": {} } }), "a"),
            ("cursor", json!({ "mcpServers": null, "else": 1 }), ""),
            ("cursor", Value::Null, ""),
        ] {
            let servers = all(client(word), &root, None).expect("a good file");
            let names: Vec<&str> = servers.iter().map(|server| &*server.name).collect();
            assert_eq!(names.join(" "), expected, "{root}");
        }
        let project = Some(Path::new("/p"));
        let of_project = |root: Value| all(client("cursor"), &root, project);
        let servers = of_project(json!({ "mcpServers": { "a": {} } })).expect("a good file");
        assert_eq!(servers[0].project.as_deref(), project);
        assert!(of_project(json!({ "mcpServers": 7 })).is_err());
        assert!(of_project(json!([])).is_err());
    }

    #[test]
    fn a_command_is_found_in_every_shape() {
        for entry in [
            json!({ "command": "npx", "args": ["-y", "x"] }),
            json!({ "command": ["npx", "-y", "x"] }),
            json!({ "command": { "path": "npx", "args": ["-y", "x"] } }),
            json!({ "cmd": "npx", "args": ["-y", "x"] }),
        ] {
            let root = json!({ "mcpServers": { "a": entry } });
            let servers = all(client("cursor"), &root, None).expect("a good file");
            assert_eq!(servers[0].command(), Some("npx"), "{root}");
            assert_eq!(servers[0].args(), ["-y", "x"], "{root}");
        }
    }
}
