use serde_json::json;

use super::*;

const LEGACY: &str = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"tasks":{},"x":{"y":1.0}},
        "serverInfo":{"name":"s","version":"1","z":[]},"instructions":"Ask.","vendor":{"a":1.10}}"#;
const MODERN: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28","2027-01-01"],
        "capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{},"io.modelcontextprotocol/ui":{}}},
        "ttlMs":5,"cacheScope":"public","vendor":1.10,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"2"},"k":1}}"#;

fn raw(text: &str) -> Raw {
    Raw::parse_str(text).expect("JSON")
}

fn same(found: &Raw, expected: &serde_json::Value) {
    let found: serde_json::Value = found.read().expect("JSON");
    assert_eq!(&found, expected);
}

#[test]
fn a_legacy_server_is_discovered_as_it_presents_itself() {
    same(
        &as_discovery(&raw(LEGACY)),
        &json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "ttlMs": 0, "cacheScope": "private",
            "capabilities": { "tools": { "listChanged": true }, "x": { "y": 1.0 } },
            "instructions": "Ask.", "vendor": { "a": 1.1 },
            "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "s", "version": "1", "z": [] } },
        }),
    );
}

#[test]
fn a_modern_server_keeps_what_is_its_own() {
    let found = as_discovery(&raw(MODERN));
    let expected = MODERN
        .replace(r#","2027-01-01""#, "")
        .replace(r#""ttlMs":5"#, r#""ttlMs":0"#)
        .replace("public", "private");
    assert_eq!(found.as_str(), expected);
}

#[test]
fn a_modern_server_opens_for_legacy_clients() {
    same(
        &as_initialize(&raw(MODERN), Revision::NEWEST_LEGACY),
        &json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "tools": {}, "extensions": { "io.modelcontextprotocol/ui": {} } },
            "vendor": 1.1, "_meta": { "k": 1 }, "serverInfo": { "name": "s", "version": "2" },
        }),
    );
}

#[test]
fn a_legacy_server_opens_with_the_agreed_revision_alone_changed() {
    let found = as_initialize(&raw(LEGACY), Revision::NEWEST_LEGACY);
    assert_eq!(found.as_str(), LEGACY.replace("2025-06-18", "2025-11-25"));
}
