//! What a caller is told of a refusal: what may not be had, which name may have been meant, and the next step. Pure.

use super::{Refusal, Rules, held_refusal};
use crate::{
    access::{Caller, ShownToken},
    config::{BrokenEntry, IssuedToken},
    failure::{ErrorCode, Failure, NextStep},
    text::{ServerName, names},
    trust::approvals::ThingKind,
    wire::{Target, Thing, TooLong, method},
};

/// Servers that a refusal names.
const NAMED: usize = 8;

impl Rules<'_> {
    /// The failure for the caller to whom it was refused.
    pub(super) fn explained(self, caller: &Caller, server: &str, refusal: &Refusal<'_>) -> Failure {
        let failure = match refusal {
            Refusal::NoEntry(broken) => self.no_entry(caller, server, *broken),
            Refusal::Denied(Thing::Tool(tool)) => {
                denied(server, &Thing::Tool(tool.clone())).of_tool(&**tool)
            }
            Refusal::Denied(thing) => denied(server, thing),
            Refusal::BeyondToken(Thing::Tool(tool), token) => beyond(token).of_tool(&**tool),
            Refusal::BeyondToken(_, token) => beyond(token),
            Refusal::Disabled => disabled(server),
            Refusal::Quarantined(Thing::Tool(tool)) => quarantined(server).of_tool(tool.as_ref()),
            Refusal::Quarantined(_) => quarantined(server),
            Refusal::ToolOff(tool) => self.tool_off(server, tool).of_tool(*tool),
            Refusal::UnknownTool(tool) => self.unknown_tool(caller, server, tool).of_tool(*tool),
            Refusal::UnknownPrompt(prompt) => self.unknown_prompt(caller, server, prompt),
            Refusal::Held(thing, kind, hold) => held_refusal::refusal(server, thing, *kind, *hold),
            Refusal::TooLong(why) => too_long(*why),
        };
        failure.of_server(server)
    }

    /// The failure for a caller that looks after servers, usable or not, and names one which does not exist, or of which it may not know.
    pub fn unknown_server(self, caller: &Caller, server: &str) -> Failure {
        let is_shown = |name: &str| self.shows(caller, name);
        self.no_such(caller, server, is_shown, is_shown)
            .of_server(server)
    }

    fn no_entry(self, caller: &Caller, server: &str, broken: Option<&BrokenEntry>) -> Failure {
        if let Some(broken) = broken {
            let step = broken.step();
            let error = match step.lacking().filter(|_| !caller.is_operator()) {
                Some(thing) => format!("{server} lacks {thing}"),
                None => format!("the server {server:?} cannot be used: {}", broken.reason),
            };
            let hint = format!("Tell the user; continue without {server}.");
            return Failure::for_agents(ErrorCode::ServerMisconfigured, error, hint, step);
        }
        let lists = Target::method_alone(method::TOOLS_LIST);
        let is_visible = |name: &str| self.permit(caller, name, &lists).is_ok();
        self.no_such(caller, server, is_visible, |name| self.offers(caller, name))
    }

    /// `may_be_meant` says which may be the one, and `is_named` which are named where none is.
    fn no_such(
        self,
        caller: &Caller,
        server: &str,
        may_be_meant: impl Fn(&str) -> bool,
        is_named: impl Fn(&str) -> bool,
    ) -> Failure {
        let known = self.settings.servers.keys().map(ServerName::as_str);
        let broken = self.settings.broken.iter().map(|broken| &*broken.name);
        let known: Vec<&str> = known.chain(broken).collect();
        let close = names::closest_allowed(server, known.iter().copied(), may_be_meant);
        let hint = match close {
            Some(close) => names::did_you_mean(&[close]),
            None => listed(known.into_iter().filter(|name| is_named(name))),
        };
        let error = match (caller.token(self.settings), caller.profile()) {
            (ShownToken::None, None) => format!("no server {server:?} is configured"),
            (ShownToken::None, Some(name)) => {
                format!("the profile {name:?} has no server {server:?}")
            }
            _ => format!("this token gives no access to a server {server:?}"),
        };
        let step = NextStep::ShowServers;
        Failure::for_agents(ErrorCode::UnknownServer, error, hint, step).with_closest(close)
    }

    fn unknown_tool(self, caller: &Caller, server: &str, tool: &str) -> Failure {
        let listed = self.snapshot.servers.get(server);
        let known = listed.map(|listed| &listed.tools[..]).unwrap_or_default();
        let is_unusable = listed.is_some_and(|listed| listed.lacks_usable(tool));
        // A name that a held definition brings is a stranger's text, too.
        let is_visible = |name: &str| {
            !self.snapshot.hides(server, ThingKind::Tool, name)
                && self.permit(caller, server, &Target::tool(name)).is_ok()
        };
        let names = known.iter().map(|tool| &*tool.name);
        let own = tool
            .strip_prefix(server)
            .and_then(|rest| rest.strip_prefix(':'));
        let close = names::closest_allowed(own.unwrap_or(tool), names, is_visible);
        let hint = match close {
            Some(close) => names::did_you_mean(&[close]),
            None if listed.is_none() => "Try again in a moment, or tell the user.".to_owned(),
            None if known.is_empty() || is_unusable => {
                "Use another server, or tell the user.".to_owned()
            }
            None => "Find its exact name: search for the tool, or list the tools.".to_owned(),
        };
        let error = match listed {
            None => format!("the tools of the server {server:?} are not known"),
            Some(_) if is_unusable => format!("the server {server:?} has no usable tool {tool:?}"),
            Some(_) if known.is_empty() => format!("the server {server:?} has no tools at all"),
            Some(_) => format!("the server {server:?} has no tool {tool:?}"),
        };
        let step = NextStep::ShowTools;
        Failure::for_agents(ErrorCode::UnknownTool, error, hint, step).with_closest(close)
    }

    fn tool_off(self, server: &str, tool: &str) -> Failure {
        let what = match self.snapshot.servers.get(server) {
            Some(listed) if listed.tool(tool).is_none() => "is not among its enabled tools",
            _ => "is disabled",
        };
        let error = format!("the tool {tool:?} of server {server:?} {what}");
        let hint = "Use another tool; only the user can enable this one.";
        Failure::for_agents(ErrorCode::ToolDisabled, error, hint, NextStep::ShowServer)
    }

    fn unknown_prompt(self, caller: &Caller, server: &str, prompt: &str) -> Failure {
        let known = self.snapshot.servers.get(server);
        let names = known.iter().flat_map(|known| known.prompts.iter());
        let is_visible = |name: &str| {
            !self.snapshot.hides(server, ThingKind::Prompt, name)
                && self.permit(caller, server, &Target::prompt(name)).is_ok()
        };
        let names = names.map(|prompt| &*prompt.name);
        let hint = match names::closest_allowed(prompt, names, is_visible) {
            Some(close) => names::did_you_mean(&[close]),
            None => "Look the name up in the list of prompts.".to_owned(),
        };
        let error = format!("the server {server:?} has no prompt {prompt:?}");
        Failure::not_run(ErrorCode::UnknownPrompt, error, hint)
    }
}

