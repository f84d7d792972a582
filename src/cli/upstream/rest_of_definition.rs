//! The part of a definition that a review shows as JSON, because it does not show it as text. Pure; the printer escapes it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{
    management::{InspectedThing, ShownParameter},
    trust::approvals::ThingKind,
};

/// A definition without its name, its description and the shown parts of its parameters. Nothing if that is all.
pub(super) fn rest_of_definition(thing: &InspectedThing) -> Option<String> {
    let definition = thing.definition.as_deref()?;
    let Ok(Value::Object(mut members)) = serde_json::from_str(definition) else {
        return Some(definition.to_owned());
    };
    // A definition that changes if it is read and written, such as one with a repeated key, is shown as it is.
    let laid_out = serde_json::to_string_pretty(&members);
    if laid_out.is_ok_and(|laid_out| laid_out != definition) {
        return Some(definition.to_owned());
    }
    let name = match thing.kind {
        ThingKind::Resource => "uri",
        ThingKind::Template => "uriTemplate",
        ThingKind::Tool | ThingKind::Prompt | ThingKind::Instructions => "name",
    };
    take_text(&mut members, name, &thing.name);
    let description = thing.description.as_deref().unwrap_or_default();
    take_text(&mut members, "description", description);
    if let Some(Value::Object(schema)) = members.get_mut("inputSchema") {
        let shown = thing.parameters.iter();
        let shown = shown.map(|one| (&*one.name, one)).collect();
        take_text(schema, "type", "object");
        take_parameters(schema, "", &shown);
        if schema.is_empty() {
            members.shift_remove("inputSchema");
        }
    }
    (!members.is_empty()).then(|| Value::Object(members).to_string())
}

/// Removes a member if it is this string.
fn take_text(members: &mut Map<String, Value>, key: &str, text: &str) {
    if members.get(key).and_then(Value::as_str) == Some(text) {
        members.shift_remove(key);
    }
}

/// Removes the type, description and requiredness of shown parameters from a schema, at any depth.
fn take_parameters(
    schema: &mut Map<String, Value>,
    path: &str,
    shown: &BTreeMap<&str, &ShownParameter>,
) {
    let at = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    let required = schema.get("required").and_then(Value::as_array);
    let is_shown = |name: &Value| {
        let name = name.as_str().map(at);
        name.is_some_and(|name| shown.get(&*name).is_some_and(|one| one.required))
    };
    if required.is_some_and(|names| names.iter().all(is_shown)) {
        schema.shift_remove("required");
    }
    let Some(Value::Object(parameters)) = schema.get_mut("properties") else {
        return;
    };
    parameters.retain(|name, value| {
        let path = at(name);
        let (Some(parameter), Value::Object(members)) = (shown.get(&*path), value) else {
            return true;
        };
        take_text(members, "type", &parameter.kind);
        take_text(members, "description", &parameter.description);
        take_parameters(members, &path, shown);
        if let Some(Value::Object(items)) = members.get_mut("items") {
            take_parameters(items, &format!("{path}[]"), shown);
            if items.is_empty() {
                members.shift_remove("items");
            }
        }
        !members.is_empty()
    });
    if parameters.is_empty() {
        schema.shift_remove("properties");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rest(definition: &Value) -> Option<String> {
        let thing = json!({
            "kind": "tool", "name": "t", "held": false, "findings": [], "description": "Does it.",
            "definition": serde_json::to_string_pretty(definition).expect("JSON"),
            "parameters": [
                { "name": "a", "kind": "string", "required": true, "description": "First." },
                { "name": "b", "kind": "object" },
                { "name": "b.c", "kind": "number" },
            ],
        });
        rest_of_definition(&serde_json::from_value(thing).expect("a thing"))
    }

    #[test]
    fn what_is_shown_in_words_is_not_repeated_and_all_else_is_there() {
        let schema = json!({
            "type": "object", "required": ["a"], "properties": {
                "a": { "type": "string", "description": "First." },
                "b": { "type": "object", "properties": { "c": { "type": "number" } } } },
        });
        let plain = json!({ "name": "t", "description": "Does it.", "inputSchema": schema });
        assert_eq!(rest(&plain), None);
        let mut more = plain;
        more["title"] = json!("T");
        more["inputSchema"]["properties"]["a"]["enum"] = json!(["E"]);
        more["inputSchema"]["properties"]["b"]["properties"]["c"]["default"] = json!(1);
        more["inputSchema"]["properties"]["d"] = json!({ "type": "string" });
        let expected = r#"{"inputSchema":{"properties":{"a":{"enum":["E"]},"b":{"properties":{"c":{"default":1}}},"d":{"type":"string"}}},"title":"T"}"#;
        assert_eq!(rest(&more).as_deref(), Some(expected));
    }
}
