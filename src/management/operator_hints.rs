//! The same failures as models get, with the next steps of a person at a terminal, who may read paths and run commands.

use super::{
    Management,
    gated::{self, call_variant, login_step},
};
use crate::{
    config::Settings,
    failure::error_code::{ErrorCode, Failure},
    text::names::{self, ServerName, as_argument},
};

impl Management {
    /// A failure as the operator needs it.
    pub fn for_operator(&self, failure: Failure) -> Failure {
        let hint = self.next_step(&failure);
        let error = match (failure.code, &failure.server) {
            (ErrorCode::ServerUnavailable, Some(server)) => self.why_unavailable(server),
            _ => None,
        };
        Failure {
            error: error.unwrap_or(failure.error),
            hint,
            ..failure
        }
    }

    fn next_step(&self, failure: &Failure) -> String {
        let file = self.config_file().display();
        let server = failure.server.as_deref();
        if let (Some(step), Some(server)) = (&failure.step, server) {
            return step.at_terminal(server);
        }
        let step = match (failure.code, server) {
            (ErrorCode::UnknownServer, _) => {
                let settings = self.settings_in_force();
                let closest = closest_server(&settings, server.unwrap_or_default());
                Some(server_step(closest))
            }
            (ErrorCode::UnknownTool, Some(server)) => Some(self.closest_tool(server, failure)),
            (ErrorCode::ServerMisconfigured, Some(server)) => {
                let settings = self.settings_in_force();
                let broken = settings.broken_entry(server);
                broken.map(|broken| broken.step().at_terminal(server))
            }
            (ErrorCode::AccessDenied, _) => {
                let thing = match (server, failure.tool.as_deref()) {
                    (Some(server), Some(tool)) => format!("{server}:{tool}"),
                    (None, Some(tool)) => tool.to_owned(),
                    _ => "SERVER:TOOL".to_owned(),
                };
                let thing = as_argument(&thing);
                Some(format!(
                    "`mcpproxy access check operator {thing}` names the rule in {file}"
                ))
            }
            // The only tool of ours that is switched off.
            (ErrorCode::ToolDisabled, None) => {
                Some("`mcpproxy config set enable_code_execution true`".to_owned())
            }
            (ErrorCode::ToolDisabled, Some(server)) => {
                let tool = failure.tool.as_deref().unwrap_or("TOOL");
                let thing = format!("{server}:{tool}");
                Some(format!("`mcpproxy tools enable {}`", as_argument(&thing)))
            }
            (ErrorCode::WrongVariant, Some(server)) => self.right_variant(server, failure),
            (ErrorCode::LoginRequired, Some(server)) => Some(login_step(server)),
            (ErrorCode::ServerUnavailable, Some(server)) => Some(self.repair(server)),
            (ErrorCode::ConnectionLost, Some(server)) => Some(self.after_a_loss(server)),
            (code, Some(server)) => {
                let settings = self.settings_in_force();
                gated::next_step(code, server, &self.lists(&settings))
            }
            _ => None,
        };
        step.unwrap_or_else(|| failure.hint.clone())
    }

    fn closest_tool(&self, server: &str, failure: &Failure) -> String {
        let settings = self.settings_in_force();
        let lists = self.lists(&settings);
        let known = lists.servers.get(server);
        let known = known.map(|known| &known.tools[..]).unwrap_or_default();
        let wanted = failure.tool.as_deref().unwrap_or_default();
        let names = known.iter().map(|tool| &*tool.name);
        match names::closest(wanted, names) {
            Some(same) if same == wanted => {
                "the server offers it to other clients, not to this one".to_owned()
            }
            Some(close) => format!("did you mean {server}:{close}?"),
            None if known.is_empty() => {
                format!("it lists no tools; `mcpproxy upstream restart {server}` reads them again")
            }
            None => format!("`mcpproxy tools list --server {server}`"),
        }
    }

    fn right_variant(&self, server: &str, failure: &Failure) -> Option<String> {
        let settings = self.settings_in_force();
        let tool = failure.tool.as_deref()?;
        let variant = call_variant(&settings, &self.lists(&settings), server, tool)?;
        Some(format!(
            "if you want that: `mcpproxy call {variant} {server}:{tool} …`"
        ))
    }

    fn why_unavailable(&self, server: &str) -> Option<String> {
        let reason = self.server(server).ok()?.last_error?;
        Some(format!("the server {server:?} is not available: {reason}"))
    }

    /// The call may have been done: to call again at once may do it twice.
    fn after_a_loss(&self, server: &str) -> String {
        let row = self.server(server).ok();
        let is_program = row.is_some_and(|row| row.transport.as_deref() == Some("stdio"));
        let look = if is_program { "logs" } else { "show" };
        format!("it may have run: check before you call again; `mcpproxy upstream {look} {server}`")
    }

    fn repair(&self, server: &str) -> String {
        let step = self.server(server).ok().and_then(|row| row.next_step);
        step.unwrap_or_else(|| format!("`mcpproxy upstream show {server}`, then try again"))
    }
}

/// The server that may be meant, also one whose entry cannot be used.
pub(super) fn closest_server<'a>(settings: &'a Settings, wanted: &str) -> Option<&'a str> {
    let known = settings.servers.keys().map(ServerName::as_str);
    names::closest(
        wanted,
        known.chain(settings.broken.iter().map(|broken| &*broken.name)),
    )
}

/// Where a person finds the servers, and which one may be meant.
pub(super) fn server_step(closest: Option<&str>) -> String {
    match closest {
        Some(close) => format!("did you mean {close}? `mcpproxy upstream list` shows all"),
        None => "`mcpproxy upstream list`".to_owned(),
    }
}
