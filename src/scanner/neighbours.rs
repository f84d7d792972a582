//! The names of all tools there are, for the rules that ask whether a text speaks of strangers.

use std::collections::{BTreeMap, BTreeSet};

/// The tools of all servers. Made once for a state of the catalog.
#[derive(Debug, Default, Clone)]
pub struct Neighbours {
    /// The servers of each tool, by the tool's name in lower case.
    tools: BTreeMap<String, BTreeSet<String>>,
    /// The servers, in lower case.
    servers: BTreeSet<String>,
}

impl Neighbours {
    /// From pairs of a server's and a tool's own name.
    pub fn new<'a>(tools: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut neighbours = Self::default();
        for (server, tool) in tools {
            let server = server.to_lowercase();
            neighbours.servers.insert(server.clone());
            let servers = neighbours.tools.entry(tool.to_lowercase()).or_default();
            servers.insert(server);
        }
        neighbours
    }

    /// Whether others have a tool of this name, with or without their server's name in front, and `server` has not.
    pub(super) fn is_strange(&self, server: &str, word: &str) -> bool {
        let (server, word) = (server.to_lowercase(), word.to_lowercase());
        let owners = |tool: &str| self.tools.get(tool);
        if let Some(owners) = owners(&word) {
            return !owners.contains(&server);
        }
        let parts = ["__", ":", "/", "."]
            .iter()
            .filter_map(|joint| word.split_once(joint));
        let mut parts =
            parts.filter(|(other, _)| *other != server && self.servers.contains(*other));
        parts.any(|(other, tool)| owners(tool).is_some_and(|owners| owners.contains(other)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_strange_where_others_have_it_and_the_server_has_not() {
        let neighbours = Neighbours::new([
            ("mail", "send_email"),
            ("disk", "read_file"),
            ("box", "read_file"),
        ]);
        for (server, word, expected) in [
            ("disk", "send_email", true),
            ("disk", "Mail:send_email", true),
            ("disk", "mail__send_email", true),
            ("mail", "send_email", false),
            ("mail", "mail:send_email", false),
            ("disk", "read_file", false),
            ("mail", "read_file", true),
            ("mail", "delete_file", false),
            ("mail", "disk/send_email", false),
        ] {
            assert_eq!(
                neighbours.is_strange(server, word),
                expected,
                "{server} {word}"
            );
        }
    }
}
