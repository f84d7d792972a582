//! Results that ask instead of answering (revision 2026-07-28, basic/patterns/mrtr): reading an upstream's, writing our own, and
//! what differs between a question of either era.

use std::collections::HashSet;

use super::{
    Edit, Id, MemberSpan, Outcome, Raw, Request, Revision, capabilities::QUESTIONS, meta, method,
    presentation, result_type, splice,
};

/// The questions of such a result.
const REQUESTS: &str = "inputRequests";
/// The answers that a retry brings.
pub const RESPONSES: &str = "inputResponses";
/// What a retry gives back as it was.
pub const STATE: &str = "requestState";

/// What is wrong with a state that leads nowhere, and what to do.
pub const UNKNOWN_STATE: &str = "This retry ran nothing: \"requestState\" is unknown, expired, already used, or from another request. Send the \
    request again without it and without \"inputResponses\".";

/// The same of answers that come without one.
pub const UNREQUESTED: &str =
    "Nothing ran: \"inputResponses\" answers no open question. Send the request again without it.";

/// Whether params hold answers.
pub fn has_responses(params: Option<&Raw>) -> bool {
    let responses = params.and_then(|params| params.get(RESPONSES));
    are_responses(responses.as_ref())
}

/// Whether what stands there answers anything.
pub fn are_responses(responses: Option<&Raw>) -> bool {
    let is_empty = |all: &Raw| all.is_null() || (all.is_object() && all.members().next().is_none());
    responses.is_some_and(|all| !is_empty(all))
}

/// Limit: questions of one result. No user can read more.
pub const MAX_REQUESTS: usize = 64;

/// The code with which servers of revision 2025-11-25 ask the user to open a page.
const URL_ELICITATION_REQUIRED: i64 = -32042;

/// One question among those of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputRequest {
    /// What its answer is found by.
    pub key: String,
    /// The method.
    pub method: Box<str>,
    /// The params.
    pub params: Option<Raw>,
}

/// Whether a result asks.
pub fn is_input_required(result: &Raw) -> bool {
    result_type::of(result).as_deref() == Some(result_type::INPUT_REQUIRED)
}

/// Whether an upstream's result asks what no client can be asked.
pub fn asks_oddly(result: &Raw) -> bool {
    let requests = result.get(REQUESTS).filter(|_| is_input_required(result));
    let is_odd = |requests: Raw| {
        let of = |member: MemberSpan| requests.part(member.value).get("method")?.string();
        let mut methods = requests.members().map(of);
        methods.any(|method| method.is_none_or(|method| !QUESTIONS.contains(&&*method)))
    };
    requests.is_some_and(is_odd)
}

/// The questions of an upstream's result; one that names no method is passed over.
pub fn requests(result: &Raw) -> Vec<InputRequest> {
    let requests = result.get(REQUESTS).unwrap_or_else(Raw::empty_object);
    let one = |member: MemberSpan| {
        let request = requests.part(member.value);
        Some(InputRequest {
            key: requests.part(member.key).string()?,
            method: request.get("method")?.string()?.into(),
            params: request.get("params"),
        })
    };
    requests.members().filter_map(one).collect()
}

