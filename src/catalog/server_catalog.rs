//! One server's part of the catalog: every definition as it came, with the few parsed fields that routing and search need.

mod lookups;

use std::{fmt, sync::OnceLock};

use serde::Deserialize;

pub(super) use self::lookups::Lookups;
use super::uri_templates::{LooseTemplate, literal_length};
use crate::{
    runtime::sync::Guarded,
    text::{Secrets, ServerName},
    trust::{
        approvals::ThingKind,
        fingerprint::Fingerprint,
        scanner::{Relations, WordedEffect},
    },
    wire::{Raw, Revision, header_params::HeaderParam},
};

/// The declarations of a connection, all raw.
#[derive(Debug, Clone, PartialEq)]
pub struct Listing {
    /// The result of `initialize`, or of `server/discover` where the revision has no handshake.
    pub initialize: Raw,
    /// The revision that was agreed.
    pub revision: Revision,
    /// Tool definitions, in the server's order.
    pub tools: Vec<Raw>,
    /// Prompt definitions.
    pub prompts: Vec<Raw>,
    /// Resource definitions.
    pub resources: Vec<Raw>,
    /// Resource template definitions.
    pub templates: Vec<Raw>,
}

/// One server's part of the catalog. Immutable, but for what is derived from it on first use.
#[derive(Debug)]
pub struct ServerCatalog {
    /// The server.
    pub server: ServerName,
    /// The fingerprint of the configuration that it was listed under.
    pub entry: Box<str>,
    /// The lists as they came.
    pub listing: Listing,
    /// Tools, in the server's order, each name once.
    pub tools: Vec<Tool>,
    /// Prompts, in the server's order, each name once.
    pub prompts: Vec<Prompt>,
    /// Resources, in the server's order, each URI once.
    pub resources: Vec<Resource>,
    /// Resource templates, in the server's order.
    pub templates: Vec<Template>,
    /// Definitions that were left out, or that lists of all servers leave out.
    pub problems: Vec<Problem>,
    /// Whether the scanner objects to the server's instructions.
    pub has_suspicious_instructions: bool,
    pub(super) lookups: Lookups,
    /// Cached, because each call reads it.
    pub(super) takes_log_level: bool,
    /// Made on first use.
    pub(super) relations: OnceLock<Relations>,
}

/// A definition with which something is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its kind, with its name or number.
    pub subject: String,
    /// What is wrong with it.
    pub why: String,
    /// Whether the definition was left out for that.
    pub is_left_out: bool,
    /// The kind of thing that it defines.
    pub kind: ThingKind,
    /// The name or URI in it, as far as it can be read.
    pub name: Option<Box<str>>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.subject, self.why)
    }
}

/// A tool.
#[derive(Debug)]
pub struct Tool {
    /// The server's own name for it.
    pub name: Box<str>,
    /// The name under which clients see it.
    pub offered: Box<str>,
    /// The description, empty if there is none.
    pub description: Box<str>,
    /// The hints that the server gives about its effects.
    pub hints: Hints,
    /// The definition as it came.
    pub definition: Raw,
    /// Detects a change of what a model or a client acts on.
    pub fingerprint: Fingerprint,
    /// Whether it may stand in a list of all servers: some clients refuse the whole list where the schema of one tool's arguments does not
    /// say that it describes an object. Searches find the tool in any case, and it can be called.
    pub listable: bool,
    /// Arguments that HTTP requests repeat in headers; none if the annotations for that are wrong.
    pub header_params: Box<[HeaderParam]>,
    /// The URIs of its views (MCP Apps), whether its server lists them or not.
    pub views: Box<[Box<str>]>,
    /// Whether the scanner objects to it, scanned on first use.
    pub(super) is_suspicious: OnceLock<bool>,
    /// Made on first use.
    pub(super) worded_effect: OnceLock<WordedEffect>,
    /// Whether it repeats one of these secrets, the last ones that were looked for.
    pub(super) repeated: Guarded<Option<(Secrets, bool)>>,
}

impl Tool {
    /// The effect that its name and description state.
    pub fn worded_effect(&self) -> WordedEffect {
        let read = || WordedEffect::of(&self.name, &self.description);
        *self.worded_effect.get_or_init(read)
    }
}

