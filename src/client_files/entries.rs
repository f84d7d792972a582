//! The servers that a file names, as they are written there: each client has its key for them. What an entry means is `convert`'s.

use std::{fmt, path::PathBuf, sync::Arc};

use serde_json::{Map, Value};

use super::{clients::Client, fault::FileFault, scope::Scope};

/// A server as a client's file names it. Its entry may hold secrets.
#[derive(Clone, PartialEq)]
pub struct ClientServer {
    /// Its name there.
    pub name: String,
    /// The project it is for; nothing where it is for the person.
    pub project: Option<PathBuf>,
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

/// The keys under which clients write the address of a server.
const URLS: [&str; 4] = ["url", "serverUrl", "httpUrl", "uri"];

impl ClientServer {
    /// Its address, as it is written.
    pub fn url(&self) -> Option<&str> {
        URLS.iter().find_map(|key| self.text(key))
    }

    /// Its program, as it is written.
    pub fn command(&self) -> Option<&str> {
        let named = self.text("command").or_else(|| self.text("cmd"));
        let inside = || self.entry.get("command")?.get("path")?.as_str();
        named.or_else(|| self.words().next()).or_else(inside)
    }

    /// The arguments of its program, as they are written.
    pub fn args(&self) -> Vec<&str> {
        let inside = self
            .entry
            .get("command")
            .and_then(|command| command.get("args"));
        let args = self.entry.get("args").or(inside);
        let args = args.and_then(Value::as_array).into_iter().flatten();
        self.words()
            .skip(1)
            .chain(args.filter_map(Value::as_str))
            .collect()
    }

    /// A command that is written as a list.
    fn words(&self) -> impl Iterator<Item = &str> {
        let words = self.entry.get("command").and_then(Value::as_array);
        words.into_iter().flatten().filter_map(Value::as_str)
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.entry.get(key)?.as_str()
    }
}

/// All servers of a file, in its order.
pub(super) fn all(
    client: Client,
    root: &Value,
    scope: &Scope,
) -> Result<Vec<ClientServer>, FileFault> {
    if root.is_null() {
        return Ok(Vec::new());
    }
    if !root.is_object() {
        return Err(FileFault::new("it holds no map of keys"));
    }
    let project = match scope {
        Scope::User => None,
        Scope::Project(folder) => Some(folder.clone()),
    };
    let mut servers = Vec::new();
    for (list, inputs, key) in lists(client, root) {
        servers.extend(of_list(list, inputs, key, project.as_ref())?);
    }
    if client == Client::ClaudeCode {
        let projects = root.get("projects").and_then(Value::as_object);
        for (folder, inside) in projects.into_iter().flatten() {
            if let Some(list) = inside.get("mcpServers") {
                let folder = PathBuf::from(folder);
                servers.extend(of_list(list, None, "mcpServers", Some(&folder))?);
            }
        }
    }
    Ok(servers)
}

/// Whether the path of a key leads to servers or into one.
pub(super) fn is_of_servers(path: &str) -> bool {
    const LISTS: [&str; 6] = [
        "mcpServers",
        "mcp_servers",
        "context_servers",
        "servers",
        "extensions",
        "mcp",
    ];
    let is_list = |word: &str| LISTS.contains(&word);
    match path.split_once('.') {
        // Of a project only its servers are looked at; its name is a path.
        Some(("projects", inside)) => inside.contains(".mcpServers"),
        _ => path.split(['.', '[']).next().is_some_and(is_list),
    }
}

/// A list of servers, what the file asks for beside it, and its key.
type List<'a> = (&'a Value, Option<&'a Value>, &'static str);

/// The lists of a file, but for those of Claude Code's projects.
fn lists(client: Client, root: &Value) -> Vec<List<'_>> {
    let at = |key: &'static str| root.get(key).map(|list| (list, None, key));
    let found = match client {
        Client::ClaudeCode
        | Client::ClaudeDesktop
        | Client::Cursor
        | Client::Windsurf
        | Client::GeminiCli
        | Client::McpproxyGo => [at("mcpServers"), None],
        Client::ServersJson => [at("mcpServers"), at("servers")],
        Client::VsCode => return of_vs_code(root),
        Client::Codex => [at("mcp_servers"), None],
        Client::Zed => [at("context_servers"), None],
        Client::Goose => [at("extensions"), None],
        Client::OpenCode => [of_open_code(root), None],
        Client::Magg => [at("servers"), None],
    };
    found.into_iter().flatten().collect()
}

