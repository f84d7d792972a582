//! Finds the server of a tool or prompt by the name that endpoints of many servers offer, and explains why a name is not offered.

use futures_util::future::join_all;

use super::{Router, built_in};
use crate::{
    access::Caller,
    call_context::CallContext,
    config::Settings,
    failure::{ErrorCode, Failure, NextStep, Result},
    text::names::{self, ServerName},
    trust::approvals::ThingKind,
    wire::Target,
};

impl Router {
    /// The server of the tool that is offered under this name, and its own name for it.
    pub(super) async fn offered_tool(
        &self,
        context: &CallContext,
        offered: &str,
    ) -> Result<(ServerName, Box<str>)> {
        let caller = &context.caller;
        if let Some(found) = self.find_tool(caller, offered) {
            return Ok(found);
        }
        // Boxed, because it is large and rare.
        let unavailable = Box::pin(self.discover_owners_of(context, offered)).await;
        if let Some(found) = self.find_tool(caller, offered) {
            return Ok(found);
        }
        let refused = self.refusal_of_unlisted(caller, offered).or(unavailable);
        Err(refused.unwrap_or_else(|| self.unknown_tool(caller, offered)))
    }

    /// The same, without waiting for lists.
    pub(super) fn find_tool(
        &self,
        caller: &Caller,
        offered: &str,
    ) -> Option<(ServerName, Box<str>)> {
        let snapshot = self.0.catalog.seen_by(caller);
        let (server, tool) = snapshot.offered_tool(offered)?;
        self.reaches(caller, server, &Target::tool(&tool.name))
            .then(|| (server.clone(), tool.name.clone()))
    }

    /// The server of the prompt that is offered under this name, and its own name for it.
    pub(super) fn offered_prompt(
        &self,
        caller: &Caller,
        offered: &str,
    ) -> Result<(ServerName, Box<str>)> {
        let now = self.0.gate.now_for(caller);
        let (snapshot, rules) = (now.snapshot(), now.rules());
        if let Some((server, prompt)) = snapshot.offered_prompt(offered)
            && rules.reaches(caller, server.as_str(), &Target::prompt(&prompt.name))
        {
            return Ok((server.clone(), prompt.name.clone()));
        }
        let absence = servers_named_in(now.settings(), offered).find_map(|(server, _)| {
            let server = server.as_str();
            let is_absent = !snapshot.servers.contains_key(server) && rules.offers(caller, server);
            is_absent.then(|| self.absence(server))?
        });
        if let Some(failure) = absence {
            return Err(failure);
        }
        let is_visible = |name: &str| {
            snapshot
                .offered_prompt(name)
                .is_some_and(|(server, prompt)| {
                    !snapshot.hides(server.as_str(), ThingKind::Prompt, &prompt.name)
                        && rules.allows(caller, server.as_str(), &Target::prompt(&prompt.name))
                })
        };
        let known = snapshot.offered_prompt_names();
        let close = names::closest_allowed(offered, known, is_visible);
        Err(unknown(ErrorCode::UnknownPrompt, offered, close))
    }

    /// The refusal of a name that no list has, if it begins with the name of a server that may not be used. The rules deny a tool whether it
    /// exists or not, so that nobody learns which.
    fn refusal_of_unlisted(&self, caller: &Caller, offered: &str) -> Option<Failure> {
        let now = self.0.gate.now_for(caller);
        servers_named_in(now.settings(), offered).find_map(|(server, tool)| {
            let (server, target) = (server.as_str(), Target::tool(tool));
            if let Some(denial) = now.rules().denial(caller, server, &target) {
                return Some(denial);
            }
            let refused = now.rules().decide(caller, server, &target);
            refused.err().filter(|failure| {
                matches!(
                    failure.code,
                    ErrorCode::ServerQuarantined
                        | ErrorCode::ServerDisabled
                        | ErrorCode::ServerMisconfigured
                )
            })
        })
    }

    /// Waits for the lists of all servers with whose names an unknown name begins. Gives the failure of the server that the name means, if
    /// that has no lists still.
    async fn discover_owners_of(&self, context: &CallContext, offered: &str) -> Option<Failure> {
        let caller = &context.caller;
        let snapshot = self.0.catalog.snapshot();
        let settings = self.settings();
        let may_be_its = |server: &&ServerName| {
            !snapshot.servers.contains_key(*server)
                && names::may_own(server, offered)
                && self.0.gate.offers(caller, server.as_str())
        };
        let candidates: Vec<&ServerName> = settings.servers.keys().filter(may_be_its).collect();
        if candidates.is_empty() {
            return None;
        }
        let listed = {
            let _waits = context.course.wait();
            let listing = candidates
                .iter()
                .map(|server| self.ensure_listed(server.as_str()));
            join_all(listing).await
        };
        let mut unavailable = None;
        for (server, listed) in candidates.into_iter().zip(listed) {
            let Err(failure) = listed else { continue };
            tracing::debug!(%server, %failure, "a server that a call may be for is not available");
            let tool = names::tool_part(server, offered).map(Target::tool);
            let knows = |target| self.0.gate.knows(caller, server.as_str(), &target).is_ok();
            if tool.is_some_and(knows) {
                unavailable = Some(failure);
            }
        }
        unavailable
    }

    fn unknown_tool(&self, caller: &Caller, offered: &str) -> Failure {
        let now = self.0.gate.now_for(caller);
        let (snapshot, rules) = (now.snapshot(), now.rules());
        let is_visible = |name: &str| {
            if let Some((server, tool)) = snapshot.offered_tool(name) {
                return rules.allows(caller, server.as_str(), &Target::tool(&tool.name));
            }
            let is_listed = name != "call_tool" || now.settings().legacy_call_tool;
            is_listed && rules.permits_built_in(caller, name)
        };
        // Long names are offered in a shorter form; this may be the full one.
        let in_full = servers_named_in(now.settings(), offered).find_map(|(server, tool)| {
            let shorter = names::offered(&server, &snapshot.tool(server.as_str(), tool)?.name);
            (shorter != offered && is_visible(&shorter)).then_some(shorter)
        });
        let known = built_in::names().chain(snapshot.offered_tool_names());
        let close = || names::closest_allowed(offered, known, is_visible);
        unknown(
            ErrorCode::UnknownTool,
            offered,
            in_full.as_deref().or_else(close),
        )
    }
}

/// The failure of a name that no list has, with the name that may be meant.
fn unknown(code: ErrorCode, offered: &str, close: Option<&str>) -> Failure {
    let (error, look_up) = match code {
        ErrorCode::UnknownPrompt => ("Unknown prompt", "Look the name up in the list of prompts."),
        _ => (
            "Unknown tool",
            "Find its name with retrieve_tools, or list the tools.",
        ),
    };
    let hint = close.map_or_else(|| look_up.to_owned(), |close| names::did_you_mean(&[close]));
    let error = format!("{error}: {offered:?}");
    Failure::for_agents(code, error, hint, NextStep::ShowTools)
}

/// The configured servers with whose names an offered name begins, and the rest of the name after each.
pub(super) fn servers_named_in<'a>(
    settings: &'a Settings,
    offered: &'a str,
) -> impl Iterator<Item = (ServerName, &'a str)> {
    let broken = settings.broken.iter();
    let broken = broken.filter_map(|entry| ServerName::parse(&entry.name).ok());
    let configured = settings.servers.keys().cloned().chain(broken);
    configured.filter_map(move |server| {
        let own_name = names::tool_part(&server, offered)?;
        Some((server, own_name))
    })
}
