//! Checks arguments against a tool's input schema: the few keywords that our own schemas use, so that a tool may trust what
//! it is given.

use serde_json::{Map, Value};

/// Says what is wrong with `arguments`, in words that a model can act on.
pub(super) fn check(schema: &Value, arguments: &Map<String, Value>) -> Result<(), String> {
    let empty = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    for required in schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        if !arguments.contains_key(required) {
            return Err(format!("the argument {required:?} is missing"));
        }
    }
    for (name, value) in arguments {
        let Some(property) = properties.get(name) else {
            let known: Vec<&str> = properties.keys().map(String::as_str).collect();
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            };
            return Err(format!(
                "there is no argument {name:?}; known arguments: {known}"
            ));
        };
        check_value(property, value)
            .map_err(|wanted| format!("the argument {name:?} must be {wanted}"))?;
    }
    Ok(())
}

/// The error is what the value must be.
fn check_value(property: &Value, value: &Value) -> Result<(), String> {
    match property["type"].as_str() {
        Some("string") => {
            let Some(text) = value.as_str() else {
                return Err("a string".to_owned());
            };
            let length = text.chars().count() as u64;
            let shortest = property["minLength"].as_u64().unwrap_or(0);
            let longest = property["maxLength"].as_u64().unwrap_or(u64::MAX);
            if (shortest..=longest).contains(&length) {
                Ok(())
            } else {
                Err(format!("a string of {shortest} to {longest} characters"))
            }
        }
        Some("number") => value
            .as_f64()
            .map(|_| ())
            .ok_or_else(|| "a number".to_owned()),
        Some("integer") => {
            let least = property["minimum"].as_i64().unwrap_or(i64::MIN);
            let most = property["maximum"].as_i64().unwrap_or(i64::MAX);
            match value.as_i64() {
                Some(number) if (least..=most).contains(&number) => Ok(()),
                _ => Err(format!("a whole number from {least} to {most}")),
            }
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn arguments_are_checked_and_the_complaint_names_them() {
        let schema = json!({
            "properties": {
                "text": { "type": "string", "minLength": 1, "maxLength": 3 },
                "count": { "type": "integer", "minimum": 1, "maximum": 60 },
                "sum": { "type": "number" },
            },
            "required": ["text"],
        });
        let check = |arguments: serde_json::Value| {
            super::check(&schema, arguments.as_object().expect("an object"))
                .err()
                .unwrap_or_default()
        };
        for (arguments, complaint) in [
            (json!({ "text": "abc", "count": 60, "sum": 1.5 }), ""),
            (json!({}), "the argument \"text\" is missing"),
            (
                json!({ "text": "" }),
                "the argument \"text\" must be a string of 1 to 3 characters",
            ),
            (
                json!({ "text": 1 }),
                "the argument \"text\" must be a string",
            ),
            (
                json!({ "text": "a", "count": 1.5 }),
                "must be a whole number from 1 to 60",
            ),
            (
                json!({ "text": "a", "count": 61 }),
                "must be a whole number from 1 to 60",
            ),
            (
                json!({ "text": "a", "sum": "1" }),
                "the argument \"sum\" must be a number",
            ),
            (
                json!({ "text": "a", "x": 1 }),
                "there is no argument \"x\"; known arguments: text, count, sum",
            ),
        ] {
            let got = check(arguments);
            assert!(
                got.ends_with(complaint) && got.is_empty() == complaint.is_empty(),
                "{got}"
            );
        }
    }
}