/// In `mcp.json` at the top, in `settings.json` below `mcp`; of old under names with a dot, too.
fn of_vs_code(root: &Value) -> Vec<List<'_>> {
    let tops = [Some(root), root.get("mcp")].into_iter().flatten();
    let nested = tops.filter_map(|top| {
        let list = top.get("servers").or_else(|| top.get("mcpServers"))?;
        Some((list, top.get("inputs"), "servers"))
    });
    let dotted = root.get("mcp.servers");
    let dotted = dotted.map(|list| (list, root.get("mcp.inputs"), "mcp.servers"));
    nested.chain(dotted).collect()
}

/// Below `mcp`, or below its `servers` since version 2.
fn of_open_code(root: &Value) -> Option<List<'_>> {
    let list = root.get("mcp")?;
    let is_entry = |value: &Value| {
        ["type", "command", "url"]
            .iter()
            .any(|key| value.get(key).is_some())
    };
    match list.get("servers") {
        Some(inner) if !is_entry(inner) => Some((inner, None, "mcp.servers")),
        _ => Some((list, None, "mcp")),
    }
}

fn of_list(
    list: &Value,
    inputs: Option<&Value>,
    key: &str,
    project: Option<&PathBuf>,
) -> Result<Vec<ClientServer>, FileFault> {
    let inputs = Arc::new(by_id(inputs));
    let server = |name: String, entry: &Value| ClientServer {
        name,
        project: project.cloned(),
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
            "`{key}` is no map of servers by name"
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
    use std::path::PathBuf;

    use serde_json::{Value, json};

    use super::{Client, Scope, all};

    #[track_caller]
    fn check(client: Client, root: &Value, expected: &[&str]) {
        let servers = all(client, root, &Scope::User).expect("a good file");
        let names: Vec<&str> = servers.iter().map(|server| &*server.name).collect();
        assert_eq!(names, expected, "{root}");
    }

    #[test]
    fn every_client_has_its_key() {
        check(
            Client::ClaudeCode,
            &json!({ "mcpServers": { "a": {} }, "projects": { "/p": { "mcpServers": { "b": {} } }, "/q": {} } }),
            &["a", "b"],
        );
        check(
            Client::VsCode,
            &json!({ "servers": { "a": {} }, "mcp": { "servers": { "b": {} } }, "mcp.servers": { "c": {} } }),
            &["a", "b", "c"],
        );
        check(
            Client::Codex,
            &json!({ "mcp_servers": { "a": {} } }),
            &["a"],
        );
        check(
            Client::Zed,
            &json!({ "context_servers": { "a": {} } }),
            &["a"],
        );
        check(Client::Goose, &json!({ "extensions": { "a": {} } }), &["a"]);
        check(
            Client::OpenCode,
            &json!({ "mcp": { "a": {}, "servers": { "type": "local" } } }),
            &["a", "servers"],
        );
        check(
            Client::OpenCode,
            &json!({ "mcp": { "servers": { "a": {} } } }),
            &["a"],
        );
        check(
            Client::McpproxyGo,
            &json!({ "mcpServers": [{ "name": "a" }, {}] }),
            &["a", ""],
        );
        check(Client::Magg, &json!({ "servers": { "a": {} } }), &["a"]);
        check(
            Client::Cursor,
            &json!({ "mcpServers": null, "else": 1 }),
            &[],
        );
        check(Client::Cursor, &Value::Null, &[]);
        let project = Scope::Project(PathBuf::from("/p"));
        let servers = all(
            Client::Cursor,
            &json!({ "mcpServers": { "a": {} } }),
            &project,
        );
        let servers = servers.expect("a good file");
        assert_eq!(servers[0].project, Some(PathBuf::from("/p")));
        assert!(all(Client::Cursor, &json!({ "mcpServers": 7 }), &project).is_err());
        assert!(all(Client::Cursor, &json!([]), &project).is_err());
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
            let servers = all(Client::Cursor, &root, &Scope::User).expect("a good file");
            assert_eq!(servers[0].command(), Some("npx"), "{root}");
            assert_eq!(servers[0].args(), ["-y", "x"], "{root}");
        }
    }
}
