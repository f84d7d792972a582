//! The server's name before what people and models read, where a client sees many servers as one.

use super::request::EndpointKind;
use crate::{
    call_context::CallContext,
    text::names::ServerName,
    wire::{
        Edit, LogLevel, Notification, Raw, Revision,
        input_required::{self, MAX_REQUESTS},
        method, splice,
    },
};

/// `[server] ` and the text, which itself stays as it is written.
pub fn prefixed(server: &ServerName, text: Option<&Raw>) -> Raw {
    let written = text
        .map(Raw::as_bytes)
        .and_then(|text| text.strip_prefix(b"\""));
    match written {
        // What follows the opening quote, the closing one included. A server's name needs no escapes.
        Some(rest) if rest != b"\"" => {
            let text = [format!("\"[{server}] ").as_bytes(), rest].concat();
            Raw::parse(&text.into()).unwrap_or_else(|_| Raw::author(&format!("[{server}]")))
        }
        _ => Raw::author(&format!("[{server}]")),
    }
}

/// The params of a question as the user of this endpoint must see them.
pub(super) fn question(
    endpoint: EndpointKind,
    server: &ServerName,
    method: &str,
    params: Option<&Raw>,
) -> Option<Raw> {
    match endpoint {
        EndpointKind::OneServer => params.cloned(),
        EndpointKind::ManyServers => labelled(server, method, params),
    }
}

fn labelled(server: &ServerName, method: &str, params: Option<&Raw>) -> Option<Raw> {
    let params = params?;
    if method != method::ELICITATION || !params.is_object() {
        return Some(params.clone());
    }
    let message = prefixed(server, params.get("message").as_ref());
    let edits = [("message", Edit::Set(message))];
    Some(splice(params, &edits).unwrap_or_else(|_| params.clone()))
}

/// The same for every question of an upstream's result that asks; `None` if it asks too much.
pub(super) fn result(server: &ServerName, result: &Raw) -> Option<Raw> {
    if input_required::requests(result).len() > MAX_REQUESTS {
        return None;
    }
    Some(input_required::with_params(result, |request| {
        let asks_user = &*request.method == method::ELICITATION;
        let params = request.params.as_ref().filter(|_| asks_user);
        labelled(server, &request.method, params)
    }))
}

// Which log lines of an upstream a client gets to see: those that come within its own request, from the level on that it wants.
// Lines that come with no request stay with the operator.

/// Whether a notification within a request is for its client.
pub(super) fn is_wanted(context: &CallContext, notice: &Notification) -> bool {
    &*notice.method != method::LOG_MESSAGE
        || is_grave_enough(context.revision, context.log_level, notice)
}

/// A legacy client that named no level sees everything, a modern one nothing (logging, "Message Filtering"). A line of an unknown
/// level passes wherever lines do.
fn is_grave_enough(revision: Revision, wanted: Option<LogLevel>, line: &Notification) -> bool {
    let Some(wanted) = wanted else {
        return revision.logs_by_default();
    };
    LogLevel::of_line(line).is_none_or(|level| level >= wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw {
        Raw::parse_str(text).expect("JSON")
    }

    #[test]
    fn the_user_sees_who_asks() {
        let server = ServerName::parse("s").expect("a name");
        let upstream = raw(
            r#"{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"m","x":1.10}},"b":{"method":"roots/list"}},"z":1}"#,
        );
        let labelled = result(&server, &upstream).expect("few questions");
        assert_eq!(
            labelled.as_str(),
            upstream.as_str().replace(r#""m""#, r#""[s] m""#)
        );
        let none = raw(r#"{"inputRequests":{"b":{"method":"roots/list"}}}"#);
        assert_eq!(result(&server, &none), Some(none));
    }

    #[test]
    fn nobody_is_asked_without_bound() {
        let server = ServerName::parse("s").expect("a name");
        let labelled = |count: usize| {
            let one = |n| format!(r#""{n}":{{"method":"elicitation/create","params":{{}}}}"#);
            let all: Vec<_> = (0..count).map(one).collect();
            let asking = format!(r#"{{"inputRequests":{{{}}}}}"#, all.join(","));
            result(&server, &raw(&asking)).is_some()
        };
        assert!(labelled(MAX_REQUESTS) && !labelled(MAX_REQUESTS + 1));
    }
}

#[cfg(test)]
mod log_lines_tests {
    use super::*;
    use crate::wire::Raw;

    #[test]
    fn lines_pass_from_the_wanted_level_on() {
        let legacy = Revision::NEWEST_LEGACY;
        let modern = Revision::without_handshake().next().expect("there is one");
        let check = |revision, wanted: Option<&str>, level: &str, expected: bool| {
            let line = Notification {
                method: method::LOG_MESSAGE.into(),
                params: Some(Raw::author(&serde_json::json!({ "level": level }))),
            };
            let wanted = wanted.and_then(LogLevel::read);
            let passes = is_grave_enough(revision, wanted, &line);
            assert_eq!(passes, expected, "{revision} {wanted:?} {level}");
        };
        check(legacy, None, "debug", true);
        check(modern, None, "emergency", false);
        for revision in [legacy, modern] {
            check(revision, Some("warning"), "info", false);
            check(revision, Some("warning"), "warning", true);
            check(revision, Some("warning"), "alert", true);
            check(revision, Some("warning"), "loud", true);
        }
    }
}
