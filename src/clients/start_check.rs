//! What keeps a server that was found from starting here, as far as a look tells. Nothing is started, and only this machine is asked.

use std::{
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    time::Duration,
};

use http::Uri;
use serde_json::{Map, Value};

use super::report::FoundServer;
use crate::{
    config::Environment,
    process::{BaseEnvironment, find_program},
};

/// Limit: how long one address of this machine may take. It refuses at once where nothing listens.
const PATIENCE: Duration = Duration::from_millis(200);

/// Looks at those that can be imported, or are here. Blocks.
pub fn look(servers: &mut [FoundServer]) {
    let base = BaseEnvironment::new(&Environment::default(), None);
    for server in servers {
        server.warning = no_program(&server.entry, &base).or_else(|| no_listener(&server.entry));
    }
}

fn no_program(entry: &Map<String, Value>, base: &BaseEnvironment) -> Option<String> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let cwd = text("cwd").or_else(|| text("working_dir"));
    // What a reference comes to is not known yet.
    let command = text("command").filter(|command| !command.contains('$'))?;
    let is_known = |cwd: &PathBuf| cwd.is_absolute() && !cwd.to_string_lossy().contains('$');
    let folder = cwd.map(PathBuf::from).filter(is_known);
    if folder.is_none() && command.contains('/') && Path::new(command).is_relative() {
        let is_open = cwd.is_some_and(|cwd| cwd.contains('$'));
        return (!is_open).then(|| format!("`{command}` is a relative path"));
    }
    let path = entry.get("env").and_then(|env| env.get("PATH"));
    let path = path.and_then(Value::as_str).map(str::to_owned);
    let error = find_program(command, folder.as_deref(), path, base).err()?;
    Some(match error.comes_with() {
        Some(whole) => format!("{error}; it comes with {whole}"),
        None => error.to_string(),
    })
}

fn no_listener(entry: &Map<String, Value>) -> Option<String> {
    let url: Uri = entry.get("url")?.as_str()?.parse().ok()?;
    let host = match url.host()? {
        "localhost" => "127.0.0.1",
        host => host,
    };
    let address = SocketAddr::new(host.parse().ok()?, url.port_u16()?);
    if !address.ip().is_loopback() {
        return None;
    }
    let tried = TcpStream::connect_timeout(&address, PATIENCE);
    tried.err().map(|_| format!("nothing listens at {address}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_addresses_of_this_machine_are_looked_for() {
        let base = BaseEnvironment::new(&Environment::default(), None);
        let check = |entry: Value, expected: Option<&str>| {
            let entry = entry.as_object().expect("an object");
            let why = no_program(entry, &base).or_else(|| no_listener(entry));
            assert_eq!(why.as_deref(), expected, "{entry:?}");
        };
        let nowhere = serde_json::json!({"PATH": "/nowhere"});
        check(serde_json::json!({"command": "sh"}), None);
        let here = "`./here` is a relative path";
        check(serde_json::json!({"command": "./here"}), Some(here));
        check(serde_json::json!({"command": "./sh", "cwd": "/bin"}), None);
        check(serde_json::json!({"command": "./sh", "cwd": "${X}"}), None);
        check(
            serde_json::json!({"command": "no-such-program", "env": nowhere}),
            Some("`no-such-program` not found on PATH"),
        );
        check(
            serde_json::json!({"url": "http://127.0.0.1:1/mcp"}),
            Some("nothing listens at 127.0.0.1:1"),
        );
        check(serde_json::json!({"url": "https://example.com/mcp"}), None);
    }
}
