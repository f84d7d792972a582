//! Results that ask instead of answering (revision 2026-07-28, basic/patterns/mrtr): reading an upstream's, writing our own, and
//! what differs between a question of either era. Pure.

use std::collections::HashSet;

use super::prefixed;
use crate::{
    names::ServerName,
    wire::{Edit, Outcome, Raw, Request, Revision, meta, method, splice},
};

/// The `resultType` of such a result.
pub(super) const RESULT_TYPE: &str = "input_required";
/// The questions of such a result, and the answers of a retry.
pub(super) const REQUESTS: &str = "inputRequests";
pub(super) const RESPONSES: &str = "inputResponses";
/// What a retry gives back unread.
pub(super) const STATE: &str = "requestState";

/// Limit: questions of one result. No user can read more.
pub(super) const QUESTIONS: usize = 64;

/// The code with which servers of revision 2025-11-25 ask the user to open a page.
const URL_ELICITATION_REQUIRED: i64 = -32042;

/// One question among those of a result.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// What its answer is found by.
    pub(super) key: String,
    pub(super) method: Box<str>,
    pub(super) params: Option<Raw>,
}

/// The questions of an upstream's result; one that names no method is passed over.
pub(super) fn asked(result: &Raw) -> Vec<Asked> {
    let requests = result.get(REQUESTS).unwrap_or_else(Raw::empty_object);
    let one = |member: crate::wire::MemberSpan| {
        let request = requests.part(member.value);
        Some(Asked {
            key: requests.part(member.key).string()?,
            method: request.get("method")?.string()?.into(),
            params: request.get("params"),
        })
    };
    requests.members().filter_map(one).collect()
}

