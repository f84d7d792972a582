//! What changes in a message on its way between the eras: from a client of one to an upstream of the other and back. Where both
//! speak the same era nothing does.

use super::{
    Edit, LogLevel, Outcome, Raw, Revision, RpcError,
    input_required::{self, InputRequest},
    meta, method, presentation, result_type, splice,
};

/// The sender of a request, in the form for a modern upstream.
#[derive(Debug, Clone, Copy)]
pub struct Sender<'a> {
    /// What it speaks.
    pub revision: Revision,
    /// Its name and version.
    pub client: &'a Raw,
    /// What it can do.
    pub capabilities: &'a Raw,
    /// The log lines that it wants to see.
    pub log_level: Option<LogLevel>,
}

/// A vendor key: the client on whose behalf we ask, when we do so in our own name.
const ON_BEHALF_OF: &str = "mcpproxy/client";

/// The params that an upstream of this revision is to get. A request without params gets some where the revision wants `_meta`.
pub fn params_for(upstream: Revision, sender: &Sender<'_>, params: Option<&Raw>) -> Option<Raw> {
    match (
        sender.revision.has_handshake(),
        upstream.has_handshake(),
        params,
    ) {
        (false, true, Some(params)) => Some(without_sender(params)),
        (true, false, params) => Some(stamped(upstream, sender, params)),
        (_, _, params) => params.cloned(),
    }
}

/// The error of a request that goes on with a question of an upstream which asks by requests, and so never asked one in a result.
pub fn foreign_round(
    client: Revision,
    upstream: Revision,
    params: Option<&Raw>,
) -> Option<&'static str> {
    if client.has_handshake() || !upstream.has_handshake() {
        return None;
    }
    let state = params.and_then(|params| params.get(input_required::STATE));
    if state.is_some_and(|state| !state.is_null()) {
        return Some(input_required::UNKNOWN_STATE);
    }
    input_required::has_responses(params).then_some(input_required::UNREQUESTED)
}

/// The pages that a legacy upstream wants opened before it goes on, where a modern client needs a result for that. None where it
/// wants nothing of the kind.
pub fn pages_to_open(
    client: Revision,
    upstream: Revision,
    outcome: &Outcome,
) -> Option<Vec<InputRequest>> {
    match outcome {
        Outcome::Error(error) if !client.has_handshake() && upstream.has_handshake() => {
            input_required::pages_to_open(error)
        }
        _ => None,
    }
}

/// Takes the keys away that belong to the client's connection with us. Legacy servers choke on some of them.
fn without_sender(params: &Raw) -> Raw {
    let inner = meta::OF_THE_SENDER.map(|key| (key, Edit::Remove));
    let edits = [
        (meta::META, Edit::Within(&inner)),
        (input_required::RESPONSES, Edit::Remove),
        (input_required::STATE, Edit::Remove),
    ];
    edited(params, &edits)
}

/// Adds what every modern request must say. What stands there under these keys is a legacy client's mistake.
fn stamped(upstream: Revision, sender: &Sender<'_>, params: Option<&Raw>) -> Raw {
    let level = sender.log_level.map(|level| Raw::author(&level.as_str()));
    let inner = [
        (
            meta::PROTOCOL_VERSION,
            Edit::Set(Raw::author(&upstream.as_str())),
        ),
        (
            meta::CLIENT_INFO,
            Edit::Set(presentation::own_implementation()),
        ),
        (
            meta::CLIENT_CAPABILITIES,
            Edit::Set(bridged_capabilities(sender.capabilities)),
        ),
        (meta::LOG_LEVEL, level.map_or(Edit::Remove, Edit::Set)),
        (ON_BEHALF_OF, Edit::Set(sender.client.clone())),
    ];
    let empty = Raw::empty_object();
    let params = params.filter(|params| params.is_object()).unwrap_or(&empty);
    edited(params, &[(meta::META, Edit::Within(&inner))])
}

/// What a modern upstream may want of a legacy client through us. Tasks differ between the eras, so nobody is promised any.
fn bridged_capabilities(capabilities: &Raw) -> Raw {
    let extensions = [(presentation::TASKS_EXTENSION, Edit::Remove)];
    let mut edits = vec![("tasks", Edit::Remove)];
    if capabilities.get("extensions").is_some() {
        edits.push(("extensions", Edit::Within(&extensions)));
    }
    splice(capabilities, &edits).unwrap_or_else(|_| Raw::empty_object())
}

/// A result, or an error in its place, that no client can be given.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnfitResult {
    /// It is of a kind that the client was not promised to know.
    #[error("a result of the type {0:?}, which was not requested")]
    Unpromised(String),
    /// It breaks the protocol.
    #[error("a result that is not an object")]
    NoObject,
    /// So does its error.
    #[error("an error without an integer \"code\" and a text \"message\"")]
    NoError,
}

