//! The parameters of a tool as a list for people, who review them before they trust it. Pure. The texts are the server's: whoever prints
//! them escapes them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Limit: parameters of one tool, with inner ones. A person reads no more; the definition has all.
const MOST: usize = 200;

/// How many levels of inner parameters are shown.
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
mod tests {
    use super::parameters;

    #[test]
    fn parameters_inside_of_others_are_shown_too() {
        let definition = r#"{"inputSchema":{"required":["a"],"properties":{
            "a":{"type":["string","null"],"description":"First."},
            "b":{"type":"object","properties":{"c":{"description":"Deep."}}},
            "d":{"type":"array","items":{"properties":{"e":true}}}}}}"#;
        let found = parameters(definition);
        let shown: Vec<String> = found
            .iter()
            .map(|one| {
                format!(
                    "{} {} {} {}",
                    one.name, one.kind, one.required, one.description
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                "a string or null true First.",
                "b object false ",
                "b.c  false Deep.",
                "d array false ",
                "d[].e  false "
            ]
        );
        for broken in [
            "",
            "[]",
            r#"{"inputSchema":1}"#,
            r#"{"inputSchema":{"properties":[]}}"#,
        ] {
            assert_eq!(parameters(broken), []);
        }
    }
}
