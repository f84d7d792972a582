//! Tools for operators: all of them, each with the reason if it is not callable.

use serde::{Deserialize, Serialize};

use super::{Backing, Management, OperatorView};
use crate::{
    catalog::{ServerCatalog, Tool, without_values},
    config::{BrokenEntry, Settings},
    failure::{ErrorCode, Failure, NextStep, Result},
    text::names::{self, BUILT_IN_TOOLS},
    wire::Raw,
};

/// Tools, by server and then in the server's order.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolList {
    /// The number of tools.
    #[serde(default)]
    pub total: usize,
    /// The tools.
    pub tools: Vec<ToolRow>,
    /// The servers that are left out because their entries cannot be used, with the reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<BrokenEntry>,
}

/// A tool in a listing.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolRow {
    /// `server:tool`.
    pub name: String,
    /// The server.
    #[serde(default)]
    pub server: String,
    /// The name under which clients see it.
    #[serde(default)]
    pub offered_name: String,
    /// The server's description.
    #[serde(default)]
    pub description: String,
    /// The server's annotations.
    #[schemars(with = "Option<serde_json::Value>")]
    pub annotations: Option<Raw>,
    /// Whether clients may call it.
    pub callable: bool,
    /// Why clients cannot call it.
    pub reason: Option<String>,
    /// The code of that reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The call type: `read`, `write` or `destructive`.
    pub call_with: Option<String>,
}

/// A tool with its whole definition.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ShownTool {
    /// `server:tool`.
    pub name: String,
    /// The server.
    #[serde(default)]
    pub server: String,
    /// The name under which clients see it.
    #[serde(default)]
    pub offered_name: String,
    /// Whether clients may call it.
    pub callable: bool,
    /// Why clients cannot call it.
    pub reason: Option<String>,
    /// The code of that reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What makes it callable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Box<NextStep>>,
    /// The server's definition, with the values of references masked.
    #[schemars(with = "serde_json::Value")]
    pub definition: Raw,
}

impl<B: Backing> Management<B> {
    /// Every known tool, or those of one server, callable or not.
    pub fn tools(&self, server: Option<&str>) -> Result<ToolList> {
        if let Some(name) = server {
            self.server(name)?;
        }
        let view = self.view()?;
        let wanted =
            |known: &ServerCatalog| server.is_none_or(|name| known.server.as_str() == name);
        let known = view.lists.servers.values().filter(|known| wanted(known));
        let tools: Vec<ToolRow> = known
            .flat_map(|known| known.tools.iter().map(|tool| (known.server.as_str(), tool)))
            .map(|(server, tool)| row(&view, server, tool))
            .collect();
        Ok(ToolList {
            total: tools.len(),
            tools,
            left_out: left_out(&view.settings, server),
        })
    }

    /// The servers (or only `server`, if given) whose tools are not listed because their entries cannot be used.
    pub fn left_out(&self, server: Option<&str>) -> Result<Vec<BrokenEntry>> {
        let settings = self.settings()?;
        Ok(left_out(&settings, server))
    }

    /// One tool by `server:tool`, or by the name under which it is offered.
    pub fn tool(&self, name: &str) -> Result<ShownTool> {
        let view = self.view()?;
        let lists = &view.lists;
        let found = if let Some((server, tool)) = name.split_once(':') {
            lists.tool(server, tool).map(|tool| (server, tool))
        } else {
            let offered = lists.offered_tool(name);
            offered.map(|(server, tool)| (server.as_str(), tool))
        };
        let (server, tool) = found.ok_or_else(|| match self.server(name) {
            Ok(server) => is_server(&server.name),
            Err(_) => self
                .unlisted(&view, name)
                .unwrap_or_else(|| unknown_tool(&view, name)),
        })?;
        let row = row(&view, server, tool);
        let refusal = view.tool_refusal(server, &tool.name);
        Ok(ShownTool {
            step: refusal.and_then(|refusal| refusal.step),
            name: row.name,
            server: row.server,
            offered_name: row.offered_name,
            callable: row.callable,
            reason: row.reason,
            code: row.code,
            definition: without_values::raw(
                &without_values::secrets_of(&view.settings, server),
                tool.definition.clone(),
            ),
        })
    }

