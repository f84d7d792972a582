//! The page with every key of the configuration is made of its schema, so that it says what editors say. After a change of the schema
//! `UPDATE_PAGES=1 cargo test --lib the_page_of_keys` writes it anew.

use std::{fmt::Write as _, fs, path::Path};

use serde_json::{Map, Value};

use crate::config::schema;

const PAGE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/docs/configuration-reference.md"
);

const BEGINNING: &str = "# Every key of the configuration

This page lists every key of the configuration file except `$schema`, and `name` in a list of entries, with the texts of its JSON Schema
(`mcpproxy config schema`). [configuration.md](configuration.md) explains the keys. `NAME` stands for a name of your choice, `[]` for each element of a list.
";

/// Limit: keys within keys.
const DEEPEST: usize = 6;

struct Page {
    definitions: Map<String, Value>,
    text: String,
}

impl Page {
    /// A schema with what it refers to; what stands beside the reference counts.
    fn resolved(&self, schema: &Value) -> Map<String, Value> {
        let own = schema.as_object().cloned().unwrap_or_default();
        let name = own.get("$ref").and_then(Value::as_str);
        let name = name.and_then(|name| name.strip_prefix("#/$defs/"));
        let referred = name.and_then(|name| self.definitions.get(name)?.as_object());
        let mut all = referred.cloned().unwrap_or_default();
        all.extend(own);
        all
    }

    fn section(&mut self, title: &str, properties: &Value) {
        let head = "| key | value | default | meaning |\n|---|---|---|---|";
        writeln!(self.text, "\n## {title}\n\n{head}").expect("a text takes it");
        self.rows("", properties, 0);
    }

    fn rows(&mut self, before: &str, properties: &Value, depth: usize) {
        for (key, schema) in properties.as_object().into_iter().flatten() {
            if key == "$schema" || depth > DEEPEST {
                continue;
            }
            let schema = self.resolved(schema);
            let path = format!("{before}{key}");
            let default = schema.get("default");
            let default = default.map_or_else(String::new, |value| format!("`{value}`"));
            let said = schema.get("description").and_then(Value::as_str);
            let said = said.unwrap_or_default().replace('|', "\\|");
            let kind = self.kind(&schema);
            writeln!(self.text, "| `{path}` | {kind} | {default} | {said} |")
                .expect("a text takes it");
            self.within(&path, &schema, depth);
        }
    }

    /// The keys inside of a value.
    fn within(&mut self, path: &str, schema: &Map<String, Value>, depth: usize) {
        // The entries of servers have a section of their own.
        if path == "mcpServers" {
            return;
        }
        if let Some(properties) = schema.get("properties") {
            self.rows(&format!("{path}."), properties, depth + 1);
        }
        for (key, step) in [("additionalProperties", ".NAME"), ("items", "[]")] {
            if let Some(inner) = schema.get(key).filter(|inner| inner.is_object()) {
                let inner = self.resolved(inner);
                self.within(&format!("{path}{step}"), &inner, depth + 1);
            }
        }
        for key in ["anyOf", "oneOf"] {
            for choice in schema
                .get(key)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                let choice = self.resolved(choice);
                self.within(path, &choice, depth + 1);
            }
        }
    }

    fn kind(&self, schema: &Map<String, Value>) -> String {
        if let Some(word) = schema.get("const") {
            return format!("`{word}`");
        }
        if let Some(Value::Array(values)) = schema.get("enum") {
            let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
            return values.join(", ");
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(Value::Array(choices)) = schema.get(key) {
                let kinds = choices
                    .iter()
                    .map(|choice| self.kind(&self.resolved(choice)));
                let mut kinds: Vec<String> = kinds.collect();
                kinds.dedup();
                let are_words = kinds.iter().all(|kind| kind.starts_with('`'));
                return kinds.join(if are_words { ", " } else { " or " });
            }
        }
        let word = match schema.get("type") {
            Some(Value::Array(types)) => {
                let types: Vec<&str> = types.iter().filter_map(Value::as_str).collect();
                types.join(" or ")
            }
            Some(Value::String(kind)) => kind.clone(),
            None if schema.contains_key("properties") => "object".to_owned(),
            _ => "anything".to_owned(),
        };
        let word = match (word.as_str(), schema.get("items")) {
            ("array", Some(items)) => {
                let kind = self.kind(&self.resolved(items));
                if kind.starts_with('`') {
                    format!("list of {kind}")
                } else {
                    format!("list of {}s", kind.replace(" or ", "s or "))
                }
            }
            ("array", None) => "list".to_owned(),
            _ => word,
        };
        let bound = |key: &str| schema.get(key).map(ToString::to_string);
        match (bound("minimum"), bound("maximum")) {
            (Some(least), Some(most)) => format!("{word}, {least} to {most}"),
            (Some(least), None) => format!("{word}, at least {least}"),
            (None, Some(most)) => format!("{word}, at most {most}"),
            (None, None) => word,
        }
    }
}

#[test]
fn the_page_of_keys_is_made_of_the_schema() {
    let schema: Value = serde_json::from_str(schema()).expect("good JSON");
    let definitions = schema["$defs"].as_object().expect("definitions");
    let mut page = Page {
        definitions: definitions.clone(),
        text: BEGINNING.to_owned(),
    };
    page.section("The file", &schema["properties"]);
    page.section(
        "An entry of `mcpServers`",
        &definitions["server"]["properties"],
    );
    if std::env::var_os("UPDATE_PAGES").is_some() {
        fs::write(Path::new(PAGE), &page.text).expect("it can be written");
    }
    let there = fs::read_to_string(PAGE).unwrap_or_default();
    assert!(
        there == page.text,
        "docs/configuration-reference.md is not what the schema says: UPDATE_PAGES=1 cargo test --lib the_page_of_keys"
    );
}
