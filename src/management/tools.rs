//! Tools as an operator sees them: all of them, callable or not, with the reason.

use serde::Serialize;

use super::Management;
use crate::{
    access::Caller,
    catalog::{ServerCatalog, Tool},
    error_code::{ErrorCode, Failure},
    gate::Rules,
    names,
    wire::{Raw, Target},
};

/// One tool in a listing.
#[derive(Debug, Clone, Serialize)]
pub struct ToolRow {
    /// `server:tool`.
    pub name: String,
    /// The server.
    pub server: String,
    /// The name under which clients see it.
    pub offered_name: String,
    /// The server's description.
    pub description: String,
    /// The server's annotations, as they are.
    pub annotations: Option<Raw>,
    /// Whether clients may call it.
    pub callable: bool,
    /// Why not.
    pub reason: Option<String>,
}

/// One tool with its whole definition.
#[derive(Debug, Clone, Serialize)]
pub struct ShownTool {
    /// `server:tool`.
    pub name: String,
    /// The server.
    pub server: String,
    /// The name under which clients see it.
    pub offered_name: String,
    /// Whether clients may call it.
    pub callable: bool,
    /// Why not.
    pub reason: Option<String>,
    /// The definition as the server gave it.
    pub definition: Raw,
}

impl Management {
    /// Every known tool, or those of one server, by server and then in the server's order.
    pub fn tools(&self, caller: &Caller, server: Option<&str>) -> Result<Vec<ToolRow>, Failure> {
        if let Some(name) = server {
            self.server(name)?;
        }
        let snapshot = self.0.catalog.snapshot();
        let wanted = |s: &&std::sync::Arc<ServerCatalog>| {
            server.is_none_or(|name| s.server.as_str() == name)
        };
        Ok(snapshot
            .servers
            .values()
            .filter(wanted)
            .flat_map(|s| s.tools.iter().map(|tool| self.tool_row(caller, s, tool)))
            .collect())
    }

    fn tool_row(&self, caller: &Caller, server: &ServerCatalog, tool: &Tool) -> ToolRow {
        let reason = self.why_not(caller, server, tool);
        ToolRow {
            name: format!("{}:{}", server.server, tool.name),
            server: server.server.to_string(),
            offered_name: tool.offered.to_string(),
            description: tool.description.to_string(),
            annotations: tool.definition.get("annotations"),
            callable: reason.is_none(),
            reason,
        }
    }

    fn why_not(&self, caller: &Caller, server: &ServerCatalog, tool: &Tool) -> Option<String> {
        let (settings, snapshot) = (self.settings(), self.0.catalog.snapshot());
        let rules = Rules::new(&settings, &snapshot);
        let target = Target::tool(&tool.name);
        let decided = rules.decide(caller, server.server.as_str(), &target);
        decided.err().map(|failure| failure.error)
    }

    /// One tool by `server:tool`, or by the name under which it is offered.
    pub fn tool(&self, caller: &Caller, name: &str) -> Result<ShownTool, Failure> {
        let snapshot = self.0.catalog.snapshot();
        let found = match name.split_once(':') {
            Some((server, tool)) => snapshot
                .servers
                .get(server)
                .and_then(|s| Some((s.clone(), s.tool(tool)?.name.clone()))),
            None => snapshot.offered_tool(name).and_then(|(server, tool)| {
                Some((snapshot.servers.get(server)?.clone(), tool.name.clone()))
            }),
        };
        let Some((server, tool)) = found
            .as_ref()
            .and_then(|(s, name)| Some((s, s.tool(name)?)))
        else {
            return Err(self.unknown_tool(name));
        };
        let reason = self.why_not(caller, server, tool);
        Ok(ShownTool {
            name: format!("{}:{}", server.server, tool.name),
            server: server.server.to_string(),
            offered_name: tool.offered.to_string(),
            callable: reason.is_none(),
            reason,
            definition: tool.definition.clone(),
        })
    }

    fn unknown_tool(&self, name: &str) -> Failure {
        let snapshot = self.0.catalog.snapshot();
        let known: Vec<String> = snapshot
            .servers
            .iter()
            .flat_map(|(server, s)| {
                s.tools
                    .iter()
                    .map(move |tool| format!("{server}:{}", tool.name))
            })
            .collect();
        let hint = match names::closest(name, known.iter().map(String::as_str)) {
            Some(close) => format!("The closest known name is {close}."),
            None => "`mcpproxy tools list` shows every known tool.".to_owned(),
        };
        Failure::new(
            ErrorCode::UnknownTool,
            format!("no tool {name:?} is known"),
            hint,
        )
    }
}
