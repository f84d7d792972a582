//! Failures for operators: the failures that models get, with the next steps of a person, who may read paths and run commands.

use super::{Backing, LEFT_OUT_STEP, LeftOut, Management, ServerRow};
use crate::{
    config::{Settings, TransportKind},
    failure::{ErrorCode, Failure, NextStep},
    text::names::{self, ServerName, as_argument},
    wire::RpcError,
};

impl Management {
    /// A failure with the words and the next step for an operator.
    pub fn for_operator(&self, failure: Failure) -> Failure {
        let failure = self.with_closest(failure);
        let mut step = match failure.step.as_deref().cloned() {
            Some(step) if !step.only_shows() => Some(step),
            own => self.next_step(&failure).map(NextStep::for_all).or(own),
        };
        let error = match (failure.code, &failure.server) {
            (ErrorCode::ServerUnavailable, Some(server)) => self.why_unavailable(server),
            (ErrorCode::UnknownTool, Some(server)) => self.why_unusable(server, &failure),
            (ErrorCode::LoginRequired, Some(server)) if step == Some(NextStep::LogIn) => {
                self.login_obstacle(server).map(|(why, first)| {
                    step = Some(first);
                    format!("{}, and {why}", failure.error)
                })
            }
            _ => None,
        };
        Failure {
            error: error.unwrap_or_else(|| failure.whole()),
            aside: None,
            step: step.map(Box::new),
            ..failure
        }
        .over_rest()
    }

    /// Names the tool that was probably meant.
    fn with_closest(&self, failure: Failure) -> Failure {
        let (ErrorCode::UnknownTool, Some(server)) = (failure.code, failure.server.as_deref())
        else {
            return failure;
        };
        let wanted = failure.tool.as_deref().unwrap_or_default();
        let lists = self.view_in_force().lists;
        let known = lists.servers.get(server).into_iter();
        let known = known.flat_map(|known| known.tools.iter().map(|tool| &*tool.name));
        let closest = names::closest(wanted, known);
        let closest = closest.filter(|close| *close != wanted);
        let closest = closest.map(|close| format!("{server}:{close}"));
        failure.with_closest(closest.as_deref())
    }

    fn next_step(&self, failure: &Failure) -> Option<NextStep> {
        let file = self.config_file().display();
        let server = failure.server.as_deref();
        match (failure.code, server) {
            (ErrorCode::UnknownTool, Some(server)) => {
                let wanted = failure.tool.as_deref().unwrap_or_default();
                match self.view_in_force().lists.servers.get(server) {
                    None => Some(NextStep::Restart),
                    Some(listed) if listed.lacks_usable(wanted) => {
                        Some(NextStep::act(LEFT_OUT_STEP))
                    }
                    // It was listed: another start lists the same.
                    Some(listed) if listed.tools.is_empty() => Some(
                        NextStep::act("`mcpproxy tools list` lists the tools of all servers")
                            .or_request("GET /api/v1/tools lists the tools."),
                    ),
                    Some(_) => None,
                }
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
            (ErrorCode::ServerUnavailable, Some(server)) => {
                self.unavailable(server).and_then(ServerRow::own_step)
            }
            (code, Some(server)) if code.may_have_run() && self.server(server).is_ok() => {
                let has_log = !self.0.recent_log(server, 1).is_empty();
                Some(NextStep::CheckCall { has_log })
            }
            (code, Some(server)) => self.view_in_force().next_step(code, server),
            _ => None,
        }
    }

    /// Why no login to a server can work as things are, and what has to be done first.
    fn login_obstacle(&self, server: &str) -> Option<(String, NextStep)> {
        let error = self.0.connections(server).login_obstacle?;
        let step = error.lasting_step(server)?;
        Some((format!("the last login failed: {error}"), step))
    }

    /// The row of a server that is not available. Another login is for calls that it refused before.
    fn unavailable(&self, server: &str) -> Option<ServerRow> {
        let row = self.server(server).ok()?;
        (row.step != Some(NextStep::LogIn)).then_some(row)
    }

    fn why_unavailable(&self, server: &str) -> Option<String> {
        let reason = self.unavailable(server)?.last_error?;
        Some(format!("the server {server:?} is not available: {reason}"))
    }

    /// What it lists of its tools that cannot be used, where the wanted one is missing for that.
    fn why_unusable(&self, server: &str, failure: &Failure) -> Option<String> {
        let view = self.view_in_force();
        let listed = view.lists.servers.get(server)?;
        let left_out = LeftOut::of(listed, &view.settings.servers.get(server)?.secrets)?;
        let is_it = listed.lacks_usable(failure.tool.as_deref()?);
        is_it.then(|| format!("{}; {left_out}", failure.error))
    }

    /// The next step after a call that a server answered with an error of its own: its arguments, or the log where the server may say more.
    pub fn after_rpc_error(&self, server: &str, tool: &str, code: i64) -> NextStep {
        let row = self.server(server).ok();
        let is_program = row.is_some_and(|row| row.transport == Some(TransportKind::Stdio));
        let has_log = !self.0.recent_log(server, 1).is_empty();
        let is_of_params = code == RpcError::INVALID_PARAMS;
        if has_log && !is_of_params {
            NextStep::ReadLog
        } else if is_program || is_of_params {
            NextStep::ShowTool { tool: tool.into() }
        } else {
            NextStep::act("read the log on its host, or tell its operator").for_all()
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
