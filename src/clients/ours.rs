//! Which entries of clients lead to us. What leads to us at all is the configuration's to say.

use super::servers::ClientServer;
use crate::config::{LeadsTo, OurAddress, loopback_port_of};

impl OurAddress {
    /// Whether an entry leads to this mcpproxy.
    pub fn is_us(&self, server: &ClientServer) -> bool {
        self.is_named_by(&leads_to(server))
    }

    /// Whether an entry means us and leads to an address where we are not.
    pub fn is_us_elsewhere(&self, server: &ClientServer) -> bool {
        let is_called_so = server.name.to_lowercase().contains("mcpproxy");
        let port = loopback_port_of(&leads_to(server));
        is_called_so && port.is_some_and(|port| !self.ports.contains(&port))
    }
}

fn leads_to(server: &ClientServer) -> LeadsTo<'_> {
    LeadsTo {
        url: server.url(),
        command: server.command(),
        args: server.args(),
        env: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ClientServer, OurAddress};

    #[test]
    fn whatever_leads_to_us_is_us() {
        let us = OurAddress {
            ports: vec![8080],
            places: None,
        };
        let check = |entry: Value, expected: bool| {
            let server = ClientServer {
                name: "x".to_owned(),
                project: None,
                list: Vec::new(),
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
