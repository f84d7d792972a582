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
mod tests;
