//! What the demo server offers beside tools: its instructions, one resource, one prompt.

use serde_json::{Value, json};

use super::message::DemoError;

pub(super) const INSTRUCTIONS: &str = "A small server to try mcpproxy with. Nothing it does lasts: notes live in memory and end \
     with the process. echo, add and time_now are safe to call; notes_write and notes_delete change the notes that notes_list \
     shows; slow_count takes as many seconds as it is told and reports progress.";

const WELCOME_URI: &str = "demo://welcome";

const WELCOME: &str = "# Welcome\n\n\
    This text is the one resource of mcpproxy's demo server. If you can read it through mcpproxy, resources work.\n\n\
    Next, call `demo:echo`, then `demo:notes_write` and `demo:notes_list`.\n";

const PROMPT: &str = "summarize_notes";

/// The result of `resources/list`.
pub(super) fn resources() -> Value {
    json!({ "resources": [{
        "uri": WELCOME_URI,
        "name": "welcome",
        "title": "Welcome",
        "description": "What this demo server is and what to try first.",
        "mimeType": "text/markdown",
        "size": WELCOME.len(),
    }] })
}

/// The result of `resources/read`.
pub(super) fn read_resource(params: &Value) -> Result<Value, DemoError> {
    match params["uri"].as_str() {
        Some(WELCOME_URI) => Ok(json!({ "contents": [{
            "uri": WELCOME_URI,
            "mimeType": "text/markdown",
            "text": WELCOME,
        }] })),
        Some(unknown) => Err(DemoError::unknown_resource(unknown)),
        None => Err(DemoError::params("resources/read needs uri, a string")),
    }
}

/// The result of `prompts/list`.
pub(super) fn prompts() -> Value {
    json!({ "prompts": [{
        "name": PROMPT,
        "title": "Summarize my notes",
        "description": "Asks for a summary of the notes kept by the demo server.",
        "arguments": [{
            "name": "language",
            "description": "The language to write the summary in; English when absent.",
            "required": false,
        }],
    }] })
}

/// The result of `prompts/get`.
pub(super) fn prompt(params: &Value) -> Result<Value, DemoError> {
    match params["name"].as_str() {
        Some(PROMPT) => {}
        Some(unknown) => return Err(DemoError::params(format!("there is no prompt {unknown:?}"))),
        None => return Err(DemoError::params("prompts/get needs name, a string")),
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
