//! Failures for operators: the failures that models get, with the next steps of a person, who may read paths and run commands.

use super::{Management, ServerRow};
use crate::{
    catalog::Snapshot,
    config::{BrokenEntry, Settings, TransportKind},
    failure::{ErrorCode, Failure, NextStep},
    text::names::{self, ServerName, as_argument},
    wire::RpcError,
};

impl Management {
    /// A failure with the words and the next step for an operator.
    pub fn for_operator(&self, failure: Failure) -> Failure {
        let failure = self.with_closest(failure);
        let step = failure.step.as_deref().cloned();
        let step = step.or_else(|| self.next_step(&failure));
        let (step, error) = match (failure.code, &failure.server) {
            (ErrorCode::ServerMisconfigured, _) => (step.map(without_command), None),
            (ErrorCode::ServerUnavailable, Some(server)) => {
                (step.map(without_command), self.why_unavailable(server))
            }
            _ => (step, None),
        };
        let request = match &step {
            Some(NextStep::Act { request, .. }) => request.as_deref().map(str::to_owned),
            _ => None,
        };
        Failure {
            error: error.unwrap_or(failure.error),
            hint: request.unwrap_or(failure.hint),
            step: step.map(Box::new),
            ..failure
        }
    }

    /// Names the server or tool that was probably meant.
    fn with_closest(&self, failure: Failure) -> Failure {
        let view = self.view_in_force();
        let server = failure.server.as_deref().unwrap_or_default();
        let closest = match failure.code {
            ErrorCode::UnknownServer => closest_server(&view.settings, server).map(str::to_owned),
            ErrorCode::UnknownTool if failure.server.is_some() => {
                let wanted = failure.tool.as_deref().unwrap_or_default();
                let closest = names::closest(wanted, tools_of(&view.lists, server));
                let closest = closest.filter(|close| *close != wanted);
                closest.map(|close| format!("{server}:{close}"))
            }
            _ => return failure,
        };
        failure.with_closest(closest.as_deref())
    }

    fn next_step(&self, failure: &Failure) -> Option<NextStep> {
        let file = self.config_file().display();
        let server = failure.server.as_deref();
        match (failure.code, server) {
            (ErrorCode::UnknownServer, _) => Some(NextStep::ShowServers),
            (ErrorCode::UnknownTool, Some(server)) => {
                Some(self.step_of_unknown_tool(server, failure))
            }
            (ErrorCode::ServerMisconfigured, Some(server)) => {
                let settings = self.settings_in_force();
                let broken = settings.broken_entry(server);
                broken.map(BrokenEntry::step)
            }
            (ErrorCode::AccessDenied, _) => {
                let thing = match (server, failure.tool.as_deref()) {
                    (Some(server), Some(tool)) => format!("{server}:{tool}"),
                    (None, Some(tool)) => tool.to_owned(),
                    _ => "SERVER:TOOL".to_owned(),
                };
                let thing = as_argument(&thing);
                let command =
                    format!("`mcpproxy access check operator {thing}` names the rule in {file}");
                Some(NextStep::act(command).or_request("POST /api/v1/access/check names the rule."))
            }
            (ErrorCode::ToolDisabled, _) => {
                let tool = failure.tool.as_deref().unwrap_or("TOOL");
                Some(self.view_in_force().step_of_disabled(server, tool))
            }
            (ErrorCode::WrongVariant, Some(server)) => self.right_variant(server, failure),
            (ErrorCode::LoginRequired, Some(_)) => Some(NextStep::LogIn),
            (ErrorCode::ServerUnavailable, Some(server)) => {
                let row = self.server(server).ok();
                row.and_then(ServerRow::own_step)
                    .or(Some(NextStep::ShowServer))
            }
            (code, Some(server)) if code.may_have_run() => {
                let row = self.server(server).ok();
                let has_log = row.is_some_and(|row| row.transport == Some(TransportKind::Stdio));
                Some(NextStep::CheckCall { has_log })
            }
            (code, Some(server)) => self.view_in_force().next_step(code, server),
            _ => None,
        }
    }

    fn step_of_unknown_tool(&self, server: &str, failure: &Failure) -> NextStep {
        let view = self.view_in_force();
        let wanted = failure.tool.as_deref().unwrap_or_default();
        if !view.lists.servers.contains_key(server) {
            return NextStep::Restart;
        }
        let mut known = tools_of(&view.lists, server).peekable();
        if known.peek().is_none() {
            // It was listed: another start lists the same.
            return self.step_at_its_log(server);
        }
        match known.find(|name| *name == wanted) {
            Some(_) => NextStep::act(
                "call it from an AI client that supports sampling, elicitation or roots: the server offers it only to such clients",
            ),
            None => NextStep::ShowTools,
        }
    }

    fn right_variant(&self, server: &str, failure: &Failure) -> Option<NextStep> {
        let tool = failure.tool.as_deref()?;
        let variant = self.view_in_force().call_variant(server, tool)?;
        Some(NextStep::CallAs {
            variant: variant.as_str().into(),
            tool: tool.into(),
        })
    }

    fn why_unavailable(&self, server: &str) -> Option<String> {
        let reason = self.server(server).ok()?.last_error?;
        Some(format!("the server {server:?} is not available: {reason}"))
    }

    /// The next step after a call that a server answered with an error of its own.
    pub fn after_rpc_error(&self, server: &str, tool: &str, code: i64) -> NextStep {
        if code == RpcError::INVALID_PARAMS {
            return NextStep::ShowTool { tool: tool.into() };
        }
        self.step_at_its_log(server)
    }

    /// The step where only the server can say why.
    fn step_at_its_log(&self, server: &str) -> NextStep {
        let row = self.server(server).ok();
        let is_remote = row.is_some_and(|row| row.transport != Some(TransportKind::Stdio));
        if is_remote {
            without_command(NextStep::act(
                "read the log on its host, or tell its operator",
            ))
        } else {
            NextStep::ReadLog
        }
    }
}

/// The configured server that was probably meant, usable or not.
pub(super) fn closest_server<'a>(settings: &'a Settings, wanted: &str) -> Option<&'a str> {
    let known = settings.servers.keys().map(ServerName::as_str);
    names::closest(
        wanted,
        known.chain(settings.broken.iter().map(|broken| &*broken.name)),
    )
}

/// A step from the server's row in the same words over REST, because it names no command.
pub(super) fn without_command(step: NextStep) -> NextStep {
    match step {
        NextStep::Act { how, .. } => NextStep::act(how.clone()).or_request(how),
        step => step,
    }
}

/// The names of the tools that a server lists.
fn tools_of<'a>(lists: &'a Snapshot, server: &str) -> impl Iterator<Item = &'a str> {
    let known = lists.servers.get(server).into_iter();
    known.flat_map(|known| known.tools.iter().map(|tool| &*tool.name))
}