/// `{key: {method, params}}` and the state, as the result of a request.
pub(super) fn result(questions: &[Asked], state: Option<&str>) -> Raw {
    let entries: Vec<(&str, Edit<'_>)> = questions
        .iter()
        .map(|asked| {
            let mut request = vec![("method", Edit::Set(Raw::author(&asked.method)))];
            request.extend(
                asked
                    .params
                    .clone()
                    .map(|params| ("params", Edit::Set(params))),
            );
            (&*asked.key, Edit::Set(object(&request)))
        })
        .collect();
    let us = serde_json::json!({
        "name": env!("CARGO_PKG_NAME"),
        "version": env!("CARGO_PKG_VERSION"),
    });
    let inner = [(meta::SERVER_INFO, Edit::Set(Raw::author(&us)))];
    let mut members = vec![
        ("resultType", Edit::Set(Raw::author(&RESULT_TYPE))),
        (REQUESTS, Edit::Set(object(&entries))),
    ];
    if let Some(state) = state {
        members.push((STATE, Edit::Set(Raw::author(&state))));
    }
    members.push((meta::META, Edit::Within(&inner)));
    object(&members)
}

fn object(members: &[(&str, Edit<'_>)]) -> Raw {
    splice(&Raw::empty_object(), members).expect("an object was given")
}

/// A legacy question under a key of its own. A form with a single field goes by the field's name, which says most; anything else by
/// its kind.
pub(super) fn keyed(question: &Request, taken: &[Asked]) -> Asked {
    let params = question.params.as_ref();
    let stem = match &*question.method {
        method::ELICITATION => only_field(params).unwrap_or_else(|| "elicitation".to_owned()),
        method::SAMPLING => "sampling".to_owned(),
        method::ROOTS_LIST => "roots".to_owned(),
        other => other.replace('/', "_"),
    };
    let taken: HashSet<&str> = taken.iter().map(|asked| &*asked.key).collect();
    let mut key = stem.clone();
    for n in 2.. {
        if !taken.contains(&*key) {
            break;
        }
        key = format!("{stem}_{n}");
    }
    Asked {
        key,
        method: question.method.clone(),
        params: question.params.as_ref().map(modernised),
    }
}

fn only_field(params: Option<&Raw>) -> Option<String> {
    let properties = params?.get("requestedSchema")?.get("properties")?;
    let mut members = properties.members();
    let key = members.next()?.key;
    members
        .next()
        .is_none()
        .then(|| properties.part(key).string())?
}

/// Without what only legacy questions have.
fn modernised(params: &Raw) -> Raw {
    let inner = [(meta::PROGRESS_TOKEN, Edit::Remove)];
    let mut edits = vec![("elicitationId", Edit::Remove), ("task", Edit::Remove)];
    if params.get(meta::META).is_some() {
        edits.push((meta::META, Edit::Within(&inner)));
    }
    splice(params, &edits).unwrap_or_else(|_| params.clone())
}

/// A modern question as a legacy client must get it: a page to open has an id there.
pub(super) fn for_legacy(asked: &Asked, client: Revision) -> Option<Raw> {
    let params = asked.params.as_ref()?;
    let is_page = params.get("mode").and_then(|mode| mode.string()).as_deref() == Some("url");
    if !is_page || !client.has_handshake() || params.get("elicitationId").is_some() {
        return Some(params.clone());
    }
    let id = uuid::Uuid::new_v4().to_string();
    let edits = [("elicitationId", Edit::Set(Raw::author(&id)))];
    Some(splice(params, &edits).unwrap_or_else(|_| params.clone()))
}

/// The same question with the server's name before what the user reads, where the client sees many servers as one.
pub(super) fn signed(server: &ServerName, method: &str, params: Option<&Raw>) -> Option<Raw> {
    let params = params?;
    if method != method::ELICITATION || !params.is_object() {
        return Some(params.clone());
    }
    let message = prefixed(server, params.get("message").as_ref());
    let edits = [("message", Edit::Set(message))];
    Some(splice(params, &edits).unwrap_or_else(|_| params.clone()))
}

/// The same for every question of an upstream's own result; `None` if it asks too much.
pub(super) fn all_signed(server: &ServerName, result: &Raw) -> Option<Raw> {
    let requests: Vec<Asked> = asked(result);
    if requests.len() > QUESTIONS {
        return None;
    }
    let params: Vec<(String, Raw)> = requests
        .into_iter()
        .filter(|asked| &*asked.method == method::ELICITATION)
        .filter_map(|asked| {
            Some((
                asked.key,
                signed(server, &asked.method, asked.params.as_ref())?,
            ))
        })
        .collect();
    if params.is_empty() {
        return Some(result.clone());
    }
    let inner: Vec<[(&str, Edit<'_>); 1]> = params
        .iter()
        .map(|(_, params)| [("params", Edit::Set(params.clone()))])
        .collect();
    let edits: Vec<(&str, Edit<'_>)> = params
        .iter()
        .zip(&inner)
        .map(|((key, _), inner)| (&**key, Edit::Within(inner)))
        .collect();
    let edits = [(REQUESTS, Edit::Within(&edits))];
    Some(splice(result, &edits).unwrap_or_else(|_| result.clone()))
}

/// What a server of revision 2025-11-25 wants opened before it goes on, as a modern result; the client then calls again. `None` if
/// it wants nothing of the kind, or too much.
pub(super) fn pages_to_open(error: &Raw) -> Option<Raw> {
    let code = error.get("code")?.read::<i64>().ok()?;
    if code != URL_ELICITATION_REQUIRED {
        return None;
    }
    let mut questions = Vec::new();
    for page in error.get("data")?.get("elicitations")?.elements() {
        if questions.len() == QUESTIONS {
            return None;
        }
        let question = Request {
            id: crate::wire::Id::ours(0),
            method: method::ELICITATION.into(),
            params: Some(page),
        };
        let asked = keyed(&question, &questions);
        questions.push(asked);
    }
    (!questions.is_empty()).then(|| result(&questions, None))
}

/// The client's answer to a question of this method, if it is one. The protocol's own shapes, no more.
pub(super) fn answer(responses: Option<&Raw>, asked: &Asked) -> Option<Outcome> {
    let response = responses?.get(&asked.key)?;
    let has = |key: &str| response.get(key).is_some_and(|value| !value.is_null());
    let fits = response.is_object()
        && match &*asked.method {
            method::ELICITATION => has("action"),
            method::SAMPLING => has("role") && has("content"),
            method::ROOTS_LIST => has("roots"),
            _ => true,
        };
    fits.then_some(Outcome::Result(response))
}

/// What a modern upstream is told that a legacy client answered; the error where the client gave none that can be told.
pub(super) fn response(asked: &Asked, outcome: Outcome) -> Result<Raw, Raw> {
    match outcome {
        Outcome::Result(result) => Ok(result),
        // The one question that can be answered with nothing.
        Outcome::Error(_) if &*asked.method == method::ELICITATION => {
            Ok(Raw::author(&serde_json::json!({ "action": "cancel" })))
        }
        Outcome::Error(error) => Err(error),
    }
}

/// The params of a request that go on to the upstream: what belongs to a retry is ours there.
pub(super) fn without_answers(params: &Raw) -> Raw {
    let edits = [(RESPONSES, Edit::Remove), (STATE, Edit::Remove)];
    splice(params, &edits).unwrap_or_else(|_| params.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Id;

    fn raw(text: &str) -> Raw {
        Raw::parse_str(text).expect("JSON")
    }

    fn question(method: &str, params: &str) -> Request {
        Request {
            id: Id::ours(1),
            method: method.into(),
            params: Some(raw(params)),
        }
    }

    #[test]
    fn questions_get_telling_keys() {
        let check = |method: &str, params: &str, taken: &[Asked], key: &str| {
            assert_eq!(keyed(&question(method, params), taken).key, key);
        };
        let one = r#"{"requestedSchema":{"properties":{"user_name":{}}}}"#;
        let two = r#"{"requestedSchema":{"properties":{"a":{},"b":{}}}}"#;
        check(method::ELICITATION, one, &[], "user_name");
        check(method::ELICITATION, two, &[], "elicitation");
        check(method::SAMPLING, "{}", &[], "sampling");
        check("vendor/ask", "{}", &[], "vendor_ask");
        let taken = [keyed(&question(method::SAMPLING, "{}"), &[])];
        check(method::SAMPLING, "{}", &taken, "sampling_2");
    }

    #[test]
    fn a_result_of_ours_reads_back() {
        let params = r#"{"message":"m","n":1.10}"#;
        let questions = [keyed(&question(method::ELICITATION, params), &[])];
        let made = result(&questions, Some("s"));
        assert_eq!(
            made.get("resultType").and_then(|t| t.string()).as_deref(),
            Some(RESULT_TYPE)
        );
        assert_eq!(
            made.get(STATE).and_then(|s| s.string()).as_deref(),
            Some("s")
        );
        let read = asked(&made);
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].key, "elicitation");
        assert_eq!(read[0].params.as_ref().map(Raw::as_str), Some(params));
        assert!(result(&questions, None).get(STATE).is_none());
    }

    #[test]
    fn the_user_sees_who_asks() {
        let server = ServerName::parse("s").expect("a name");
        let upstream = raw(
            r#"{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"m","x":1.10}},"b":{"method":"roots/list"}},"z":1}"#,
        );
        let signed = all_signed(&server, &upstream).expect("few questions");
        assert_eq!(
            signed.as_str(),
            upstream.as_str().replace(r#""m""#, r#""[s] m""#)
        );
        let none = raw(r#"{"inputRequests":{"b":{"method":"roots/list"}}}"#);
        assert_eq!(all_signed(&server, &none), Some(none));
    }

    #[test]
    fn nobody_is_asked_without_bound() {
        let server = ServerName::parse("s").expect("a name");
        let results = |count: usize| {
            let one = |n| format!(r#""{n}":{{"method":"elicitation/create","params":{{}}}}"#);
            let all: Vec<_> = (0..count).map(one).collect();
            let signed = all_signed(
                &server,
                &raw(&format!(r#"{{"{REQUESTS}":{{{}}}}}"#, all.join(","))),
            );
            let pages = vec!["{}"; count].join(",");
            let opened = pages_to_open(&raw(&format!(
                r#"{{"code":-32042,"data":{{"elicitations":[{pages}]}}}}"#
            )));
            [signed.is_some(), opened.is_some()]
        };
        assert_eq!(results(QUESTIONS), [true; 2]);
        assert_eq!(results(QUESTIONS + 1), [false; 2]);
    }

    #[test]
    fn answers_must_fit_their_questions() {
        let check = |method: &str, responses: &str, fits: bool| {
            let asked = Asked {
                key: "k".to_owned(),
                method: method.into(),
                params: None,
            };
            let found = answer(Some(&raw(responses)), &asked);
            assert_eq!(found.is_some(), fits, "{method} {responses}");
        };
        check(method::ELICITATION, r#"{"k":{"action":"accept"}}"#, true);
        check(method::ELICITATION, r#"{"k":7}"#, false);
        check(
            method::ELICITATION,
            r#"{"other":{"action":"accept"}}"#,
            false,
        );
        check(method::ELICITATION, "null", false);
        check(method::SAMPLING, r#"{"k":{"action":"accept"}}"#, false);
        check(
            method::SAMPLING,
            r#"{"k":{"role":"assistant","content":{}}}"#,
            true,
        );
        check(method::ROOTS_LIST, r#"{"k":{"roots":[]}}"#, true);
    }

    #[test]
    fn pages_to_open_become_questions() {
        let error = raw(
            r#"{"code":-32042,"message":"m","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"u","message":"m"}]}}"#,
        );
        let result = pages_to_open(&error).expect("a result");
        let params = asked(&result).remove(0).params.expect("params");
        assert_eq!(params.as_str(), r#"{"mode":"url","url":"u","message":"m"}"#);
        assert!(pages_to_open(&raw(r#"{"code":-32603,"data":{"elicitations":[{}]}}"#)).is_none());
    }

    #[test]
    fn a_legacy_client_gets_an_id_for_a_page() {
        let page = |client| {
            let asked = Asked {
                key: String::new(),
                method: method::ELICITATION.into(),
                params: Some(raw(r#"{"mode":"url","url":"u"}"#)),
            };
            for_legacy(&asked, client)
                .expect("params")
                .get("elicitationId")
                .is_some()
        };
        assert!(page(Revision::NEWEST_LEGACY));
        assert!(!page(Revision::V2026_07_28));
    }
}
