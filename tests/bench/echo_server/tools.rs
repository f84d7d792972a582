//! Tools by number: `echo`, `sleep`, then made-up ones, no two of which have the same name before number 10,000.

use serde_json::{Value, json};

const SERVICES: [&str; 25] = [
    "github",
    "gitlab",
    "jira",
    "slack",
    "notion",
    "stripe",
    "salesforce",
    "zendesk",
    "postgres",
    "redis",
    "kubernetes",
    "aws",
    "calendar",
    "gmail",
    "figma",
    "sentry",
    "datadog",
    "linear",
    "confluence",
    "shopify",
    "dropbox",
    "airtable",
    "twilio",
    "mongodb",
    "grafana",
];

/// With what else one would call it.
const VERBS: [(&str, &str); 16] = [
    ("create", "add or open"),
    ("get", "read or look up"),
    ("list", "browse or enumerate"),
    ("update", "edit or modify"),
    ("delete", "remove or erase"),
    ("search", "find or filter"),
    ("archive", "retire or hide"),
    ("export", "download or dump"),
    ("assign", "delegate or hand over"),
    ("watch", "follow or monitor"),
    ("copy", "clone or duplicate"),
    ("lock", "freeze or protect"),
    ("restore", "recover or undelete"),
    ("audit", "review or trace"),
    ("share", "publish or send"),
    ("label", "tag or classify"),
];

const OBJECTS: [&str; 25] = [
    "issue",
    "branch",
    "commit",
    "release",
    "message",
    "channel",
    "page",
    "invoice",
    "customer",
    "subscription",
    "ticket",
    "table",
    "query",
    "deployment",
    "bucket",
    "event",
    "comment",
    "dashboard",
    "metric",
    "project",
    "milestone",
    "webhook",
    "snapshot",
    "schedule",
    "attachment",
];

/// The result of `tools/list`: so many tools, the first two of which do something.
pub(super) fn list(from: usize, count: usize) -> String {
    let real = [
        tool(
            "echo",
            "Repeats a text.",
            &json!({"text": {"type": "string"}}),
        ),
        tool(
            "sleep",
            "Answers late.",
            &json!({"milliseconds": {"type": "integer"}}),
        ),
    ];
    let made_up = (from..from + count.saturating_sub(real.len())).map(made_up);
    let tools: Vec<Value> = real.into_iter().chain(made_up).collect();
    json!({"tools": tools}).to_string()
}

fn made_up(number: usize) -> Value {
    let (verb, synonyms) = VERBS[number % VERBS.len()];
    let object = OBJECTS[number / VERBS.len() % OBJECTS.len()];
    let service = SERVICES[number / VERBS.len() / OBJECTS.len() % SERVICES.len()];
    let about = format!(
        "Use it to {verb} ({synonyms}) a {object} in {service}, when {service} is named. Returns the {object} as JSON, with its owner, its \
         state and when it was changed last."
    );
    let properties = json!({
        format!("{object}_id"): {"type": "string", "description": format!("Which {object}, as its URL in {service} has it.")},
        "workspace": {"type": "string", "description": format!("The account at {service}; the caller's own if it is left out.")},
        "fields": {"type": "array", "items": {"type": "string", "enum": ["title", "state", "owner", "changed"]}, "description": "What to return."},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20, "description": "How many to return at most."},
    });
    tool(&format!("{service}_{verb}_{object}"), &about, &properties)
}

fn tool(name: &str, about: &str, properties: &Value) -> Value {
    json!({
        "name": name,
        "description": about,
        "inputSchema": {"type": "object", "properties": properties},
        "annotations": {"readOnlyHint": true},
    })
}
