//! The parameters of a tool, as a person reads them before trusting it. Pure; whoever prints them escapes them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Limit: parameters of one tool, those inside of others among them. A person reads no more; the definition has all.
const MOST: usize = 200;

/// How deep parameters inside of others are shown.
const DEEPEST: usize = 6;

/// A parameter of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ShownParameter {
    /// The name; for an inner parameter its path, such as `filter.since` or `items[].id`.
    pub name: String,
    /// The type or types, such as `string`; absent if the definition has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Whether a call must have it.
    #[serde(default)]
    pub required: bool,
    /// The server's description.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// The parameters of a tool.
pub(super) fn parameters(definition: &str) -> Vec<ShownParameter> {
    let mut found = Vec::new();
    if let Ok(Value::Object(definition)) = serde_json::from_str(definition)
        && let Some(Value::Object(schema)) = definition.get("inputSchema")
    {
        inside(schema, "", DEEPEST, &mut found);
    }
    found
}

fn inside(schema: &Map<String, Value>, path: &str, deeper: usize, found: &mut Vec<ShownParameter>) {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| {
        required.is_some_and(|names| names.iter().any(|one| one.as_str() == Some(name)))
    };
    let Some(Value::Object(members)) = schema.get("properties") else {
        return;
    };
    for (name, value) in members {
        if found.len() == MOST {
            return;
        }
        let path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        let description = value.get("description").and_then(Value::as_str);
        found.push(ShownParameter {
            name: path.clone(),
            kind: kind(value),
            required: is_required(name),
            description: description.unwrap_or_default().to_owned(),
        });
        let Value::Object(value) = value else {
            continue;
        };
        if let Some(deeper) = deeper.checked_sub(1) {
            inside(value, &path, deeper, found);
            if let Some(Value::Object(items)) = value.get("items") {
                inside(items, &format!("{path}[]"), deeper, found);
            }
        }
    }
}

fn kind(value: &Value) -> String {
    match value.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => {
            let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
            kinds.join(" or ")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
