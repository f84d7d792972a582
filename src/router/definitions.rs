//! Definitions on endpoints of many servers: as the server wrote them, except for the name or URI under which they are offered. Pure.

use std::borrow::Cow;

use crate::{
    catalog::{Snapshot, Tool},
    forward::prefixed,
    text::names::ServerName,
    wire::{Edit, Raw, named_uris::tool_with_uris, splice},
};

/// A tool's definition with its offered name, the server's name before its description, and the offered URIs of its views.
pub(super) fn offered_tool(snapshot: &Snapshot, server: &ServerName, tool: &Tool) -> Raw {
    let definition = &*with_offered_views(snapshot, server, tool);
    let edits = [
        ("name", Edit::Set(Raw::author(&tool.offered))),
        (
            "description",
            Edit::Set(prefixed(server, definition.get("description").as_ref())),
        ),
    ];
    // Only objects get into the catalog.
    splice(definition, &edits).unwrap_or_else(|_| definition.clone())
}

/// A tool's definition with the offered URIs of its views.
pub(super) fn with_offered_views<'a>(
    snapshot: &Snapshot,
    server: &ServerName,
    tool: &'a Tool,
) -> Cow<'a, Raw> {
    let other = |own: &str| other_uri(snapshot, server, own);
    let has_views = !tool.views.is_empty();
    let changed = has_views.then(|| tool_with_uris(&tool.definition, other));
    let same = Cow::Borrowed(&tool.definition);
    changed.flatten().map_or(same, Cow::Owned)
}

/// The URI under which a server's resource is offered, if it is not the server's own.
pub(super) fn other_uri(snapshot: &Snapshot, server: &ServerName, own: &str) -> Option<String> {
    let offered = snapshot.offered_uri(server, own);
    (offered != own).then(|| offered.into_owned())
}

/// A definition with this text under a key.
pub(super) fn renamed(definition: &Raw, key: &str, value: &str) -> Raw {
    splice(definition, &[(key, Edit::Set(Raw::author(&value)))])
        .unwrap_or_else(|_| definition.clone())
}

/// A definition of a resource or template, under the URI or template that it is offered as.
pub(super) fn with_uri(definition: &Raw, key: &str, own: &str, offered: &str) -> Raw {
    if own == offered {
        definition.clone()
    } else {
        renamed(definition, key, offered)
    }
}
