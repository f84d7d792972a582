//! Between the eras: what a message says of its sender comes and goes, everything else stays, and nothing upsets us.
//!
//! An input is an object: the params of a request, a result, or the input schema of a tool.

use bytes::Bytes;
use mcpproxy::wire::{
    LogLevel, Outcome, Raw, RequestMeta, Revision,
    bridge::{self, Sender, UnfitResult},
    header_params, header_value, is_modern, meta, method, result_type, unsupported,
};

use super::json;

const ERAS: [Revision; 2] = [Revision::NEWEST_LEGACY, Revision::V2026_07_28];

/// Any bytes.
pub fn check(input: &[u8]) {
    if let Ok(text) = str::from_utf8(input) {
        let value = header_value::encode(text);
        assert!(
            value.bytes().all(|c| (b' '..=b'~').contains(&c)),
            "{value:?}"
        );
        assert_eq!(header_value::decode(&value).as_deref(), Some(text));
        let _ = header_value::decode(text);
        let _ = unsupported(text);
    }
    let Ok(object) = Raw::parse(&Bytes::copy_from_slice(input)) else {
        return;
    };
    if let Ok(params) = header_params::read(&object) {
        for param in &params {
            let _ = param.value(Some(&object));
        }
    }
    if json::members(object.as_bytes()).is_some() {
        check_params(&object);
        check_result(&object);
    }
    let _ = RequestMeta::read(Some(&object));
}

fn check_params(params: &Raw) {
    for client in ERAS {
        for upstream in ERAS {
            let (info, capabilities) = (Raw::empty_object(), Raw::empty_object());
            let sender = Sender {
                revision: client,
                client: &info,
                capabilities: &capabilities,
                log_level: Some(LogLevel::Info),
            };
            let sent = bridge::params_for(upstream, &sender, Some(params)).expect("params");
            Raw::parse(sent.bytes()).expect("what was JSON stays JSON");
            match (client.has_handshake(), upstream.has_handshake()) {
                (false, true) => assert!(!is_modern(Some(&sent)), "{}", sent.as_str()),
                (true, false) => {
                    let read = RequestMeta::read(Some(&sent)).expect("it speaks for itself");
                    assert_eq!(read.revision, upstream);
                    assert_eq!(read.log_level, Some(LogLevel::Info));
                }
                _ => assert_eq!(sent.as_bytes(), params.as_bytes()),
            }
            let differing = [meta::META, "inputResponses", "requestState"];
            assert_eq!(others(&sent, &differing), others(params, &differing));
        }
    }
}

fn check_result(result: &Raw) {
    for client in ERAS {
        for upstream in ERAS {
            let outcome = Outcome::Result(result.clone());
            let shown = match bridge::answer_for(client, upstream, method::TOOLS_LIST, outcome) {
                Ok(Outcome::Result(shown)) => shown,
                Ok(Outcome::Error(error)) => panic!("a result became an error: {error:?}"),
                Err(UnfitResult::NoError) => panic!("a result became an error"),
                Err(UnfitResult::NoObject) => {
                    assert!(!result.is_object());
                    continue;
                }
                Err(UnfitResult::Unpromised(kind)) => {
                    assert_eq!(result_type::of(result), Some(kind));
                    assert!(client.has_handshake() && !upstream.has_handshake());
                    continue;
                }
            };
            Raw::parse(shown.bytes()).expect("what was JSON stays JSON");
            match (client.has_handshake(), upstream.has_handshake()) {
                (false, true) => {
                    assert_eq!(result_type::of(&shown).as_deref(), Some("complete"));
                }
                (true, false) => assert_eq!(result_type::of(&shown), None),
                _ => assert_eq!(shown.as_bytes(), result.as_bytes()),
            }
            let dress = ["resultType", "ttlMs", "cacheScope", meta::META];
            assert_eq!(others(&shown, &dress), others(result, &dress));
        }
    }
}

/// The members but for those of these names, as they stand.
fn others(object: &Raw, names: &[&str]) -> Vec<(String, String)> {
    let text = |range| object.part(range).as_str().to_owned();
    object
        .members()
        .filter(|member| !names.iter().any(|name| member.is(object.as_bytes(), name)))
        .map(|member| (text(member.key), text(member.value)))
        .collect()
}
