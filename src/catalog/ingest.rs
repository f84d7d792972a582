//! Turns the raw lists of one server into what the catalog keeps. A definition that cannot be read is left out and reported; the rest
//! is kept.

use std::{collections::HashSet, sync::OnceLock};

use super::{
    server_catalog::{
        Hints, Listing, Lookups, Problem, Prompt, Resource, ServerCatalog, Template, Tool, declares,
    },
    shapes,
    uri_templates::LooseTemplate,
};
use crate::{
    runtime::sync::Guarded,
    text::{ServerName, names},
    trust::{
        approvals::ThingKind,
        fingerprint::Fingerprint,
        scanner::{self, Finding, Neighbours, Scanner, Severity},
    },
    wire::{Raw, header_params, named_uris::views_of_tool},
};

impl ServerCatalog {
    /// Reads the lists.
    pub fn ingest(server: &ServerName, entry: &str, listing: Listing) -> Self {
        let mut reading = Reading {
            server,
            scanner: Scanner::default(),
            problems: Vec::new(),
        };
        let tools: Vec<Tool> = reading.unique(&listing.tools);
        reading.note_unlistable(&tools);
        let prompts: Vec<Prompt> = reading.unique(&listing.prompts);
        let resources: Vec<Resource> = reading.unique(&listing.resources);
        let templates: Vec<Template> = reading.unique(&listing.templates);
        let has_logging = declares(&listing.initialize, "logging");
        Self {
            server: server.clone(),
            entry: entry.into(),
            lookups: Lookups::new(&tools, &prompts, &resources, &templates),
            takes_log_level: listing.revision.has_set_level() && has_logging,
            relations: OnceLock::new(),
            has_suspicious_instructions: reading.objects_to_instructions(&listing.initialize),
            problems: reading.problems,
            listing,
            tools,
            prompts,
            resources,
            templates,
        }
    }
}

/// The reading of one server's lists.
struct Reading<'a> {
    server: &'a ServerName,
    scanner: Scanner,
    problems: Vec<Problem>,
}

/// A thing that servers list.
trait Listed: Sized {
    const KIND: ThingKind;

    /// Reads a definition, or says why it is left out.
    fn read(server: &ServerName, definition: &Raw, scanner: &Scanner) -> Result<Self, String>;

    /// Its name, URI or URI template.
    fn key(&self) -> &str;
}

impl Reading<'_> {
    /// Reads definitions, leaving out what is unreadable and duplicates.
    fn unique<T: Listed>(&mut self, definitions: &[Raw]) -> Vec<T> {
        let kind = T::KIND;
        let (word, named) = match kind {
            ThingKind::Resource => ("resource", "uri"),
            ThingKind::Template => ("resource template", "uriTemplate"),
            kind => (kind.as_str(), "name"),
        };
        let mut seen = HashSet::new();
        let mut kept = Vec::with_capacity(definitions.len());
        for (i, definition) in definitions.iter().enumerate() {
            let (name, why) = match T::read(self.server, definition, &self.scanner) {
                Ok(thing) if seen.insert(thing.key().to_owned()) => {
                    kept.push(thing);
                    continue;
                }
                Ok(thing) => (
                    Some(thing.key().to_owned()),
                    "it is listed twice".to_owned(),
                ),
                Err(why) => (required(definition, named).ok(), why),
            };
            self.problems.push(Problem {
                subject: match &name {
                    Some(name) => format!("{word} {name:?}"),
                    None => format!("{word} number {}", i + 1),
                },
                why,
                is_left_out: true,
                kind,
                name: name.map(Into::into),
            });
        }
        kept
    }

    /// Whether the scanner objects to the instructions in an opening, whatever other servers list.
    fn objects_to_instructions(&self, initialize: &Raw) -> bool {
        let alone = Neighbours::default();
        let text = initialize.get("instructions");
        text.is_some_and(|text| is_grave(&self.scanner.instructions("", &text, &alone)))
    }

    fn note_unlistable(&mut self, tools: &[Tool]) {
        let unlistable = tools.iter().filter(|tool| !tool.listable);
        self.problems.extend(unlistable.map(|tool| Problem {
            subject: format!("tool {:?}", tool.name),
            why: "lists of all tools leave it out: its inputSchema has no \"type\": \"object\", for which some clients reject the \
                  whole list; searches find it, and calls work"
                .to_owned(),
            is_left_out: false,
            kind: ThingKind::Tool,
            name: Some(tool.name.clone()),
        }));
    }
}

