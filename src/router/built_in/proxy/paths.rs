//! Finds what a `path` names: a tool or a prompt by its offered name or as `server:name`, a resource or a template by its URI or its name.
//! What the caller may not see makes no path ambiguous; the gate refuses it.

use std::sync::Arc;

use super::super::{BuiltIn, Call, find};
use crate::{
    access::Caller,
    catalog::{Owner, ServerCatalog, Snapshot, Template, closest_template, fits},
    failure::{ErrorCode, Failure, NextStep, Result},
    gate::Moment,
    router::{RequestError, resources::unknown_resource},
    text::{names::ServerName, some_of},
    wire::{Raw, Target},
};

/// Built-in tools that cannot be used through this one.
const BARRED: [&str; 2] = ["code_execution", "proxy"];

/// How many things an error names where a path fits several.
const NAMED: usize = 4;

/// Whether a built-in tool cannot be used through this one.
pub(super) fn is_barred(tool: &str) -> bool {
    BARRED.contains(&tool)
}

/// A tool that a path names.
pub(super) enum NamedTool {
    Own(&'static BuiltIn),
    /// By server and own name, whether the caller may have it or not.
    OfServer(String, String),
}

/// A resource that a path names.
pub(super) struct NamedResource {
    /// The server, and its own URI or template.
    pub(super) owner: Owner,
    /// The URI, or the template, as clients see it.
    pub(super) offered: String,
    pub(super) kind: ResourceKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResourceKind {
    /// One that is listed.
    Listed,
    /// A template, which is no URI yet.
    Template,
    /// A URI that is in no list. A template may describe it.
    Unlisted,
}

/// A listed resource or template that a path may name.
struct Candidate<'a> {
    server: &'a ServerName,
    own: &'a str,
    kind: ResourceKind,
    by: MatchedBy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MatchedBy {
    /// `server:URI`, which comes before all others.
    ServerAndUri,
    Uri,
    Name,
}

/// The tool that a path names.
pub(super) async fn tool(call: &Call<'_>, path: &str) -> Result<NamedTool, RequestError> {
    if is_barred(path) {
        let error = format!("{path:?} cannot be called through proxy");
        let hint = format!("Call {path} directly if it is listed, or use another tool.");
        let (code, step) = (ErrorCode::InvalidArguments, NextStep::ShowTools);
        return Err(Failure::for_agents(code, error, hint, step).into());
    }
    if let Some(own) = find(path) {
        return Ok(NamedTool::Own(own));
    }
    if let Some((server, tool)) = path.split_once(':') {
        return Ok(NamedTool::OfServer(server.to_owned(), tool.to_owned()));
    }
    let (server, tool) = call.router.offered_tool(call.context, path).await?;
    Ok(NamedTool::OfServer(server.to_string(), tool.into()))
}

/// The server of the prompt that a path names, and its own name for it.
pub(super) async fn prompt(call: &Call<'_>, path: &str) -> Result<(String, String)> {
    let caller = &call.context.caller;
    let Some((server, prompt)) = path.split_once(':') else {
        let (server, prompt) = call.router.offered_prompt(caller, path)?;
        return Ok((server.to_string(), prompt.into()));
    };
    let target = Target::prompt(prompt);
    call.router.ensure_known(caller, server, &target).await?;
    let now = call.now();
    now.rules().decide(caller, server, &target)?;
    let known = now.snapshot().servers.get(server);
    if known.is_some_and(|known| known.prompt(prompt).is_some()) {
        return Ok((server.to_owned(), prompt.to_owned()));
    }
    Err(unknown_prompt(path).of_server(server))
}

/// The failure for a prompt that no server has.
pub(super) fn unknown_prompt(path: &str) -> Failure {
    let error = format!("Unknown prompt: {path:?}");
    let hint = "Look the name up in the list of prompts.";
    Failure::not_run(ErrorCode::UnknownPrompt, error, hint)
}

/// The resource or template that a path names.
pub(super) async fn resource(call: &Call<'_>, path: &str) -> Result<NamedResource, RequestError> {
    let caller = &call.context.caller;
    if let Some(found) = listed(call, path)? {
        return Ok(found);
    }
    let unlisted = |owner| NamedResource {
        owner,
        offered: path.to_owned(),
        kind: ResourceKind::Unlisted,
    };
    let named = path.split_once(':');
    let named = named.filter(|(server, _)| call.router.knows_server(caller, server));
    let Some((server, own)) = named else {
        return Ok(unlisted(call.router.owner_of(call.context, path)?));
    };
    // A server may be named like a scheme.
    if !has_scheme(own)
        && let Ok(owner) = call.router.owner_of(call.context, path)
    {
        return Ok(unlisted(owner));
    }
    let target = Target::resource(own);
    call.router.ensure_known(caller, server, &target).await?;
    if let Some(found) = listed(call, path)? {
        return Ok(found);
    }
    Ok(unlisted_of(&call.now(), caller, server, own)?)
}

/// Whether a text begins as a URI does (RFC 3986, 3.1).
fn has_scheme(text: &str) -> bool {
    let is_of_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(is_of_scheme)
    })
}

/// A URI of this server that is in no list: results may name such URIs. A text without a scheme must fit one of the server's templates.
fn unlisted_of(now: &Moment, caller: &Caller, server: &str, own: &str) -> Result<NamedResource> {
    now.rules().decide(caller, server, &Target::resource(own))?;
    let snapshot = now.snapshot();
    let known = snapshot.servers.get(server);
    let may_be_there = |known: &&Arc<ServerCatalog>| {
        let mut templates = known.templates.iter();
        has_scheme(own) || templates.any(|template| fits(&template.uri_template, own))
    };
    let Some(known) = known.filter(may_be_there) else {
        return Err(unknown_resource(own).of_server(server));
    };
    let offered = snapshot.other_offered(server, own);
    Ok(NamedResource {
        owner: Owner {
            server: known.server.clone(),
            uri: own.into(),
        },
        offered: offered.unwrap_or_else(|| own.to_owned()),
        kind: ResourceKind::Unlisted,
    })
}