/// The annotations that decide how a tool may be called; `None` where the server does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Hints {
    /// It changes nothing.
    #[serde(rename = "readOnlyHint")]
    pub read_only: Option<bool>,
    /// It may destroy something.
    #[serde(rename = "destructiveHint")]
    pub destructive: Option<bool>,
}

/// A prompt.
#[derive(Debug)]
pub struct Prompt {
    /// The server's own name for it.
    pub name: Box<str>,
    /// The name under which clients see it.
    pub offered: Box<str>,
    /// The definition as it came.
    pub definition: Raw,
    /// Whether the scanner objects to that.
    pub is_suspicious: bool,
    /// Detects a change of its texts.
    pub texts: Fingerprint,
}

/// A resource.
#[derive(Debug)]
pub struct Resource {
    /// Its URI.
    pub uri: Box<str>,
    /// The definition as it came.
    pub definition: Raw,
    /// Whether the scanner objects to that.
    pub is_suspicious: bool,
    /// Detects a change of its texts.
    pub texts: Fingerprint,
}

/// A resource template.
#[derive(Debug)]
pub struct Template {
    /// Its URI template (RFC 6570).
    pub uri_template: Box<str>,
    /// The definition as it came.
    pub definition: Raw,
    /// Whether the scanner objects to that.
    pub is_suspicious: bool,
    /// Detects a change of its texts.
    pub texts: Fingerprint,
    pub(super) loose: LooseTemplate,
}

/// Of templates that fit a URI, the one with the most literal text; of several, the one with the highest rank.
pub fn closest_template<'a, R: Ord>(
    templates: impl Iterator<Item = &'a Template>,
    rank: impl Fn(&Template) -> R,
) -> Option<&'a Template> {
    templates.max_by_key(|one| (literal_length(&one.uri_template), rank(one)))
}

impl ServerCatalog {
    /// Whether both list the same tools, in whatever order.
    pub fn has_tools_of(&self, other: &Self) -> bool {
        self.tools.len() == other.tools.len() && self.has_all_tools_of(other)
    }

    /// Whether it lists every tool that the other does.
    pub fn has_all_tools_of(&self, other: &Self) -> bool {
        other.tools.iter().all(|tool| self.lists(tool))
    }

    /// Whether it lists a tool of this name and fingerprint.
    pub(super) fn lists(&self, tool: &Tool) -> bool {
        let known = self.tool(&tool.name);
        known.is_some_and(|known| known.fingerprint == tool.fingerprint)
    }

    /// The server's instructions for clients.
    pub fn instructions(&self) -> Option<String> {
        self.raw_instructions()?.string()
    }

    /// The server's instructions as they came.
    pub(super) fn raw_instructions(&self) -> Option<Raw> {
        self.listing.initialize.get("instructions")
    }

    /// The same, unless they are blank.
    pub(super) fn worded_instructions(&self) -> Option<Raw> {
        let words = self.raw_instructions();
        words.filter(|words| match words.string() {
            Some(text) => !text.trim().is_empty(),
            // Of a text that is not Unicode nobody knows that it is empty.
            None => words.as_bytes().starts_with(b"\""),
        })
    }

    /// What in its lists may refer to other servers, and what in theirs may refer to it.
    pub(in crate::catalog) fn relations(&self) -> &Relations {
        self.relations.get_or_init(|| {
            let tools = self.tools.iter();
            let tools = tools.map(|tool| (&*tool.name, &tool.definition));
            let instructions = self.raw_instructions();
            Relations::of(self.server.as_str(), tools, instructions.as_ref())
        })
    }

    /// The capabilities object of the opening.
    pub fn capabilities(&self) -> Raw {
        let capabilities = self.listing.initialize.get("capabilities");
        capabilities.unwrap_or_else(Raw::empty_object)
    }

    /// Whether the server declared a capability, `tools` or `resources.subscribe` for example.
    pub fn has_capability(&self, path: &str) -> bool {
        declares(&self.listing.initialize, path)
    }

    /// Whether its session takes the level from which on it is to write log lines.
    pub fn takes_log_level(&self) -> bool {
        self.takes_log_level
    }
}

/// Whether an opening declares a capability.
pub(super) fn declares(opening: &Raw, path: &str) -> bool {
    let declared = opening.get("capabilities");
    let found = declared.and_then(|all| path.split('.').try_fold(all, |at, key| at.get(key)));
    found.is_some_and(|value| !value.is_null() && value.as_bytes() != b"false")
}
