//! The instructions, lists, resource and prompt of the demo server.

use serde_json::{Value, json};

use super::DemoError;

/// The lists of definitions, the instructions, and the contents of the resource.
const OFFERS: &str = include_str!("offers.json");

const WELCOME_URI: &str = "demo://welcome";

const PROMPT: &str = "summarize_notes";

/// A result with this member of the offers only, such as `tools`.
pub(super) fn offered(kind: &str) -> Value {
    let offers: Value = serde_json::from_str(OFFERS).unwrap_or_default();
    json!({ kind: offers[kind] })
}

/// The result of `resources/read`.
pub(super) fn read_resource(params: &Value) -> Result<Value, DemoError> {
    match params["uri"].as_str() {
        Some(WELCOME_URI) => Ok(offered("contents")),
        Some(unknown) => Err(DemoError {
            data: Some(json!({ "uri": unknown })),
            ..DemoError::new(-32002, format!("there is no resource {unknown:?}"))
        }),
        None => Err(DemoError::lacks("resources/read", "uri")),
    }
}

/// The result of `prompts/get`.
pub(super) fn prompt(params: &Value) -> Result<Value, DemoError> {
    match params["name"].as_str() {
        Some(PROMPT) => {}
        Some(unknown) => return Err(DemoError::params(format!("there is no prompt {unknown:?}"))),
        None => return Err(DemoError::lacks("prompts/get", "name")),
    }
    let language = match &params["arguments"]["language"] {
        Value::Null => "English",
        Value::String(language) => language,
        _ => {
            return Err(DemoError::params(
                "the prompt argument \"language\" must be a string",
            ));
        }
    };
    Ok(json!({
        "description": "A summary of the notes kept by the demo server.",
        "messages": [{
            "role": "user",
            "content": {
                "type": "text",
                "text": format!("List my notes with the notes_list tool and summarize them in {language}."),
            },
        }],
    }))
}
