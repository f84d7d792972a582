//! Which entries of clients lead to us.

use std::path::Path;

use super::entries::ClientServer;
use crate::loopback;

/// The ports on this machine where we are, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OurAddress {
    /// The ports, that of the address which clients are given first.
    pub ports: Vec<u16>,
}

/// Programs that fetch and start other ones by name.
const LAUNCHERS: [&str; 6] = ["npx", "bunx", "pnpx", "uvx", "docker", "cmd"];

/// Programs that start the one which their arguments name, by itself or in a line for a shell.
const STARTERS: [&str; 9] = [
    "env", "sudo", "nice", "nohup", "sh", "bash", "dash", "zsh", "fish",
];

impl OurAddress {
    /// Whether an entry leads to this mcpproxy.
    pub fn is_us(&self, server: &ClientServer) -> bool {
        starts_mcpproxy(server)
            || loopback_port_of(server).is_some_and(|port| self.ports.contains(&port))
    }

    /// Whether an entry means us and leads to an address where we are not.
    pub fn is_us_elsewhere(&self, server: &ClientServer) -> bool {
        let is_called_so = server.name.to_lowercase().contains("mcpproxy");
        is_called_so && loopback_port_of(server).is_some_and(|port| !self.ports.contains(&port))
    }
}

/// Whether it starts a program of our name, by itself or through one that fetches programs. Our demo server is a server like any other.
pub(super) fn starts_mcpproxy(server: &ClientServer) -> bool {
    let is_ours = |word: &str| {
        Path::new(word)
            .file_stem()
            .is_some_and(|name| name == "mcpproxy")
    };
    let Some(command) = server.command() else {
        return false;
    };
    if server.args().first() == Some(&"demo-server") {
        return false;
    }
    let is_one_of = |names: &[&str]| {
        let stem = Path::new(command).file_stem();
        stem.is_some_and(|stem| names.iter().any(|name| stem == *name))
    };
    let is_launcher = is_one_of(&LAUNCHERS);
    let mut words = server.args().into_iter().flat_map(str::split_whitespace);
    if is_one_of(&STARTERS) && words.any(is_ours) {
        return words.next() != Some("demo-server");
    }
    let packages = server.args();
    let mut packages = packages.iter().filter(|_| is_launcher);
    // A package may have its version behind it.
    is_ours(command)
        || packages.any(|word| {
            let package = word.rsplit('/').next().unwrap_or(word);
            package.split(['@', ':']).next() == Some("mcpproxy")
        })
}

/// The port on this machine that an entry leads to: by its address, or by one that its program is given.
fn loopback_port_of(server: &ClientServer) -> Option<u16> {
    let args = server.args();
    let mut addresses = server.url().into_iter().chain(args);
    addresses.find_map(loopback_port)
}

/// The port of an address on this machine.
fn loopback_port(url: &str) -> Option<u16> {
    let rest = url.strip_prefix("http://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = rest.get(..end)?;
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (authority, 80),
    };
    // Whoever connects to no address in particular reaches this machine.
    let is_any = matches!(host, "0.0.0.0" | "[::]");
    (is_any || loopback::is_loopback(host)).then_some(port)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ClientServer, OurAddress, loopback_port};

    #[test]
    fn ports_of_this_machine_are_read_out_of_addresses() {
        assert_eq!(loopback_port("http://127.0.0.1:8080/mcp"), Some(8080));
        assert_eq!(loopback_port("http://[::1]:1?x"), Some(1));
        assert_eq!(loopback_port("http://localhost"), Some(80));
        for other in [
            "http://example.com:8080/mcp",
            "https://127.0.0.1",
            "",
            "http://:x",
        ] {
            assert_eq!(loopback_port(other), None, "{other}");
        }
    }

    #[test]
    fn whatever_leads_to_us_is_us() {
        let us = OurAddress { ports: vec![8080] };
        let check = |entry: Value, expected: bool| {
            let server = ClientServer {
                name: "x".to_owned(),
                project: None,
                entry: entry.clone(),
                inputs: std::sync::Arc::default(),
            };
            assert_eq!(us.is_us(&server), expected, "{entry}");
        };
        check(json!({ "url": "http://localhost:8080/mcp/all" }), true);
        check(json!({ "serverUrl": "http://[::1]:8080/mcp" }), true);
        check(json!({ "uri": "http://127.0.0.1:8081/mcp" }), false);
        check(
            json!({ "command": "/opt/bin/mcpproxy", "args": ["stdio"] }),
            true,
        );
        check(json!({ "command": ["mcpproxy", "stdio"] }), true);
        check(
            json!({ "command": "npx", "args": ["-y", "@some/mcpproxy@1.2", "stdio"] }),
            true,
        );
        check(
            json!({ "command": "npx", "args": ["mcp-remote", "http://127.0.0.1:8080/mcp"] }),
            true,
        );
        check(json!({ "url": "http://0.0.0.0:8080/mcp" }), true);
        check(
            json!({ "command": "env", "args": ["A=1", "mcpproxy", "stdio"] }),
            true,
        );
        check(
            json!({ "command": "sh", "args": ["-c", "exec /opt/mcpproxy stdio"] }),
            true,
        );
        check(
            json!({ "command": "sh", "args": ["-c", "mcpproxy demo-server"] }),
            false,
        );
        check(
            json!({ "command": "sh", "args": ["-c", "node my-mcpproxy"] }),
            false,
        );
        check(json!({ "command": "node", "args": ["mcpproxy"] }), false);
        check(
            json!({ "command": "uvx", "args": ["mcp-server-time"] }),
            false,
        );
        check(json!(7), false);
    }
}
