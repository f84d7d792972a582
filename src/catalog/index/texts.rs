//! The searched texts of a tool, by field, and their lengths. Pure.

use std::fmt::Write as _;

use crate::{
    catalog::{Tool, tokenizer::n_words},
    text::names::ServerName,
};

/// How many fields a tool has.
pub(super) const FIELDS: usize = 4;

/// Their names. Everything else that is kept per field has the same order.
pub(super) const NAMES: [&str; FIELDS] = ["name", "description", "parameters", "server"];

/// Two of their places.
pub(super) const NAME: usize = 0;
pub(super) const SERVER: usize = 3;

/// What ranking knows of a tool beside its postings.
#[derive(Clone, Copy)]
pub(super) struct Measures {
    /// How many words each field has.
    pub(super) lengths: [u16; FIELDS],
    /// Whether it calls itself deprecated.
    pub(super) is_deprecated: bool,
}

/// Limit: longer texts help no search, and a hostile server must not fill the index.
const LONGEST: usize = 20_000;

/// The texts of a tool's fields.
pub(super) fn texts_of(server: &ServerName, tool: &Tool) -> [String; FIELDS] {
    std::array::from_fn(|field| field_text(server, tool, field))
}

/// Those of a tool whose texts nobody has approved: a search for their words must not reveal them.
pub(super) fn name_alone(tool: &Tool) -> [String; FIELDS] {
    let name: String = tool.name.chars().take(LONGEST).collect();
    let mut texts: [String; FIELDS] = Default::default();
    texts[0] = name;
    texts
}

/// The text of one field.
pub(super) fn field_text(server: &ServerName, tool: &Tool, field: usize) -> String {
    let cut = |text: &str| text.chars().take(LONGEST).collect();
    match NAMES[field] {
        "name" => cut(&tool.name),
        "description" => cut(&tool.description),
        "parameters" => cut(&parameters(tool)),
        _ => server.to_string(),
    }
}

/// Names, titles, descriptions and values of the parameters.
fn parameters(tool: &Tool) -> String {
    let mut text = String::new();
    let schema = tool.definition.get("inputSchema");
    let Some(properties) = schema.and_then(|schema| schema.get("properties")) else {
        return text;
    };
    for member in properties.members() {
        let name = member.name(properties.as_bytes()).unwrap_or_default();
        let schema = properties.part(member.value);
        let of_elements = schema.get("items").and_then(|items| items.get("enum"));
        let values = schema.get("enum").into_iter().chain(of_elements);
        let values = values.flat_map(|values| values.elements().collect::<Vec<_>>());
        let texts = [schema.get("description"), schema.get("title")];
        let texts = texts.into_iter().flatten().chain(values);
        let words: Vec<String> = texts.filter_map(|text| text.string()).collect();
        // Writing into a text cannot fail.
        let _ = writeln!(text, "{name}\n{}", words.join("\n"));
    }
    text
}

/// How a tool says in brackets that it is deprecated.
const IN_BRACKETS: [&str; 2] = ["(deprecated", "[deprecated"];

/// Whether a tool calls itself deprecated. Others have to do with what is.
pub(super) fn is_deprecated(tool: &Tool) -> bool {
    let text = tool.description.to_lowercase();
    let start = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    ["deprecated", "this tool is deprecated"]
        .iter()
        .any(|beginning| start.starts_with(beginning))
        || IN_BRACKETS.iter().any(|mark| text.contains(mark))
}

/// How many words count in the length of each field.
pub(super) fn lengths(texts: &[String; FIELDS]) -> [u16; FIELDS] {
    texts
        .each_ref()
        .map(|text| u16::try_from(n_words(text)).unwrap_or(u16::MAX))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        catalog::{Listing, ServerCatalog},
        wire::{Raw, Revision},
    };

    #[test]
    fn parameters_are_found_by_names_descriptions_titles_and_values() {
        let definition = json!({ "name": "t", "inputSchema": { "properties": {
            "unit": { "title": "Unit of measure", "enum": ["kelvin", 7, "celsius"] },
            "days": { "description": "which", "items": { "enum": ["monday"] } },
            "any": true,
        } } });
        let listing = Listing {
            initialize: Raw::empty_object(),
            revision: Revision::NEWEST_LEGACY,
            tools: vec![Raw::author(&definition)],
            prompts: vec![],
            resources: vec![],
            templates: vec![],
        };
        let server = ServerName::parse("s").expect("a name");
        let known = ServerCatalog::ingest(&server, "e", listing);
        let text = parameters(&known.tools[0]);
        let words: Vec<&str> = text.split_whitespace().collect();
        let expected = "unit Unit of measure kelvin celsius days which monday any";
        assert_eq!(words.join(" "), expected);
    }
}
