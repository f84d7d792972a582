//! What upstreams ask in the middle of a call: whom it reaches, how, and what comes of it.

mod legacy_clients;
mod modern_clients;

use crate::support::prelude::*;

/// With an odd number, a field nobody knows, and an order of its own.
const FORM: &str = r#"{"message":"Your name?","requestedSchema":{"type":"object","properties":{"user_name":{"type":"string","default":1.10}}},"vendor":{"z":1,"a":2}}"#;

const SAMPLING: &str = r#"{"messages":[],"maxTokens":7}"#;

/// An answer with a number that must keep its text.
const ACCEPTED: &str = r#"{"action":"accept","content":{"user_name":"Zoë","n":1.10}}"#;

/// A server on each transport whose tools ask one question and two.
fn askers() -> [FakeUpstream; 3] {
    [
        FakeUpstream::stdio(),
        FakeUpstream::sse(),
        FakeUpstream::http().answering(HttpAnswers::Sse),
    ]
    .map(asking)
}

fn asking(upstream: FakeUpstream) -> FakeUpstream {
    let form = ask("elicitation/create", FORM);
    let sampling = ask("sampling/createMessage", SAMPLING);
    upstream
        .tool("form", form.clone().then(reply_with_answer()))
        .tool("two", form.then(sampling).then(reply_with_answer()))
        .tool("ping", ask("ping", "{}").then(reply_with_answer()))
}

/// The one on a pipe, and a daemon before it.
async fn asker() -> (Upstream, TestDaemon) {
    let [upstream, ..] = askers();
    let upstream = upstream.await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    (upstream, daemon)
}