/// The servers as a hint names them.
fn listed<'a>(servers: impl Iterator<Item = &'a str>) -> String {
    let mut servers: Vec<&str> = servers.collect();
    match &servers[..] {
        [] => "No server can be used: tell the user.".to_owned(),
        [one] => format!("The only server is {one}."),
        _ => {
            servers.sort_unstable();
            let (named, others) = servers.split_at(servers.len().min(NAMED));
            let more = match others.len() {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            format!("The servers are {}{more}.", named.join(", "))
        }
    }
}

/// The refusal of whatever access rules keep from a caller: the same on every way in.
fn denied(server: &str, thing: &Thing<'_>) -> Failure {
    let of_server = format!("of server {server:?}");
    let what = match thing {
        Thing::Tool(name) => format!("the tool {name:?} {of_server}"),
        Thing::Prompt(name) => format!("the prompt {name:?} {of_server}"),
        Thing::Resource(uri) => format!("the resource {uri:?} {of_server}"),
        Thing::Task(_) | Thing::Nothing => format!("the server {server:?}"),
    };
    access_denied(&what)
}

/// The same for a tool of our own.
pub(super) fn denied_built_in(tool: &str) -> Failure {
    access_denied(&format!("the tool {tool:?}")).of_tool(tool)
}

fn access_denied(what: &str) -> Failure {
    let error = format!("access rules deny you {what}");
    let hint = "Tell the user; continue without it.";
    Failure::for_agents(ErrorCode::AccessDenied, error, hint, NextStep::ShowServer)
}

/// The refusal of a call that is more than the caller's token allows.
pub(super) fn beyond(token: &IssuedToken) -> Failure {
    let error = format!(
        "access denied: the token {:?} {}",
        token.name,
        token.calls.in_words()
    );
    let hint = "Tell the user that this needs a token with more rights.";
    Failure::for_agents(ErrorCode::AccessDenied, error, hint, NextStep::ShowTokens)
}

fn too_long(why: TooLong) -> Failure {
    let hint = "Copy the name or URI exactly from a list.";
    Failure::not_run(ErrorCode::InvalidArguments, why.to_string(), hint)
}

fn disabled(server: &str) -> Failure {
    let error = format!("the server {server:?} is disabled");
    let hint = "Tell the user that it is disabled; continue without it.";
    Failure::for_agents(ErrorCode::ServerDisabled, error, hint, NextStep::Enable)
}

fn quarantined(server: &str) -> Failure {
    let error = format!("the server {server:?} is quarantined");
    let hint = "Tell the user that it awaits their review. Do not reach it another way.";
    Failure::for_agents(ErrorCode::ServerQuarantined, error, hint, NextStep::Review)
}
