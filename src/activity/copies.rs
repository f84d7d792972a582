//! Copies what the log keeps of a call until its record is made: small parts whole, and texts whose length others chose cut. A record shows
//! no more.

use std::borrow::Cow;

use crate::{
    text::cut::beginning,
    wire::{Raw, method},
};

/// Limit: bytes of a part that is copied at once. A larger part refers to its message and keeps that alive.
pub(super) const COPIED: usize = 1 << 10;

/// Limit: bytes of a name or a URI from a client, of the error of a server, and of a client's implementation.
pub(super) const LONGEST_TEXT: usize = 4 << 10;

/// A part of a message: a copy if it is small, else a reference to its message.
pub(super) fn kept_copy(raw: &Raw) -> Raw {
    if raw.as_bytes().len() <= COPIED {
        raw.detached()
    } else {
        raw.clone()
    }
}

/// The name of a method, cut. Known names are not copied.
pub(super) fn well_known(method: &str) -> Cow<'static, str> {
    let known = method::well_known(method);
    known.map_or_else(|| Cow::Owned(bounded(method).to_owned()), Cow::Borrowed)
}

/// The beginning of a text from outside.
pub(super) fn bounded(text: &str) -> &str {
    beginning(text, LONGEST_TEXT)
}

/// A client's implementation; of a long one name and version.
pub(super) fn small_client(client: &Raw) -> Raw {
    if client.as_bytes().len() <= LONGEST_TEXT {
        return client.clone();
    }
    let text = |key: &str| client.get(key).and_then(|text| text.string());
    let [name, version] = ["name", "version"].map(|key| text(key).unwrap_or_default());
    let small = (bounded(&name), bounded(&version));
    Raw::author(&serde_json::json!({ "name": small.0, "version": small.1 }))
}

/// The error of a server; of a long one code and message.
pub(super) fn small_error(error: &Raw) -> Raw {
    if error.as_bytes().len() <= LONGEST_TEXT {
        return error.clone();
    }
    let code = error.get("code").and_then(|code| code.read::<i64>().ok());
    let message = error.get("message").and_then(|message| message.string());
    let message = message.unwrap_or_default();
    Raw::author(&serde_json::json!({ "code": code, "message": bounded(&message) }))
}
