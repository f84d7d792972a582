//! Definitions of servers as clients see them: as they came, but for the name or URI under which they are offered. Pure.

use crate::{
    forward::prefixed,
    names::ServerName,
    wire::{Edit, Raw, splice},
};

/// A tool's definition as it came, but for the offered name and the server's name before the description.
pub(super) fn offered_tool(server: &ServerName, offered: &str, definition: &Raw) -> Raw {
    let edits = [
        ("name", Edit::Set(Raw::author(&offered))),
        (
            "description",
            Edit::Set(prefixed(server, definition.get("description").as_ref())),
        ),
    ];
    // Only objects get into the catalog.
    splice(definition, &edits).unwrap_or_else(|_| definition.clone())
}

/// With this text under a key.
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