/// Whether these findings have the scanner hold what they are about.
pub(super) fn is_grave(found: &[Finding]) -> bool {
    scanner::gravest(found) == Some(Severity::Hold)
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

impl Listed for Tool {
    const KIND: ThingKind = ThingKind::Tool;

    fn read(server: &ServerName, listed: &Raw, scanner: &Scanner) -> Result<Self, String> {
        // A clone, so that the places of its members are remembered only while it is read.
        let definition = &listed.clone();
        definition.remember_members();
        let name = required(definition, "name")?;
        if definition.as_bytes().len() > MAX_DEFINITION {
            return Err("it is larger than 1 MiB".to_owned());
        }
        for (key, found) in ACTED_ON.iter().zip(definition.look_up(ACTED_ON)) {
            if found.times > 1 {
                return Err(format!("{key} occurs twice"));
            }
        }
        shapes::check(definition, shapes::TOOL)?;
        let schema = definition.get("inputSchema");
        let schema = schema.ok_or("it has no inputSchema")?;
        if !schema.is_object() {
            return Err("inputSchema is not an object".to_owned());
        }
        let description = definition.get("description").and_then(|d| d.string());
        Ok(Self {
            offered: names::offered(server, &name).into(),
            description: description.unwrap_or_default().into(),
            hints: hints(definition),
            // The protocol demands the type, and the official TypeScript SDK refuses a list in which one has none; other clients take such
            // a tool. If it is there, it says that it describes an object.
            listable: schema.get("type").is_some(),
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

    fn key(&self) -> &str {
        &self.name
    }
}

/// If the scanner objects to a member that no model acts on, the fingerprint is that of the whole definition: a later change of the member
/// is then a change of the tool.
fn fingerprint(definition: &Raw, scanner: &Scanner) -> Fingerprint {
    if scanner.objects_beside(definition) {
        Fingerprint::of_whole_tool(definition)
    } else {
        Fingerprint::of_tool(definition)
    }
}

/// Annotations of another type are ignored.
fn hints(definition: &Raw) -> Hints {
    let annotations = definition.get("annotations");
    let hints = annotations.and_then(|annotations| annotations.read().ok());
    hints.unwrap_or_default()
}

impl Listed for Prompt {
    const KIND: ThingKind = ThingKind::Prompt;

    fn read(server: &ServerName, definition: &Raw, scanner: &Scanner) -> Result<Self, String> {
        let name = required(definition, "name")?;
        shapes::check(definition, shapes::PROMPT)?;
        Ok(Self {
            offered: names::offered(server, &name).into(),
            name: name.into(),
            definition: definition.clone(),
            is_suspicious: is_grave(&scanner.thing(definition)),
            texts: Fingerprint::of_texts(definition),
        })
    }

    fn key(&self) -> &str {
        &self.name
    }
}

impl Listed for Resource {
    const KIND: ThingKind = ThingKind::Resource;

    fn read(_: &ServerName, definition: &Raw, scanner: &Scanner) -> Result<Self, String> {
        let uri = required(definition, "uri")?;
        shapes::check(definition, shapes::RESOURCE)?;
        Ok(Self {
            uri: uri.into(),
            definition: definition.clone(),
            is_suspicious: is_grave(&scanner.thing(definition)),
            texts: Fingerprint::of_texts(definition),
        })
    }

    fn key(&self) -> &str {
        &self.uri
    }
}

impl Listed for Template {
    const KIND: ThingKind = ThingKind::Template;

    fn read(_: &ServerName, definition: &Raw, scanner: &Scanner) -> Result<Self, String> {
        let uri_template = required(definition, "uriTemplate")?;
        shapes::check(definition, shapes::RESOURCE)?;
        Ok(Self {
            loose: LooseTemplate::new(&uri_template),
            uri_template: uri_template.into(),
            definition: definition.clone(),
            is_suspicious: is_grave(&scanner.thing(definition)),
            texts: Fingerprint::of_texts(definition),
        })
    }

    fn key(&self) -> &str {
        &self.uri_template
    }
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
    use crate::wire::Revision;

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
        let unlisted = |problem: &&Problem| problem.why.contains("leave it out");
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
            found.problems[0].subject.contains("\"b\""),
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