/// `{key: {method, params}}` and the state, as the result of a request.
pub fn result<'a>(
    requests: impl IntoIterator<Item = &'a InputRequest>,
    state: Option<&str>,
) -> Raw {
    let entry = |request: &'a InputRequest| {
        let mut members = vec![("method", Edit::Set(Raw::author(&request.method)))];
        let params = request.params.clone();
        members.extend(params.map(|params| ("params", Edit::Set(params))));
        (&*request.key, Edit::Set(object(&members)))
    };
    let entries: Vec<(&str, Edit<'_>)> = requests.into_iter().map(entry).collect();
    let inner = [(
        meta::SERVER_INFO,
        Edit::Set(presentation::own_implementation()),
    )];
    let mut members = vec![
        (
            "resultType",
            Edit::Set(Raw::author(&result_type::INPUT_REQUIRED)),
        ),
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

/// The same result with other params of the questions that `change` gives some for.
pub fn with_params(result: &Raw, change: impl Fn(&InputRequest) -> Option<Raw>) -> Raw {
    let changed: Vec<(String, Raw)> = requests(result)
        .into_iter()
        .filter_map(|request| change(&request).map(|params| (request.key, params)))
        .collect();
    if changed.is_empty() {
        return result.clone();
    }
    let inner: Vec<[(&str, Edit<'_>); 1]> = changed
        .iter()
        .map(|(_, params)| [("params", Edit::Set(params.clone()))])
        .collect();
    let edits: Vec<(&str, Edit<'_>)> = changed
        .iter()
        .zip(&inner)
        .map(|((key, _), inner)| (&**key, Edit::Within(inner)))
        .collect();
    let edits = [(REQUESTS, Edit::Within(&edits))];
    splice(result, &edits).unwrap_or_else(|_| result.clone())
}

/// What a server of revision 2025-11-25 wants opened before it goes on; the client then calls again. `None` if it wants nothing of
/// the kind, or too much.
pub(super) fn pages_to_open(error: &Raw) -> Option<Vec<InputRequest>> {
    let code = error.get("code")?.read::<i64>().ok()?;
    if code != URL_ELICITATION_REQUIRED {
        return None;
    }
    let mut requests = Vec::new();
    for page in error.get("data")?.get("elicitations")?.elements() {
        if requests.len() == MAX_REQUESTS {
            return None;
        }
        let question = Request {
            id: Id::ours(0),
            method: method::ELICITATION.into(),
            params: Some(page),
        };
        let request = InputRequest::of_legacy(&question, &requests);
        requests.push(request);
    }
    (!requests.is_empty()).then_some(requests)
}

impl InputRequest {
    /// A legacy question under a key that none of `others` has. A form with a single field goes by the field's name, which says
    /// most; anything else by its kind.
    pub fn of_legacy<'a>(question: &Request, others: impl IntoIterator<Item = &'a Self>) -> Self {
        let params = question.params.as_ref();
        let stem = match &*question.method {
            method::ELICITATION => only_field(params).unwrap_or_else(|| "elicitation".to_owned()),
            method::SAMPLING => "sampling".to_owned(),
            method::ROOTS_LIST => "roots".to_owned(),
            other => other.replace('/', "_"),
        };
        let taken: HashSet<&str> = others.into_iter().map(|other| &*other.key).collect();
        let mut key = stem.clone();
        for n in 2.. {
            if !taken.contains(&*key) {
                break;
            }
            key = format!("{stem}_{n}");
        }
        Self {
            key,
            method: question.method.clone(),
            params: params.map(modernised),
        }
    }

    /// The params for a client that takes questions as requests: a page to open has an id there.
    pub fn params_for(&self, client: Revision) -> Option<Raw> {
        let params = self.params.as_ref()?;
        let mode = params.get("mode").and_then(|mode| mode.string());
        let is_page = mode.as_deref() == Some("url");
        if !is_page || !client.has_server_requests() || params.get("elicitationId").is_some() {
            return Some(params.clone());
        }
        let id = uuid::Uuid::new_v4().to_string();
        let edits = [("elicitationId", Edit::Set(Raw::author(&id)))];
        Some(splice(params, &edits).unwrap_or_else(|_| params.clone()))
    }

    /// The client's answer among those of a retry, if it has the shape that the protocol gives to answers of this method.
    pub fn answer_in(&self, responses: Option<&Raw>) -> Option<Outcome> {
        let response = responses?.get(&self.key)?;
        let has = |key: &str| response.get(key).is_some_and(|value| !value.is_null());
        let fits = response.is_object()
            && match &*self.method {
                method::ELICITATION => has("action"),
                method::SAMPLING => has("role") && has("content"),
                method::ROOTS_LIST => has("roots"),
                _ => true,
            };
        fits.then_some(Outcome::Result(response))
    }

    /// A legacy client's answer in the form for a modern upstream; the error where the client gave none that has such a form.
    pub fn response(&self, outcome: Outcome) -> Result<Raw, Raw> {
        match outcome {
            Outcome::Result(result) => Ok(result),
            // The one question that can be answered with nothing.
            Outcome::Error(_) if &*self.method == method::ELICITATION => {
                Ok(Raw::author(&serde_json::json!({ "action": "cancel" })))
            }
            Outcome::Error(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let check = |method: &str, params: &str, taken: &[InputRequest], key: &str| {
            assert_eq!(
                InputRequest::of_legacy(&question(method, params), taken).key,
                key
            );
        };
        let one = r#"{"requestedSchema":{"properties":{"user_name":{}}}}"#;
        let two = r#"{"requestedSchema":{"properties":{"a":{},"b":{}}}}"#;
        check(method::ELICITATION, one, &[], "user_name");
        check(method::ELICITATION, two, &[], "elicitation");
        check(method::SAMPLING, "{}", &[], "sampling");
        check("vendor/ask", "{}", &[], "vendor_ask");
        let taken = [InputRequest::of_legacy(
            &question(method::SAMPLING, "{}"),
            &[],
        )];
        check(method::SAMPLING, "{}", &taken, "sampling_2");
    }

    #[test]
    fn a_result_of_ours_reads_back() {
        let params = r#"{"message":"m","n":1.10}"#;
        let questions = [InputRequest::of_legacy(
            &question(method::ELICITATION, params),
            &[],
        )];
        let made = result(&questions, Some("s"));
        assert_eq!(
            made.get("resultType").and_then(|t| t.string()).as_deref(),
            Some(result_type::INPUT_REQUIRED)
        );
        assert_eq!(
            made.get(STATE).and_then(|s| s.string()).as_deref(),
            Some("s")
        );
        let read = requests(&made);
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].key, "elicitation");
        assert_eq!(read[0].params.as_ref().map(Raw::as_str), Some(params));
        assert!(result(&questions, None).get(STATE).is_none());
    }

    #[test]
    fn only_the_changed_params_change() {
        let upstream = raw(
            r#"{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"x":1.10}},"b":{"method":"roots/list"}},"z":1}"#,
        );
        let other = || Some(raw(r#"{"x":2.0}"#));
        let changed = with_params(&upstream, |request| other().filter(|_| request.key == "a"));
        assert_eq!(changed.as_str(), upstream.as_str().replace("1.10", "2.0"));
        assert_eq!(with_params(&upstream, |_| None), upstream);
    }

    #[test]
    fn a_result_asks_what_clients_can_be_asked() {
        for (requests, is_odd) in [
            ("{}", false),
            (
                r#"{"a":{"method":"roots/list"},"b":{"method":"elicitation/create"}}"#,
                false,
            ),
            (
                r#"{"a":{"method":"roots/list"},"b":{"method":"tools/call"}}"#,
                true,
            ),
            (r#"{"a":{}}"#, true),
            (r#"{"a":5}"#, true),
        ] {
            let text = format!(r#"{{"resultType":"input_required","inputRequests":{requests}}}"#);
            assert_eq!(asks_oddly(&raw(&text)), is_odd, "{requests}");
            let other = text.replace("input_required", "complete");
            assert!(!asks_oddly(&raw(&other)), "it does not ask");
        }
    }

    #[test]
    fn no_more_pages_are_opened_than_a_result_may_ask() {
        let opened = |count: usize| {
            let pages = vec!["{}"; count].join(",");
            let error = format!(r#"{{"code":-32042,"data":{{"elicitations":[{pages}]}}}}"#);
            pages_to_open(&raw(&error)).is_some()
        };
        assert!(opened(MAX_REQUESTS) && !opened(MAX_REQUESTS + 1));
    }

    #[test]
    fn answers_must_fit_their_questions() {
        let check = |method: &str, responses: &str, fits: bool| {
            let asked = InputRequest {
                key: "k".to_owned(),
                method: method.into(),
                params: None,
            };
            let found = asked.answer_in(Some(&raw(responses)));
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
        let mut pages = pages_to_open(&error).expect("a page");
        let params = pages.remove(0).params.expect("params");
        assert_eq!(params.as_str(), r#"{"mode":"url","url":"u","message":"m"}"#);
        assert!(pages_to_open(&raw(r#"{"code":-32603,"data":{"elicitations":[{}]}}"#)).is_none());
    }

    #[test]
    fn a_legacy_client_gets_an_id_for_a_page() {
        let page = |client| {
            let asked = InputRequest {
                key: String::new(),
                method: method::ELICITATION.into(),
                params: Some(raw(r#"{"mode":"url","url":"u"}"#)),
            };
            asked
                .params_for(client)
                .expect("params")
                .get("elicitationId")
                .is_some()
        };
        assert!(page(Revision::NEWEST_LEGACY));
        assert!(!page(Revision::V2026_07_28));
    }
}
