//! The answers that mcpproxy gives to a server itself, whichever client is connected: to pings, and to requests for known roots. Pure.

use crate::{
    config::Root,
    wire::{Outcome, Raw, Request, method},
};

/// The answer, if the question is ours to answer.
pub(in crate::upstream) fn known_answer(question: &Request, roots: &[Root]) -> Option<Outcome> {
    match &*question.method {
        method::PING => Some(Outcome::Result(Raw::empty_object())),
        method::ROOTS_LIST if !roots.is_empty() => Some(Outcome::Result(listed(roots))),
        _ => None,
    }
}

fn listed(roots: &[Root]) -> Raw {
    let roots: Vec<_> = roots
        .iter()
        .map(|root| match &root.name {
            Some(name) => serde_json::json!({ "uri": root.uri, "name": name }),
            None => serde_json::json!({ "uri": root.uri }),
        })
        .collect();
    Raw::author(&serde_json::json!({ "roots": roots }))
}
