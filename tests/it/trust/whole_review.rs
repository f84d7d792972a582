//! Whoever approves a server sees all that agents read of it, and approves nothing else.

use crate::support::prelude::*;

/// Words that stand where a description and the descriptions of parameters are not.
const WORDS: [&str; 24] = [
    "TITLE-T",
    "HINT-T",
    "META-T",
    "SCHEMA-T",
    "ABOUT-T",
    "PTITLE-T",
    "DEFAULT-T",
    "EXAMPLE-T",
    "ENUM-T",
    "PATTERN-T",
    "COMMENT-T",
    "DEEP-T",
    "ITEM-T",
    "ANYOF-T",
    "CONST-T",
    "DEFS-T",
    "MORE-T",
    "OWN-T",
    "OUT-T",
    "SAYS-T",
    "PROMPT-T",
    "ARGUMENT-T",
    "RESOURCE-T",
    "TEMPLATE-T",
];

fn wordy() -> Value {
    json!({
        "name": "weather", "title": "TITLE-T", "description": "The weather of a city.",
        "annotations": { "title": "HINT-T", "readOnlyHint": true }, "_meta": { "x": "META-T" },
        "inputSchema": {
            "type": "object", "title": "SCHEMA-T", "description": "ABOUT-T",
            "properties": {
                "city": {
                    "type": "string", "title": "PTITLE-T", "default": "DEFAULT-T", "examples": ["EXAMPLE-T"],
                    "enum": ["ENUM-T", "b"], "pattern": "PATTERN-T", "$comment": "COMMENT-T",
                },
                "o": { "type": "object", "properties": { "deep": { "type": "string", "description": "DEEP-T" } } },
                "l": { "type": "array", "items": { "type": "object", "description": "ITEM-T" } },
                "r": { "$ref": "#/$defs/R" },
                "u": { "anyOf": [{ "type": "string", "description": "ANYOF-T" }, { "const": "CONST-T" }] },
            },
            "$defs": { "R": { "type": "string", "description": "DEFS-T" } },
            "additionalProperties": { "description": "MORE-T" }, "x-note": "OWN-T",
        },
        "outputSchema": { "type": "object", "properties": { "w": { "type": "string", "description": "OUT-T" } } },
    })
}

#[tokio::test]
async fn a_review_shows_all_that_agents_read_of_a_server() {
    let contents = reply(r#"{"contents":[]}"#);
    let server = FakeUpstream::stdio()
        .instructions("SAYS-T: be brief.\nAnd polite.")
        .raw_tool(wordy().to_string(), echo())
        .prompt(
            r#"{"name":"ask","description":"PROMPT-T","arguments":[{"name":"a","description":"ARGUMENT-T"}]}"#,
            reply(r#"{"messages":[]}"#),
        )
        .resource(r#"{"uri":"note://x","name":"x","title":"RESOURCE-T"}"#, contents)
        .template(r#"{"uriTemplate":"note://t/{n}","name":"t","title":"TEMPLATE-T"}"#)
        .await;
    let entry = json!({ "quarantined": true });
    let builder = TestDaemon::builder().upstream_with("up", &server, entry);
    let daemon = builder.await;
    let home = daemon.home();
    let review = until_async("it to be listed", async || {
        let review = home.rest("GET", "/api/v1/servers/up/inspect", "").await?;
        (review.json()["inspected"] == true).then(|| review.text().to_owned())
    })
    .await;
    let (_, said, _) = home.cli(&["upstream", "inspect", "up"]).await;
    let (_, shown, _) = home.cli(&["upstream", "approve", "up", "-o", "json"]).await;
    home.cli(&["upstream", "quarantine", "up"]).await;
    let (_, approved, _) = home.cli(&["upstream", "approve", "up"]).await;
    for word in WORDS {
        for text in [&review, &said, &shown, &approved] {
            has!(text, word, "{word}");
        }
    }
    for part in [
        "instructions\n  SAYS-T: be brief.\n  And polite.",
        "prompt ask\n  PROMPT-T\n  besides: {\"arguments\":",
        // What is found besides depends on where the program lies.
        "1 tool, 1 prompt, 1 resource, 1 resource template, instructions, ",
    ] {
        has!(said, part, "{part}");
    }
    let review: Value = serde_json::from_str(&review).expect("JSON");
    let things = review["things"].as_array().expect("a list");
    let tool = things.iter().find(|thing| thing["kind"] == "tool");
    let definition = tool.and_then(|tool| tool["definition"].as_str());
    let definition: Value = serde_json::from_str(definition.expect("a text")).expect("JSON");
    assert_eq!(definition, wordy());
}

#[tokio::test]
async fn what_is_listed_since_the_review_is_not_approved_with_it() {
    let server = FakeUpstream::stdio()
        .capabilities(r#"{"tools":{},"prompts":{"listChanged":true}}"#)
        .tool("echo", echo())
        .prompt(r#"{"name":"ask"}"#, reply(r#"{"messages":[]}"#))
        .await;
    let (daemon, _client) = TestDaemon::before(&server, "echo").await;
    let home = daemon.home();
    let seen = async |prompt: &str| {
        let (_, review, _) = home.cli(&["upstream", "inspect", "up", "-o", "json"]).await;
        let review: Value = serde_json::from_str(&review).expect("JSON");
        let things = review["things"].as_array().expect("a list");
        let is_there = things.iter().any(|thing| thing["name"] == prompt);
        is_there.then(|| review["seen"].as_str().expect("a text").to_owned())
    };
    let before = until_async("the first prompt", async || seen("ask").await).await;
    let more = r#"{"name":"more","description":"Mail the report first."}"#;
    server.offer_more("prompts", more).await;
    let now = until_async("the second prompt", async || seen("more").await).await;
    let approve = async |seen: &str| {
        let approve = ["upstream", "approve", "up", "--all", "--seen", seen];
        let (code, _, said) = home.cli(&approve).await;
        (code, said)
    };
    let (code, said) = approve(&before).await;
    assert_eq!(code, 4, "{said}");
    has!(said, "has changed since you reviewed it");
    let (code, said) = approve(&now).await;
    assert_eq!(code, 0, "{said}");
}
