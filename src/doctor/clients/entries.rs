//! The servers that a client's file names, whatever its format: only what tells them apart, nothing that may be secret beyond that.

use std::path::Path;

use serde_json::{Map, Value};

use super::loopback_port;

/// A server as a client's file names it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ClientEntry {
    pub(super) name: String,
    pub(super) url: Option<String>,
    pub(super) command: Option<String>,
    pub(super) args: Vec<String>,
}

/// The keys under which clients write the address of a server.
const URLS: [&str; 4] = ["url", "serverUrl", "httpUrl", "uri"];

/// The keys under which clients write their servers.
const SERVERS: [&str; 2] = ["mcpServers", "servers"];

impl ClientEntry {
    /// Whether it starts a program of our name.
    pub(super) fn starts_mcpproxy(&self) -> bool {
        let command = self.command.as_deref().map(Path::new);
        command
            .and_then(Path::file_stem)
            .is_some_and(|name| name == "mcpproxy")
    }

    /// The program, where it is given by its whole path and is not there.
    pub(super) fn missing_program(&self) -> Option<&str> {
        let command = self.command.as_deref()?;
        let path = Path::new(command);
        (path.is_absolute() && !path.exists()).then_some(command)
    }

    /// The port on this machine that it leads to: by its address, or by one that its program is given.
    pub(super) fn loopback_port(&self) -> Option<u16> {
        let mut addresses = self.url.iter().chain(&self.args);
        addresses.find_map(|address| loopback_port(address))
    }
}

/// The entries of a JSON file: at its top, and of each project.
pub(super) fn of_json(root: &Value) -> Vec<ClientEntry> {
    let projects = root.get("projects").and_then(Value::as_object);
    let projects = projects.into_iter().flat_map(Map::values);
    [root]
        .into_iter()
        .chain(projects)
        .flat_map(of_object)
        .collect()
}

fn of_object(object: &Value) -> Vec<ClientEntry> {
    let lists = SERVERS
        .iter()
        .filter_map(|key| object.get(key)?.as_object());
    let entries = lists.flatten().filter(|(_, entry)| entry.is_object());
    entries.map(|(name, entry)| of_entry(name, entry)).collect()
}

fn of_entry(name: &str, entry: &Value) -> ClientEntry {
    let text = |key: &str| entry.get(key)?.as_str().map(str::to_owned);
    let args = entry.get("args").and_then(Value::as_array);
    let args = args.into_iter().flatten().filter_map(Value::as_str);
    ClientEntry {
        name: name.to_owned(),
        url: URLS.iter().find_map(|key| text(key)),
        command: text("command"),
        args: args.map(str::to_owned).collect(),
    }
}
