//! `mcpproxy access`: whether a caller may use a tool, prompt or resource, and which rule decides.

use clap::{Args, Subcommand};
use http::Method;

use super::{CommandFailure, Done, Location, Output, connection, output, tool_name};
use crate::{
    daemon_client,
    failure::ErrorCode,
    management::{AccessQuestion, AccessVerdict, AskedKind},
    router,
    text::names,
};

/// Check access to tools, and find the rule that decides
#[derive(Debug, Subcommand)]
pub(super) enum AccessCommand {
    Check(CheckAccess),
}

/// Check whether a caller may use a tool, prompt or resource
///
/// Calls no tool. Exits with code 0 if allowed, with 4 if not.
#[derive(Debug, Args)]
pub(super) struct CheckAccess {
    /// A token's subject, a user's name, `anonymous` or `operator`
    #[arg(value_name = "SUBJECT")]
    subject: String,
    /// The tool, or a built-in one such as `retrieve_tools`
    #[arg(value_name = "SERVER:TOOL")]
    thing: String,
    /// A role, instead of the token's; may be repeated
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,
    /// Check a prompt, SERVER:PROMPT
    #[arg(long, conflicts_with = "resource")]
    prompt: bool,
    /// Check a resource, SERVER:URI
    #[arg(long)]
    resource: bool,
    /// Check at the endpoint of this profile, `/mcp/p/NAME`
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
}

impl AccessCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        match self {
            Self::Check(check) => check.run(location, out).await,
        }
    }
}

impl CheckAccess {
    async fn run(self, location: &Location, out: Output) -> Done {
        let files = location.files()?;
        let question = self.question()?;
        let mut daemon = connection::open_or_files(&files, out).await?;
        let (path, body) = ("/api/v1/access/check", output::as_json(&question)?);
        let body = daemon.ask(Method::POST, path, body).await?;
        let verdict: AccessVerdict = daemon_client::read(path, &body)?;
        let (is_allowed, step) = (verdict.allowed, next_step(&verdict));
        out.answer(path, &body, print)?;
        if is_allowed {
            return Ok(());
        }
        if let Some(step) = step {
            out.next(&step);
        }
        // The printed verdict has the reason.
        let code = verdict.code.as_deref().and_then(ErrorCode::parse);
        Err(CommandFailure::refused("").of_code(code).shown())
    }

    fn question(self) -> Done<AccessQuestion> {
        let parts = tool_name::parts(&self.thing);
        let kind = match (self.prompt, self.resource, parts) {
            (true, ..) => AskedKind::Prompt,
            (_, true, _) => AskedKind::Resource,
            (_, _, Some(_)) if !router::is_built_in(&self.thing) => AskedKind::Tool,
            // The answer says what else a name without a server may mean.
            _ => AskedKind::BuiltIn,
        };
        let (server, name) = match (kind, parts) {
            (AskedKind::BuiltIn, _) => (None, self.thing.as_str()),
            (_, Some((server, name))) => (Some(server.to_owned()), name),
            (_, None) => {
                let thing = &self.thing;
                let what = format!("{thing:?} names no server");
                return Err(CommandFailure::usage(what).next(format!("write SERVER:{thing}")));
            }
        };
        Ok(AccessQuestion {
            subject: self.subject,
            roles: self.roles,
            profile: self.profile,
            kind,
            server,
            name: name.to_owned(),
        })
    }
}

fn next_step(verdict: &AccessVerdict) -> Option<String> {
    let server = verdict.server.as_deref().unwrap_or_default();
    let step = verdict.step.as_ref()?.at_terminal(server);
    let meant = verdict.closest.as_ref();
    let meant = meant.map(|closest| names::did_you_mean(&[closest]) + " ");
    Some(meant.unwrap_or_default() + &step)
}

fn print(verdict: AccessVerdict) -> Done {
    let is_unknown = verdict.is_unknown();
    let roles = match &verdict.roles[..] {
        [] => "none".to_owned(),
        roles => roles.join(", "),
    };
    let thing = match &verdict.server {
        Some(server) => format!("{server}:{}", verdict.name),
        None => verdict.name,
    };
    let word = match (verdict.allowed, is_unknown) {
        (true, _) => "allowed",
        (_, true) => "not found",
        _ => "denied",
    };
    let mut facts = vec![
        ("caller", verdict.subject),
        ("roles", roles),
        ("asks for", thing),
        ("verdict", word.to_owned()),
        ("because", verdict.reason),
    ];
    facts.extend(verdict.profile.map(|profile| ("profile", profile)));
    facts.extend(verdict.note.map(|note| ("note", note)));
    output::print_facts(facts)
}
