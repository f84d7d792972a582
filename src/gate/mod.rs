//! The one door through which a request leaves for an upstream on a caller's behalf.
//!
//! [`admit`] is the only maker of [`Admitted`], and `upstream` accepts nothing else: a new face (REST, a script, a built-in tool)
//! cannot forget a check, it would not compile. Lists and searches ask the same [`decide`].

mod classify;
mod variant;

pub use classify::{Effect, call_with, effect};
pub use variant::Variant;

use crate::{
    access::Caller,
    catalog::Snapshot,
    config::{ServerEntry, Settings, ToolChanges},
    error_code::{ErrorCode, Failure},
    fingerprint::Fingerprint,
    names::{self, ServerName},
};

/// What a caller wants of an upstream, by the upstream's own names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted<'a> {
    /// To call a tool.
    Tool(&'a str),
    /// To get a prompt, or a completion for it.
    Prompt(&'a str),
    /// To read a resource, or a completion for its template.
    Resource(&'a str),
    /// Another request, by its method.
    Method(&'a str),
}

/// A request that rules and approvals let through. Says what exactly: the upstream sends it only if it still is that.
#[derive(Debug, Clone)]
pub struct Admitted {
    server: ServerName,
    tool: Option<(Box<str>, Option<Fingerprint>)>,
}

impl Admitted {
    /// The upstream it is for.
    pub fn server(&self) -> &ServerName {
        &self.server
    }

    /// The tool it calls, by the upstream's own name.
    pub fn tool(&self) -> Option<&str> {
        self.tool.as_ref().map(|(name, _)| &**name)
    }

    /// The definition that was admitted; `None` where changes are allowed.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.tool.as_ref().and_then(|(_, fingerprint)| *fingerprint)
    }
}

/// Whether `caller` may have what it wants of `server`, and why not. `server` is text: callers write what they like.
pub fn decide(
    settings: &Settings,
    snapshot: &Snapshot,
    _caller: &Caller,
    server: &str,
    wanted: Wanted<'_>,
) -> Result<(), Failure> {
    let entry = entry(settings, server)?;
    let failure =
        |code, error: String, hint: &str| Err(Failure::new(code, error, hint).of_server(server));
    if !entry.enabled {
        return failure(
            ErrorCode::ServerDisabled,
            format!("the server {server:?} is disabled"),
            &format!("Ask the user to run `mcpproxy upstream enable {server}`."),
        );
    }
    if entry.quarantined {
        return failure(
            ErrorCode::ServerQuarantined,
            format!(
                "the server {server:?} is quarantined: nothing of it is executed until a person approves it"
            ),
            "Ask the user to review the server and to set \"quarantined\": false in the configuration file.",
        );
    }
    match wanted {
        Wanted::Tool(tool) => decide_tool(entry, snapshot, tool),
        Wanted::Prompt(_) | Wanted::Resource(_) | Wanted::Method(_) => Ok(()),
    }
}

fn decide_tool(entry: &ServerEntry, snapshot: &Snapshot, tool: &str) -> Result<(), Failure> {
    let server = &entry.name;
    if !entry.tools.allows(tool) {
        let error =
            format!("the tool {tool:?} of server {server:?} is switched off by the configuration");
        let hint =
            "Use another tool; the user can change enabled_tools and disabled_tools of the server.";
        return Err(Failure::new(ErrorCode::ToolDisabled, error, hint)
            .of_server(server)
            .of_tool(tool));
    }
    if snapshot.tool(server.as_str(), tool).is_some() || entry.tool_changes == ToolChanges::Allow {
        return Ok(());
    }
    let known = snapshot
        .servers
        .get(server)
        .map(|s| &s.tools[..])
        .unwrap_or_default();
    let hint = match names::closest(tool, known.iter().map(|t| &*t.name)) {
        Some(close) => format!("The closest known name is {server}:{close}."),
        None if known.is_empty() => {
            format!("The server lists no tools; `mcpproxy upstream restart {server}` lists again.")
        }
        None => "Look the name up in the list of tools.".to_owned(),
    };
    let error = format!("the server {server:?} has no tool {tool:?}");
    Err(Failure::new(ErrorCode::UnknownTool, error, hint)
        .of_server(server)
        .of_tool(tool))
}

/// The entry of a usable server.
pub fn entry<'a>(settings: &'a Settings, server: &str) -> Result<&'a ServerEntry, Failure> {
    if let Some(entry) = settings.servers.get(server) {
        return Ok(entry);
    }
    if let Some(broken) = settings.broken.iter().find(|broken| broken.name == server) {
        let error = format!(
            "the configuration of server {server:?} is wrong: {}",
            broken.reason
        );
        let hint =
            "Ask the user to correct the entry; `mcpproxy config check` shows every mistake.";
        return Err(Failure::new(ErrorCode::ServerMisconfigured, error, hint).of_server(server));
    }
    let hint = match names::closest(server, settings.servers.keys().map(ServerName::as_str)) {
        Some(close) => format!("The closest configured name is {close:?}."),
        None => "`mcpproxy upstream list` shows the configured servers.".to_owned(),
    };
    Err(Failure::new(
        ErrorCode::UnknownServer,
        format!("no server {server:?} is configured"),
        hint,
    )
    .of_server(server))
}

/// [`decide`], and the ticket.
pub fn admit(
    settings: &Settings,
    snapshot: &Snapshot,
    caller: &Caller,
    server: &str,
    wanted: Wanted<'_>,
) -> Result<Admitted, Failure> {
    decide(settings, snapshot, caller, server, wanted)?;
    let entry = entry(settings, server)?;
    let tool = match wanted {
        Wanted::Tool(tool) => {
            let known = snapshot.tool(server, tool).map(|t| t.fingerprint);
            Some((
                tool.into(),
                known.filter(|_| entry.tool_changes == ToolChanges::Hold),
            ))
        }
        _ => None,
    };
    Ok(Admitted {
        server: entry.name.clone(),
        tool,
    })
}

/// [`admit`] for a tool that is called as `variant`: no milder than what is known of it, unless the settings leave that to the caller.
pub fn admit_as(
    settings: &Settings,
    snapshot: &Snapshot,
    caller: &Caller,
    variant: Variant,
    server: &str,
    tool: &str,
) -> Result<Admitted, Failure> {
    let admitted = admit(settings, snapshot, caller, server, Wanted::Tool(tool))?;
    let Some(known) = snapshot.tool(server, tool) else {
        return Ok(admitted);
    };
    match variant::declared(variant, entry(settings, server).ok(), known) {
        Ok(()) => Ok(admitted),
        Err(needed) if settings.strict_server_validation => {
            Err(variant::too_mild(variant, needed, server, tool))
        }
        Err((needed, why)) => {
            tracing::warn!(
                server,
                tool,
                declared = variant.as_str(),
                needed = needed.as_str(),
                why,
                "a call was declared too mild"
            );
            Ok(admitted)
        }
    }
}