/// The listed resource or template that a path names; `None` if it names none, an error if it names several.
fn listed(call: &Call<'_>, path: &str) -> Result<Option<NamedResource>, RequestError> {
    let (now, caller) = (call.now(), &call.context.caller);
    let (rules, snapshot) = (now.rules(), now.snapshot());
    let mut found = fitting(snapshot, path);
    found.retain(|one| rules.reaches(caller, one.server.as_str(), &Target::resource(one.own)));
    if found.iter().any(|one| one.by == MatchedBy::ServerAndUri) {
        found.retain(|one| one.by == MatchedBy::ServerAndUri);
    }
    let allows = |one: &&Candidate<'_>| {
        rules.allows(caller, one.server.as_str(), &Target::resource(one.own))
    };
    let visible: Vec<&Candidate<'_>> = found.iter().filter(allows).collect();
    match (&visible[..], found.first()) {
        ([one], _) => Ok(Some(one.found(snapshot))),
        ([], None) => Ok(None),
        ([], Some(hidden)) => match hidden.refusal(&now, caller, path) {
            Some(refusal) => Err(refusal.into()),
            None => Ok(None),
        },
        (several, _) => Err(call.wrong(several_fit(path, several))),
    }
}

fn several_fit(path: &str, several: &[&Candidate<'_>]) -> String {
    let named = several
        .iter()
        .map(|one| format!("{}:{}", one.server, one.own));
    let named: Vec<String> = named.map(|whole| format!("{whole:?}")).collect();
    let named = some_of(&named, NAMED);
    format!("\"path\" is {path:?}, which fits {named}; write one of these")
}

/// All listed resources and templates that a path may name, each once.
fn fitting<'a>(snapshot: &'a Snapshot, path: &str) -> Vec<Candidate<'a>> {
    let of_uri = snapshot.offered_resource(path);
    let mut found = Vec::new();
    for (server, known) in &snapshot.servers {
        let after_server = path
            .strip_prefix(server.as_str())
            .and_then(|rest| rest.strip_prefix(':'));
        let names = [Some(path), after_server];
        let names: Vec<Raw> = names.iter().flatten().map(Raw::author).collect();
        let resources = known.resources.iter().map(|resource| {
            let is_offered =
                of_uri.is_some_and(|owner| owner.server == *server && owner.uri == resource.uri);
            let own = &*resource.uri;
            (own, ResourceKind::Listed, is_offered, &resource.definition)
        });
        let templates = known.templates.iter().map(|template| {
            let own = &*template.uri_template;
            let is_offered = snapshot.offered_template(server, own) == path;
            (
                own,
                ResourceKind::Template,
                is_offered,
                &template.definition,
            )
        });
        for (own, kind, is_offered, definition) in resources.chain(templates) {
            let by = if after_server == Some(own) {
                MatchedBy::ServerAndUri
            } else if is_offered {
                MatchedBy::Uri
            } else if has_name(definition, &names) {
                MatchedBy::Name
            } else {
                continue;
            };
            found.push(Candidate {
                server,
                own,
                kind,
                by,
            });
        }
    }
    found
}

/// Whether a definition has one of these names.
fn has_name(definition: &Raw, names: &[Raw]) -> bool {
    let name = definition.get("name");
    name.is_some_and(|name| names.iter().any(|wanted| is_text(&name, wanted)))
}

/// Whether a value is this text, however it is escaped.
fn is_text(value: &Raw, wanted: &Raw) -> bool {
    if value == wanted {
        return true;
    }
    let has_escapes = |text: &Raw| text.as_bytes().contains(&b'\\');
    (has_escapes(value) || has_escapes(wanted)) && value.string() == wanted.string()
}

impl Candidate<'_> {
    fn found(&self, snapshot: &Snapshot) -> NamedResource {
        let offered = match self.kind {
            ResourceKind::Template => snapshot.offered_template(self.server, self.own),
            _ => snapshot.offered_uri(self.server, self.own),
        };
        NamedResource {
            owner: Owner {
                server: self.server.clone(),
                uri: self.own.into(),
            },
            offered: offered.into_owned(),
            kind: self.kind,
        }
    }

    /// Why the caller may not have it. Who knows only the name of a denied resource does not learn its URI.
    fn refusal(&self, now: &Moment, caller: &Caller, path: &str) -> Option<Failure> {
        let server = self.server.as_str();
        let target = Target::resource(self.own);
        let refused = now.rules().decide(caller, server, &target).err()?;
        if self.by != MatchedBy::Name || refused.code != ErrorCode::AccessDenied {
            return Some(refused);
        }
        let error = format!("access rules deny you the resource {path:?} of server {server:?}");
        Some(Failure { error, ..refused })
    }
}

/// The template of its server that describes a resource most closely, of those that the caller may see.
pub(super) fn template_of<'a>(
    now: &'a Moment,
    caller: &Caller,
    owner: &Owner,
) -> Option<&'a Template> {
    let known = now.snapshot().servers.get(&owner.server)?;
    let visible = known.templates.iter().filter(|template| {
        let target = Target::resource(&template.uri_template);
        fits(&template.uri_template, &owner.uri)
            && now.rules().allows(caller, owner.server.as_str(), &target)
    });
    closest_template(visible, |_| ())
}