/// The answer of an upstream as a client of this revision must get it.
pub fn answer_for(
    client: Revision,
    upstream: Revision,
    method: &str,
    outcome: Outcome,
) -> Result<Outcome, UnfitResult> {
    match &outcome {
        Outcome::Result(result) if !result.is_object() => return Err(UnfitResult::NoObject),
        Outcome::Error(error) if !RpcError::is_readable(error) => return Err(UnfitResult::NoError),
        _ => (),
    }
    let eras = (client.has_handshake(), upstream.has_handshake());
    Ok(match (outcome, eras) {
        (Outcome::Result(result), (false, true)) => Outcome::Result(completed(method, &result)),
        (Outcome::Result(result), (true, false)) => match result_type::of(&result) {
            Some(kind) if kind != result_type::COMPLETE => {
                return Err(UnfitResult::Unpromised(kind));
            }
            _ => Outcome::Result(without_result_type(&result)),
        },
        (Outcome::Result(result), _) => Outcome::Result(result),
        (Outcome::Error(error), _) => Outcome::Error(error_for(client, upstream, method, error)),
    })
}

fn without_result_type(result: &Raw) -> Raw {
    let edits = ["resultType", "ttlMs", "cacheScope"].map(|key| (key, Edit::Remove));
    edited(result, &edits)
}

/// Whether an upstream's result has questions that a client of this revision takes as requests.
pub fn asks_by_requests(client: Revision, upstream: Revision, result: &Raw) -> bool {
    client.has_handshake() && !upstream.has_handshake() && input_required::is_input_required(result)
}

/// A result of our own as a client of this revision must get it.
pub fn own_result_for(client: Revision, method: &str, result: Raw) -> Raw {
    if client.has_result_types() {
        completed(method, &result)
    } else {
        result
    }
}

/// What a modern client must find in every result, and in those that it may keep. Nothing may be kept: what a client sees
/// depends on settings and approvals.
fn completed(method: &str, result: &Raw) -> Raw {
    let text = |value: &str| Edit::Set(Raw::author(&value));
    let inner = [(
        meta::SERVER_INFO,
        Edit::Set(presentation::own_implementation()),
    )];
    let mut edits = vec![
        ("resultType", text(result_type::COMPLETE)),
        (meta::META, Edit::Within(&inner)),
    ];
    if method::CACHEABLE.contains(&method) {
        edits.push(("ttlMs", Edit::Set(Raw::author(&0))));
        edits.push(("cacheScope", text("private")));
    }
    edited(result, &edits)
}

/// The error of an upstream as a client of this revision must get it: a resource that does not exist has another code in each
/// era.
pub fn error_for(client: Revision, upstream: Revision, method: &str, error: Raw) -> Raw {
    if client.has_handshake() == upstream.has_handshake() {
        return error;
    }
    let code = error.get("code").and_then(|code| code.read::<i64>().ok());
    let missing = match code {
        Some(code) if code == upstream.missing_resource_code() => {
            // Of the modern code only what belongs to a resource is meant.
            upstream.has_handshake() || method == method::RESOURCES_READ
        }
        _ => false,
    };
    if missing {
        let code = Raw::author(&client.missing_resource_code());
        edited(&error, &[("code", Edit::Set(code))])
    } else {
        error
    }
}

/// Whether a modern request of this method may be answered with questions (basic/patterns/mrtr).
pub fn may_ask(method: &str) -> bool {
    matches!(
        method,
        method::TOOLS_CALL | method::PROMPTS_GET | method::RESOURCES_READ
    )
}

