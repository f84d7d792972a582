//! The searched texts of a tool, by field, and their lengths. Pure.

use std::fmt::Write as _;

use crate::{
    catalog::{
        Tool,
        tokenizer::{Token, tokens_of},
    },
    text::names::ServerName,
};

/// How many fields a tool has.
pub(super) const FIELDS: usize = 4;

/// Their names. Everything else that is kept per field has the same order.
pub(super) const NAMES: [&str; FIELDS] = ["name", "description", "parameters", "server"];

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

/// Names and descriptions of the parameters.
fn parameters(tool: &Tool) -> String {
    let mut text = String::new();
    let Some(properties) = tool
        .definition
        .get("inputSchema")
        .and_then(|schema| schema.get("properties"))
    else {
        return text;
    };
    for member in properties.members() {
        let name = member.name(properties.as_bytes()).unwrap_or_default();
        let description = properties
            .part(member.value)
            .get("description")
            .and_then(|description| description.string());
        // Writing into a text cannot fail.
        let _ = writeln!(text, "{name} {}", description.unwrap_or_default());
    }
    text
}

/// The terms of the fields.
pub(super) fn tokens_of_fields(texts: &[String; FIELDS]) -> [Vec<Token>; FIELDS] {
    texts.each_ref().map(|text| tokens_of(text))
}

/// How many words count in the length of each field.
pub(super) fn lengths(tokens: &[Vec<Token>; FIELDS]) -> [u16; FIELDS] {
    tokens.each_ref().map(|tokens| {
        let counted = tokens
            .iter()
            .filter(|token| token.kind.has_length())
            .count();
        u16::try_from(counted).unwrap_or(u16::MAX)
    })
}
