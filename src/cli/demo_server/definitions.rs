//! The definitions of the demo server's tools.

use serde_json::{Value, json};

/// The one tool that takes long.
pub(super) const SLOW: &str = "slow_count";

/// Every tool, as `tools/list` gives it.
pub(super) fn tool_definitions() -> Value {
    let reads = json!({ "readOnlyHint": true, "openWorldHint": false });
    let note_title = json!({
        "type": "string", "minLength": 1, "maxLength": 200, "description": "The note's title."
    });
    json!([
        {
            "name": "echo",
            "title": "Echo",
            "description": "Returns the given text unchanged. Useful to see that a connection works.",
            "inputSchema": object(&json!({
                "text": { "type": "string", "description": "The text to return." },
            }), &["text"]),
            "annotations": reads,
        },
        {
            "name": "add",
            "title": "Add two numbers",
            "description": "Adds two numbers and returns their sum, as text and as structured content.",
            "inputSchema": object(&json!({
                "a": { "type": "number", "description": "The first number." },
                "b": { "type": "number", "description": "The second number." },
            }), &["a", "b"]),
            "outputSchema": object(&json!({
                "sum": { "type": "number", "description": "The first number plus the second." },
            }), &["sum"]),
            "annotations": reads,
        },
        {
            "name": "time_now",
            "title": "Current time",
            "description": "Returns the current date and time in UTC, in the form 2026-07-28T12:34:56Z.",
            "inputSchema": object(&json!({}), &[]),
            "annotations": reads,
        },
        {
            "name": "notes_write",
            "title": "Write a note",
            "description": "Stores a note under a title. A note of the same title is replaced. Notes end with the process.",
            "inputSchema": object(&json!({
                "title": note_title,
                "text": { "type": "string", "maxLength": 10_000, "description": "What the note says." },
            }), &["title", "text"]),
            "annotations": {
                "readOnlyHint": false, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false,
            },
        },
        {
            "name": "notes_list",
            "title": "List notes",
            "description": "Lists all notes with title and text, or only those in which a given text occurs.",
            "inputSchema": object(&json!({
                "containing": { "type": "string", "description": "Only notes with this text in title or text." },
            }), &[]),
            "annotations": reads,
        },
        {
            "name": "notes_delete",
            "title": "Delete a note",
            "description": "Deletes the note of the given title for good.",
            "inputSchema": object(&json!({ "title": note_title }), &["title"]),
            "annotations": {
                "readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false,
            },
        },
        {
            "name": SLOW,
            "title": "Count slowly",
            "description": "Counts one number a second up to the given number, reporting progress. Useful to try progress, \
                            timeouts and cancellation.",
            "inputSchema": object(&json!({
                "seconds": {
                    "type": "integer", "minimum": 1, "maximum": 60, "default": 5,
                    "description": "How far to count, which is also how long it takes, in seconds.",
                },
            }), &[]),
            "annotations": reads,
        },
    ])
}

fn object(properties: &Value, required: &[&str]) -> Value {
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["additionalProperties"] = json!(false);
    schema
}
