//! How a server presents itself: what differs between the results of `initialize` and `server/discover`.

use super::{Edit, Raw, Revision, meta, result_type, splice};

/// The extension's name among the capabilities.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// Our name and version, as requests and results name them.
pub fn own_implementation() -> Raw {
    Raw::author(&serde_json::json!({
        "name": env!("CARGO_PKG_NAME"),
        "version": env!("CARGO_PKG_VERSION"),
    }))
}

/// The same for clients and servers that get it once, and may show it.
pub fn own_titled_implementation() -> Raw {
    Raw::author(&serde_json::json!({
        "name": env!("CARGO_PKG_NAME"),
        "title": "mcpproxy",
        "version": env!("CARGO_PKG_VERSION"),
    }))
}

/// How a server of either era presents itself, as a modern client must hear it. What we do not know stays.
pub fn as_discovery(presented: &Raw) -> Raw {
    let mut edits = vec![
        ("resultType", Edit::Set(Raw::author(&result_type::COMPLETE))),
        (
            "supportedVersions",
            Edit::Set(Raw::author(&Revision::names_without_handshake())),
        ),
        // What is seen of the server depends on settings and approvals.
        ("ttlMs", Edit::Set(Raw::author(&0))),
        ("cacheScope", Edit::Set(Raw::author(&"private"))),
    ];
    let identity = presented.get("serverInfo").map(Edit::Set);
    let inner = identity.map(|identity| [(meta::SERVER_INFO, identity)]);
    // Tasks differ between the eras.
    let capabilities = [("tasks", Edit::Remove)];
    if is_of_a_handshake(presented) {
        edits.push(("protocolVersion", Edit::Remove));
        edits.push(("serverInfo", Edit::Remove));
        edits.push(("capabilities", Edit::Within(&capabilities)));
        if let Some(inner) = &inner {
            edits.push((meta::META, Edit::Within(inner)));
        }
    }
    splice(presented, &edits).unwrap_or_else(|_| presented.clone())
}

/// How a server of either era presents itself, as the result of `initialize` in this revision.
pub fn as_initialize(presented: &Raw, revision: Revision) -> Raw {
    let version = Edit::Set(Raw::author(&revision.as_str()));
    let mut edits = vec![("protocolVersion", version)];
    let extensions = [(TASKS_EXTENSION, Edit::Remove)];
    let capabilities = [("extensions", Edit::Within(&extensions))];
    let inner = [(meta::SERVER_INFO, Edit::Remove)];
    if !is_of_a_handshake(presented) {
        for key in ["resultType", "supportedVersions", "ttlMs", "cacheScope"] {
            edits.push((key, Edit::Remove));
        }
        let declared = presented.get("capabilities");
        let has_extensions = declared.is_some_and(|all| all.get("extensions").is_some());
        if has_extensions {
            edits.push(("capabilities", Edit::Within(&capabilities)));
        }
        let meta = presented.get(meta::META);
        let identity = meta.as_ref().and_then(|meta| meta.get(meta::SERVER_INFO));
        edits.push((
            "serverInfo",
            Edit::Set(identity.unwrap_or_else(own_implementation)),
        ));
        if meta.is_some() {
            edits.push((meta::META, Edit::Within(&inner)));
        }
    }
    splice(presented, &edits).unwrap_or_else(|_| presented.clone())
}

/// Every result of `initialize` names its revision; no result of `server/discover` does.
fn is_of_a_handshake(presented: &Raw) -> bool {
    presented.get("protocolVersion").is_some() || presented.get("supportedVersions").is_none()
}

#[cfg(test)]
mod tests {
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
}
