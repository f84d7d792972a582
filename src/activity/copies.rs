//! What the log copies of a call at once: whole where it is small, cut where others chose how long it is.

use std::borrow::Cow;

use crate::wire::{Raw, method};

/// Limit: bytes that are copied at once. A part of a message keeps the whole of it, whose memory the next call could use.
pub(super) const COPIED: usize = 1 << 10;

/// Limit: bytes of a name or an address that a client made up, of the error of a server, and of what a client says of itself. A record
/// shows less of them.
pub(super) const LONGEST_TEXT: usize = 4 << 10;

/// What is kept of a part of a message until its record is made.
pub(super) fn kept_copy(raw: &Raw) -> Raw {
    if raw.as_bytes().len() <= COPIED {
        raw.detached()
    } else {
        raw.clone()
    }
}

pub(super) fn well_known(method: &str) -> Cow<'static, str> {
    let known = method::well_known(method);
    known.map_or_else(|| Cow::Owned(bounded(method).to_owned()), Cow::Borrowed)
}

/// The beginning of a text that others made up.
pub(super) fn bounded(text: &str) -> &str {
    let (beginning, _) = text.split_at(text.floor_char_boundary(LONGEST_TEXT));
    beginning
}

/// What a client says of itself, without what no record shows if that is much.
pub(super) fn small_client(client: &Raw) -> Raw {
    if client.as_bytes().len() <= LONGEST_TEXT {
        return client.clone();
    }
    let text = |key: &str| client.get(key).and_then(|text| text.string());
    let [name, version] = ["name", "version"].map(|key| text(key).unwrap_or_default());
    let small = (bounded(&name), bounded(&version));
    Raw::author(&serde_json::json!({ "name": small.0, "version": small.1 }))
}

/// The error of a server, without what no record shows if that is much.
pub(super) fn small_error(error: &Raw) -> Raw {
    if error.as_bytes().len() <= LONGEST_TEXT {
        return error.clone();
    }
    let code = error.get("code").and_then(|code| code.read::<i64>().ok());
    let message = error.get("message").and_then(|message| message.string());
    let message = message.unwrap_or_default();
    Raw::author(&serde_json::json!({ "code": code, "message": bounded(&message) }))
}