fn edited(object: &Raw, edits: &[(&str, Edit<'_>)]) -> Raw {
    splice(object, edits).unwrap_or_else(|_| object.clone())
}

/// What an upstream gets instead of an answer of its client.
pub fn refused_question(method: &str, why: &str) -> RpcError {
    RpcError::new(
        RpcError::INTERNAL,
        format!("{method} cannot be answered: {why}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEGACY: Revision = Revision::V2025_11_25;
    const MODERN: Revision = Revision::V2026_07_28;

    fn raw(text: &str) -> Raw {
        Raw::parse_str(text).expect("JSON")
    }

    fn params(client: Revision, upstream: Revision, text: &str) -> String {
        let (name, capabilities) = (raw(r#"{"name":"c"}"#), raw(r#"{"tasks":{},"roots":{}}"#));
        let sender = Sender {
            revision: client,
            client: &name,
            capabilities: &capabilities,
            log_level: Some(LogLevel::Info),
        };
        let params = params_for(upstream, &sender, Some(&raw(text)));
        params.expect("params").as_str().to_owned()
    }

    /// The result of an upstream as a client gets it.
    fn result(
        client: Revision,
        upstream: Revision,
        method: &str,
        text: &str,
    ) -> Result<Raw, UnfitResult> {
        let made = answer_for(client, upstream, method, Outcome::Result(raw(text)))?;
        match made {
            Outcome::Result(result) => Ok(result),
            Outcome::Error(error) => panic!("a result became an error: {error:?}"),
        }
    }

    #[test]
    fn nothing_changes_within_an_era() {
        let text = r#"{ "a":1.10, "_meta":{"io.modelcontextprotocol/logLevel":"info" } }"#;
        assert_eq!(params(LEGACY, LEGACY, text), text);
        assert_eq!(params(MODERN, MODERN, text), text);
        for era in [LEGACY, MODERN] {
            assert_eq!(result(era, era, "tools/list", text), Ok(raw(text)));
        }
    }

    #[test]
    fn a_legacy_upstream_hears_nothing_of_a_modern_connection() {
        let keys = meta::OF_THE_SENDER
            .map(|key| format!("{key:?}:{{}}"))
            .join(",");
        let text =
            format!(r#"{{"a":1.10,"_meta":{{{keys},"traceparent":"00","progressToken":"p1"}}}}"#);
        assert_eq!(
            params(MODERN, LEGACY, &text),
            r#"{"a":1.10,"_meta":{"traceparent":"00","progressToken":"p1"}}"#
        );
    }

    #[test]
    fn a_modern_upstream_hears_who_asks() {
        let made = raw(&params(
            LEGACY,
            MODERN,
            r#"{"a":1.10,"_meta":{"progressToken":"p1"}}"#,
        ));
        assert_eq!(made.get("a").expect("kept").as_str(), "1.10");
        let inner = made.get("_meta").expect("made");
        let of = |key| inner.get(key).map(|value| value.as_str().to_owned());
        assert_eq!(of("progressToken").as_deref(), Some("\"p1\""));
        assert_eq!(
            of(meta::PROTOCOL_VERSION).as_deref(),
            Some("\"2026-07-28\"")
        );
        assert_eq!(
            of(meta::CLIENT_CAPABILITIES).as_deref(),
            Some("{\"roots\":{}}")
        );
        assert_eq!(of(meta::LOG_LEVEL).as_deref(), Some("\"info\""));
        assert_eq!(of(ON_BEHALF_OF).as_deref(), Some(r#"{"name":"c"}"#));
    }

    #[test]
    fn results_have_the_shape_of_the_clients_era() {
        let shaped = |client, upstream, method, text| {
            result(client, upstream, method, text).expect("a result of a known kind")
        };
        let modern = shaped(MODERN, LEGACY, "tools/list", r#"{"tools":[]}"#);
        let of = |key: &str| modern.get(key).map(|value| value.as_str().to_owned());
        assert_eq!(of("resultType").as_deref(), Some("\"complete\""));
        assert_eq!(
            (of("ttlMs").as_deref(), of("cacheScope").as_deref()),
            (Some("0"), Some("\"private\""))
        );
        let call = shaped(MODERN, LEGACY, "tools/call", r#"{"content":[]}"#);
        assert!(call.get("ttlMs").is_none());
        let text = r#"{"resultType":"complete","content":[1.10]}"#;
        let legacy = shaped(LEGACY, MODERN, "tools/call", text);
        assert_eq!(legacy.as_str(), r#"{"content":[1.10]}"#);
        let task = r#"{"resultType":"task","taskId":"t"}"#;
        let unpromised = result(LEGACY, MODERN, "tools/call", task);
        assert_eq!(unpromised, Err(UnfitResult::Unpromised("task".to_owned())));
        for text in ["\"text\"", "null", "[1]", "1"] {
            let broken = result(LEGACY, LEGACY, "tools/call", text);
            assert_eq!(broken, Err(UnfitResult::NoObject), "{text}");
        }
        for (text, is_readable) in [
            (r#"{"message":"","data":1,"code":-32000}"#, true),
            (r#"{"code":"E","message":"m"}"#, false),
            (r#"{"code":1.5,"message":"m"}"#, false),
            (r#"{"code":1,"message":5}"#, false),
            (r#"{"code":1}"#, false),
            ("\"boom\"", false),
        ] {
            let made = answer_for(LEGACY, LEGACY, "tools/call", Outcome::Error(raw(text)));
            let why = made.err();
            assert_eq!(
                why,
                (!is_readable).then_some(UnfitResult::NoError),
                "{text}"
            );
        }
    }

    #[test]
    fn a_missing_resource_has_the_code_of_the_clients_era() {
        let check = |client, upstream, method, code: i64, expected: i64| {
            let error = Raw::author(&serde_json::json!({ "code": code, "message": "m" }));
            let made = error_for(client, upstream, method, error);
            let made = made.get("code").expect("a code");
            assert_eq!(made.as_str(), expected.to_string(), "{method}");
        };
        check(MODERN, LEGACY, "resources/read", -32002, -32602);
        check(LEGACY, MODERN, "resources/read", -32602, -32002);
        check(LEGACY, MODERN, "tools/call", -32602, -32602);
        check(LEGACY, LEGACY, "resources/read", -32602, -32602);
        check(MODERN, LEGACY, "tools/call", -32603, -32603);
    }
}
