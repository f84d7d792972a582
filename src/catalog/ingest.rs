//! Turns the raw lists of one server into what the catalog keeps: every definition as it came, with the few parsed fields that routing
//! and search need. A definition that cannot be read is left out and reported; the rest is kept.

mod lookups;

use std::sync::OnceLock;

use serde::Deserialize;

use self::lookups::Lookups;
use super::{
    shapes,
    suspicion::{has_suspicious_instructions, is_grave},
    uri_templates::{LooseTemplate, literal_length},
};
use crate::{
    runtime::{quick_map::QuickMap, sync::Guarded},
    text::{Secrets, ServerName, names},
    trust::{
        approvals::ThingKind,
        fingerprint::Fingerprint,
        scanner::{Relations, Scanner, WordedEffect},
    },
    wire::{
        Raw, Revision,
        header_params::{self, HeaderParam},
        named_uris::views_of_tool,
    },
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

/// One server's part of the catalog. Immutable.
#[derive(Debug)]
pub struct ServerCatalog {
    /// The server.
    pub server: ServerName,
    /// The fingerprint of the configuration that it was listed under.
    pub entry: Box<str>,
    /// What it was made of.
    pub listing: Listing,
    /// Tools, in the server's order, each name once.
    pub tools: Vec<Tool>,
    /// Prompts, in the server's order, each name once.
    pub prompts: Vec<Prompt>,
    /// Resources, in the server's order, each URI once.
    pub resources: Vec<Resource>,
    /// Resource templates, in the server's order.
    pub templates: Vec<Template>,
    /// Definitions that were left out, or that not every list has.
    pub problems: Vec<Problem>,
    /// Whether the scanner objects to the server's instructions.
    pub has_suspicious_instructions: bool,
    tools_by_name: QuickMap<Box<str>, usize>,
    lookups: Lookups,
    /// Whether it takes a log level: each call reads this.
    takes_log_level: bool,
    /// By what it may be about other servers, once somebody wanted to know.
    relations: OnceLock<Relations>,
}

/// A definition with which something is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What, in words.
    pub why: String,
    /// Whether it was left out for it.
    pub is_left_out: bool,
    /// What the definition is of.
    pub kind: ThingKind,
    /// The name or URI in it, as far as it can be read.
    pub name: Option<Box<str>>,
}