    /// Why the server in a tool's name has no list.
    fn unlisted(&self, view: &OperatorView, name: &str) -> Option<Failure> {
        let (server, tool) = name.split_once(':')?;
        let row = match self.server(server) {
            Ok(row) => row,
            Err(unknown) => return Some(unknown),
        };
        let is_listed = view.lists.servers.contains_key(server);
        let mut failure = view.tool_refusal(server, tool).filter(|_| !is_listed)?;
        let is_unlisted = failure.code == ErrorCode::UnknownTool;
        if is_unlisted && let Some(why) = &row.last_error {
            failure.error = format!("{}: {why}", failure.error);
        }
        let own = failure.step.as_deref().filter(|_| !is_unlisted).cloned();
        let own = own.or_else(|| row.own_step());
        Some(failure.with_step(own.unwrap_or(NextStep::ShowServer)))
    }
}

fn left_out(settings: &Settings, server: Option<&str>) -> Vec<BrokenEntry> {
    let broken = settings.broken.iter();
    let meant = broken.filter(|entry| server.is_none_or(|name| entry.name == name));
    meant.cloned().collect()
}

fn row(view: &OperatorView, server: &str, tool: &Tool) -> ToolRow {
    let refusal = view.tool_refusal(server, &tool.name);
    let secrets = without_values::secrets_of(&view.settings, server);
    let annotations = tool.definition.get("annotations");
    ToolRow {
        name: format!("{server}:{}", tool.name),
        server: server.to_owned(),
        offered_name: tool.offered.to_string(),
        description: without_values::text(&secrets, &tool.description),
        annotations: annotations.map(|said| without_values::raw(&secrets, said)),
        callable: refusal.is_none(),
        code: refusal
            .as_ref()
            .map(|failure| failure.code.as_str().to_owned()),
        reason: refusal.map(|failure| failure.error),
        call_with: view
            .call_variant(server, &tool.name)
            .map(|variant| variant.as_str().to_owned()),
    }
}

/// The failure where a server is named and not one of its tools.
fn is_server(name: &str) -> Failure {
    let error = format!("{name:?} is a server, not a tool");
    let failure = Failure::new(ErrorCode::UnknownTool, error, "Name one of its tools.");
    failure.with_step(NextStep::ShowTools).of_server(name)
}

fn unknown_tool(view: &OperatorView, name: &str) -> Failure {
    let of_server = |known: &ServerCatalog| -> Vec<String> {
        let names = known.tools.iter().map(|tool| &tool.name);
        names
            .map(|tool| format!("{}:{tool}", known.server))
            .collect()
    };
    let servers = view.lists.servers.values();
    let known: Vec<String> = servers.clone().flat_map(|known| of_server(known)).collect();
    let is_called = |full: &&String| full.split_once(':').is_some_and(|(_, own)| own == name);
    let whole = known.iter().find(is_called).map(String::as_str);
    let named = servers.filter_map(|known| Some((known, own_part(name, known.server.as_str())?)));
    let named = named.min_by_key(|(_, own)| own.len());
    let error = if BUILT_IN_TOOLS.contains(&name) {
        format!("{name} is a built-in tool, which only clients call")
    } else if let Some((server, tool)) = name.split_once(':')
        && view.lists.servers.contains_key(server)
    {
        format!("the server {server:?} has no tool {tool:?}")
    } else {
        format!("no tool {name:?} is known")
    };
    let failure = Failure::new(ErrorCode::UnknownTool, error, "Name a known tool.");
    let failure = failure.with_step(NextStep::ShowTools);
    match named.filter(|_| whole.is_none()) {
        Some((known, own)) => {
            let close = names::closest(own, known.tools.iter().map(|tool| &*tool.name));
            let close = close.map(|close| format!("{}:{close}", known.server));
            failure
                .with_closest(close.as_deref())
                .of_server(&known.server)
        }
        None => failure
            .with_closest(whole.or_else(|| names::closest(name, known.iter().map(String::as_str)))),
    }
}

/// What follows the server in a name that begins with it, whatever stands between.
fn own_part<'a>(name: &'a str, server: &str) -> Option<&'a str> {
    let rest = name.strip_prefix(server)?;
    let own = rest.strip_prefix("__");
    own.or_else(|| rest.strip_prefix([':', '.', '/', ' ']))
}