impl Problem {
    fn leaves_out(kind: ThingKind, name: Option<String>, why: String) -> Self {
        Self {
            why,
            is_left_out: true,
            kind,
            name: name.map(Into::into),
        }
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
    /// Whether every client can read a list that it stands in: some refuse the whole list where the schema of one tool's arguments does
    /// not say that it describes an object. It is found and called all the same.
    pub listable: bool,
    /// Arguments that travel as headers too, where requests have headers; none if the definition has them wrong.
    pub header_params: Box<[HeaderParam]>,
    /// The URIs of its views (MCP Apps), whether its server lists them or not.
    pub views: Box<[Box<str>]>,
    /// Whether the scanner objects to it, once somebody wanted to know.
    pub(super) is_suspicious: OnceLock<bool>,
    /// The effect that its words name, once somebody wanted to know.
    worded_effect: OnceLock<WordedEffect>,
    /// Whether it repeats what must not show, once somebody wanted to know.
    pub(super) repeated: Guarded<Option<(Secrets, bool)>>,
}

impl Tool {
    /// The effect that its words name, read on first use.
    pub fn worded_effect(&self) -> WordedEffect {
        let read = || WordedEffect::of(&self.name, &self.description);
        *self.worded_effect.get_or_init(read)
    }
}

/// The annotations that decide how a tool may be called; `None` where the server does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may destroy something.
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

/// The one of these templates that describes a URI most closely: it has the most literal text. Of those that are equally close the one that
/// ranks highest counts.
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
        let has = |tool: &Tool| {
            let known = self.tool(&tool.name);
            known.is_some_and(|known| known.fingerprint == tool.fingerprint)
        };
        other.tools.iter().all(has)
    }

    /// Reads the lists.
    pub fn ingest(server: &ServerName, entry: &str, listing: Listing) -> Self {
        let (mut problems, scanner) = (Vec::new(), Scanner::default());
        let tools = unique(
            &listing.tools,
            ThingKind::Tool,
            &mut problems,
            |d| tool(server, d, &scanner),
            |t: &Tool| &t.name,
        );
        let unlistable = tools.iter().filter(|tool| !tool.listable);
        problems.extend(unlistable.map(|tool| Problem {
            is_left_out: false,
            kind: ThingKind::Tool,
            name: Some(tool.name.clone()),
            why: format!(
                "tool {:?} is not in lists of all tools, because its inputSchema has no \"type\": \"object\" and some clients would \
                 read none of such a list; searches find it, and it can be called",
                tool.name
            ),
        }));
        let prompts = unique(
            &listing.prompts,
            ThingKind::Prompt,
            &mut problems,
            |d| prompt(server, d, &scanner),
            |p: &Prompt| &p.name,
        );
        let resources = unique(
            &listing.resources,
            ThingKind::Resource,
            &mut problems,
            |d| resource(d, &scanner),
            |r: &Resource| &r.uri,
        );
        let templates = unique(
            &listing.templates,
            ThingKind::Template,
            &mut problems,
            |d| template(d, &scanner),
            |t: &Template| &t.uri_template,
        );
        let tools_by_name = tools
            .iter()
            .enumerate()
            .map(|(i, t)| (t.name.clone(), i))
            .collect();
        let has_logging = declares(&listing.initialize, "logging");
        let lookups = Lookups::new(
            tools.iter().map(|tool| &*tool.name),
            prompts.iter().map(|prompt| &*prompt.name),
            resources.iter().map(|resource| &*resource.uri),
            templates.iter().map(|template| &*template.uri_template),
        );
        Self {
            server: server.clone(),
            entry: entry.into(),
            takes_log_level: listing.revision.has_set_level() && has_logging,
            relations: OnceLock::new(),
            has_suspicious_instructions: has_suspicious_instructions(&listing.initialize, &scanner),
            listing,
            tools,
            prompts,
            resources,
            templates,
            problems,
            tools_by_name,
            lookups,
        }
    }

    /// A tool by the server's own name.
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools_by_name.get(name).map(|i| &self.tools[*i])
    }

    /// The server's instructions for clients.
    pub fn instructions(&self) -> Option<String> {
        self.listing.initialize.get("instructions")?.string()
    }

    /// By what it may be about other servers, and they about it; read on first use.
    pub(in crate::catalog) fn relations(&self) -> &Relations {
        self.relations.get_or_init(|| {
            let tools = self
                .tools
                .iter()
                .map(|tool| (&*tool.name, &tool.definition));
            let instructions = self.listing.initialize.get("instructions");
            Relations::of(self.server.as_str(), tools, instructions.as_ref())
        })
    }

    /// The capabilities object of the opening.
    pub fn capabilities(&self) -> Raw {
        self.listing
            .initialize
            .get("capabilities")
            .unwrap_or_else(Raw::empty_object)
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
fn declares(opening: &Raw, path: &str) -> bool {
    let declared = opening.get("capabilities");
    let found = declared.and_then(|all| path.split('.').try_fold(all, |at, key| at.get(key)));
    found.is_some_and(|value| !value.is_null() && value.as_bytes() != b"false")
}

/// Reads definitions, leaving out what is unreadable and duplicates.
fn unique<T>(
    definitions: &[Raw],
    kind: ThingKind,
    problems: &mut Vec<Problem>,
    read: impl Fn(&Raw) -> Result<T, String>,
    key: impl Fn(&T) -> &str,
) -> Vec<T> {
    let (word, named) = match kind {
        ThingKind::Resource => ("resource", "uri"),
        ThingKind::Template => ("resource template", "uriTemplate"),
        kind => (kind.as_str(), "name"),
    };
    let mut seen = std::collections::HashSet::new();
    let mut kept = Vec::with_capacity(definitions.len());
    for (i, definition) in definitions.iter().enumerate() {
        match read(definition) {
            Ok(thing) if seen.insert(key(&thing).to_owned()) => kept.push(thing),
            Ok(thing) => {
                let name = key(&thing);
                let why = format!("{word} {name:?} is listed twice");
                problems.push(Problem::leaves_out(kind, Some(name.to_owned()), why));
            }
            Err(why) => {
                let why = format!("{word} number {} was left out: {why}", i + 1);
                let name = required(definition, named).ok();
                problems.push(Problem::leaves_out(kind, name, why));
            }
        }
    }
    kept
}

/// Limit: the largest definition of a tool. No model reads a larger one, and fingerprints take time.
const MAX_DEFINITION: usize = 1 << 20;

/// Limit: the longest name or URI, in bytes. They stand in errors, logs and listings.
const MAX_KEY: usize = 4096;

/// What a model or a client acts on. Parsers differ in which value of a duplicate key they take, so a tool with one of these twice could
/// look different to us and to a client.
const ACTED_ON: [&str; 5] = [
    "name",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
];

fn tool(server: &ServerName, listed: &Raw, scanner: &Scanner) -> Result<Tool, String> {
    // Where its members are is known while it is read, and not kept with it.
    let definition = &listed.clone();
    definition.remember_members();
    let name = required(definition, "name")?;
    if definition.as_bytes().len() > MAX_DEFINITION {
        return Err(format!("the definition of {name:?} is larger than 1 MiB"));
    }
    for (key, found) in ACTED_ON.iter().zip(definition.look_up(ACTED_ON)) {
        if found.times > 1 {
            return Err(format!("{key} occurs twice in the definition of {name:?}"));
        }
    }
    shapes::check(definition, shapes::TOOL).map_err(|why| format!("in {name:?} {why}"))?;
    let schema = definition
        .get("inputSchema")
        .ok_or_else(|| format!("{name:?} has no inputSchema"))?;
    if !schema.is_object() {
        return Err(format!("the inputSchema of {name:?} is not an object"));
    }
    Ok(Tool {
        offered: names::offered(server, &name).into(),
        description: definition
            .get("description")
            .and_then(|d| d.string())
            .unwrap_or_default()
            .into(),
        hints: hints(definition),
        listable: shapes::says_its_type(&schema),
        fingerprint: fingerprint(definition, scanner),
        header_params: header_params::read(&schema).unwrap_or_default(),
        views: views_of_tool(definition),
        definition: listed.clone(),
        name: name.into(),
        is_suspicious: OnceLock::new(),
        worded_effect: OnceLock::new(),
        repeated: Guarded::default(),
    })
}

/// What the scanner objects to counts wherever it stands: a tool that was approved without it is a changed one.
fn fingerprint(definition: &Raw, scanner: &Scanner) -> Fingerprint {
    if scanner.objects_beside(definition) {
        Fingerprint::of_whole_tool(definition)
    } else {
        Fingerprint::of_tool(definition)
    }
}

fn hints(definition: &Raw) -> Hints {
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    struct View {
        read_only_hint: Option<bool>,
        destructive_hint: Option<bool>,
    }
    // Annotations of another type are ignored.
    let view: View = definition
        .get("annotations")
        .and_then(|a| a.read().ok())
        .unwrap_or_default();
    Hints {
        read_only: view.read_only_hint,
        destructive: view.destructive_hint,
    }
}

fn prompt(server: &ServerName, definition: &Raw, scanner: &Scanner) -> Result<Prompt, String> {
    let name = required(definition, "name")?;
    shapes::check(definition, shapes::PROMPT).map_err(|why| format!("in {name:?} {why}"))?;
    Ok(Prompt {
        offered: names::offered(server, &name).into(),
        name: name.into(),
        definition: definition.clone(),
        is_suspicious: is_grave(&scanner.thing(definition)),
        texts: Fingerprint::of_texts(definition),
    })
}

fn resource(definition: &Raw, scanner: &Scanner) -> Result<Resource, String> {
    let uri = required(definition, "uri")?;
    shapes::check(definition, shapes::RESOURCE).map_err(|why| format!("in {uri:?} {why}"))?;
    Ok(Resource {
        uri: uri.into(),
        definition: definition.clone(),
        is_suspicious: is_grave(&scanner.thing(definition)),
        texts: Fingerprint::of_texts(definition),
    })
}

fn template(definition: &Raw, scanner: &Scanner) -> Result<Template, String> {
    let uri_template = required(definition, "uriTemplate")?;
    shapes::check(definition, shapes::RESOURCE)
        .map_err(|why| format!("in {uri_template:?} {why}"))?;
    Ok(Template {
        loose: LooseTemplate::new(&uri_template),
        uri_template: uri_template.into(),
        definition: definition.clone(),
        is_suspicious: is_grave(&scanner.thing(definition)),
        texts: Fingerprint::of_texts(definition),
    })
}

fn required(definition: &Raw, key: &str) -> Result<String, String> {
    let value = definition
        .get(key)
        .and_then(|v| v.string())
        .filter(|text| !text.is_empty())
        .ok_or_else(|| format!("it has no {key}"))?;
    if value.len() > MAX_KEY {
        return Err(format!("its {key} is longer than 4096 bytes"));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw {
        Raw::parse_str(text).expect("JSON")
    }

    fn catalog(tools: &[&str]) -> ServerCatalog {
        let listing = Listing {
            initialize: raw(
                r#"{"capabilities":{"tools":{"listChanged":true},"logging":{}},"instructions":"Be kind."}"#,
            ),
            revision: Revision::NEWEST_LEGACY,
            tools: tools.iter().map(|t| raw(t)).collect(),
            prompts: vec![],
            resources: vec![],
            templates: vec![],
        };
        ServerCatalog::ingest(&ServerName::parse("s").expect("a name"), "e", listing)
    }

    #[test]
    fn one_bad_tool_is_left_out_and_named() {
        let found = catalog(&[
            r#"{"name":"good","inputSchema":{}}"#,
            r#"{"name":"bad"}"#,
            r#"{"name":"worse","inputSchema":true}"#,
            r#"{"inputSchema":{}}"#,
            r#"{"name":"good","inputSchema":{"x":1}}"#,
            r#"{"name":"fine","inputSchema":{},"annotations":null,"description":null}"#,
            r#"{"name":"odd","inputSchema":{},"annotations":7}"#,
            r#"{"name":"janus","inputSchema":{},"description":"harmless","descripti\u006fn":"not so"}"#,
            &format!(r#"{{"name":"{}","inputSchema":{{}}}}"#, "x".repeat(5000)),
            &format!(
                r#"{{"name":"huge","inputSchema":{{"x":"{}"}}}}"#,
                "x".repeat(1 << 20)
            ),
        ]);
        let names: Vec<&str> = found.tools.iter().map(|t| &*t.name).collect();
        assert_eq!(names, ["good", "fine"]);
        let unlisted = |problem: &&Problem| problem.why.contains("is not in lists");
        let unlisted = found.problems.iter().filter(unlisted);
        assert!(unlisted.clone().all(|problem| !problem.is_left_out));
        assert_eq!(unlisted.count(), 2);
        let left_out = found.problems.iter().filter(|problem| problem.is_left_out);
        assert_eq!(left_out.count(), 8);
        assert_eq!(found.problems.len(), 8 + 2, "{:?}", found.problems);
        assert_eq!(
            found.tool("good").expect("there").definition.as_str(),
            r#"{"name":"good","inputSchema":{}}"#
        );
    }

    #[test]
    fn a_schema_without_a_type_keeps_its_tool_out_of_lists_alone() {
        let found = catalog(&[
            r#"{"name":"a","inputSchema":{"type":"object"}}"#,
            r#"{"name":"b","inputSchema":{"properties":{}}}"#,
        ]);
        let listable: Vec<bool> = found.tools.iter().map(|tool| tool.listable).collect();
        assert_eq!(listable, [true, false]);
        assert!(
            found.problems[0].why.contains("\"b\""),
            "{:?}",
            found.problems
        );
    }

    #[test]
    fn hints_are_read_only_where_they_are_said() {
        let found = catalog(&[
            r#"{"name":"a","inputSchema":{},"annotations":{"readOnlyHint":true}}"#,
            r#"{"name":"b","inputSchema":{},"annotations":{"destructiveHint":true,"readOnlyHint":false}}"#,
            r#"{"name":"c","inputSchema":{}}"#,
        ]);
        let hints: Vec<_> = found
            .tools
            .iter()
            .map(|t| (t.hints.read_only, t.hints.destructive))
            .collect();
        assert_eq!(
            hints,
            [(Some(true), None), (Some(false), Some(true)), (None, None)]
        );
    }

    #[test]
    fn capabilities_are_found_by_path() {
        let found = catalog(&[]);
        assert!(
            found.has_capability("tools")
                && found.has_capability("tools.listChanged")
                && found.has_capability("logging")
        );
        assert!(!found.has_capability("prompts") && !found.has_capability("tools.other"));
        assert_eq!(found.instructions().as_deref(), Some("Be kind."));
    }
}
