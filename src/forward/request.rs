//! What is to be forwarded, and what of its params changes on the way.

use crate::{
    error_code::Failure,
    fingerprint::Fingerprint,
    wire::{Edit, Raw, RpcError, input_required, meta, splice},
};

/// What the endpoint shows that a request came by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointKind {
    /// One server, under its own names: the client knows whom it talks to.
    OneServer,
    /// Many servers, under names that tell the server; so must questions to the user.
    ManyServers,
}

/// A request of a client, for an upstream.
#[derive(Debug, Clone, Copy)]
pub struct ForwardRequest<'a> {
    /// The method.
    pub method: &'a str,
    /// The params as the client wrote them.
    pub params: Option<&'a Raw>,
    /// What in them has another name upstream.
    pub edits: &'a [(&'a str, Edit<'a>)],
    /// Where it came in.
    pub endpoint: EndpointKind,
}

/// Why a request got no answer.
#[derive(Debug)]
pub enum Refused {
    /// The request itself is wrong.
    Rpc(RpcError),
    /// We could not do it.
    Failed(Failure),
}

impl From<RpcError> for Refused {
    fn from(error: RpcError) -> Self {
        Self::Rpc(error)
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// What a legacy client answered to a modern upstream's result that asks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RoundReplies {
    /// The answers by the keys of their questions.
    pub(super) responses: Vec<(String, Raw)>,
    /// What the upstream wants back as it was.
    pub(super) state: Option<Raw>,
}

impl RoundReplies {
    /// Of a request that is sent for the first time.
    pub(super) const NONE: Self = Self {
        responses: Vec::new(),
        state: None,
    };
}

impl ForwardRequest<'_> {
    /// The params as the upstream gets them, but for what differs between the eras. Everything changes in one pass.
    pub(super) fn params(
        &self,
        progress_token: Option<Edit<'_>>,
        replies: &RoundReplies,
    ) -> Result<Option<Raw>, RpcError> {
        let meta = progress_token.map(|edit| [(meta::PROGRESS_TOKEN, edit)]);
        let responses: Vec<(&str, Edit<'_>)> = replies
            .responses
            .iter()
            .map(|(key, response)| (&**key, Edit::Set(response.clone())))
            .collect();
        let mut edits = self.edits.to_vec();
        edits.extend(meta.as_ref().map(|meta| (meta::META, Edit::Within(meta))));
        if !responses.is_empty() {
            edits.push((input_required::RESPONSES, Edit::Within(&responses)));
        }
        if let Some(state) = &replies.state {
            edits.push((input_required::STATE, Edit::Set(state.clone())));
        }
        match self.params {
            params if edits.is_empty() => Ok(params.cloned()),
            None if *replies == RoundReplies::NONE => Ok(None),
            None => edited(&Raw::empty_object(), &edits).map(Some),
            Some(params) => edited(params, &edits).map(Some),
        }
    }

    /// Of the params without metadata and answers: the same in every round of a call.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        let empty = Raw::empty_object();
        let params = self.params.unwrap_or(&empty);
        let changing = [meta::META, input_required::RESPONSES, input_required::STATE];
        let mut edits = self.edits.to_vec();
        edits.extend(changing.map(|key| (key, Edit::Remove)));
        Fingerprint::of_value(&splice(params, &edits).unwrap_or_else(|_| params.clone()))
    }
}

fn edited(params: &Raw, edits: &[(&str, Edit<'_>)]) -> Result<Raw, RpcError> {
    splice(params, edits).map_err(|_| RpcError::invalid_params("`params` is not an object"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw {
        Raw::parse_str(text).expect("JSON")
    }

    fn with_request<T>(params: &str, check: impl FnOnce(ForwardRequest<'_>) -> T) -> T {
        let params = raw(params);
        check(ForwardRequest {
            method: "tools/call",
            params: Some(&params),
            edits: &[("name", Edit::Set(raw("\"tool\"")))],
            endpoint: EndpointKind::ManyServers,
        })
    }

    #[test]
    fn name_token_and_answers_change_together() {
        let token = || Edit::Set(raw("\"p1\""));
        let check = |token: Option<Edit<'_>>, replies: &RoundReplies, expected: &str| {
            let params = r#"{"name":"s__tool","_meta":{"progressToken":7,"x":1.10}}"#;
            let made = with_request(params, |request| request.params(token, replies));
            let made = made.expect("an object").expect("params");
            assert_eq!(made.as_str(), expected);
        };
        let none = RoundReplies::NONE;
        check(
            None,
            &none,
            r#"{"name":"tool","_meta":{"progressToken":7,"x":1.10}}"#,
        );
        check(
            Some(token()),
            &none,
            r#"{"name":"tool","_meta":{"progressToken":"p1","x":1.10}}"#,
        );
        check(
            Some(Edit::Remove),
            &none,
            r#"{"name":"tool","_meta":{"x":1.10}}"#,
        );
        let replies = RoundReplies {
            responses: vec![("a".to_owned(), raw("{}"))],
            state: Some(raw("\"s\"")),
        };
        check(
            Some(token()),
            &replies,
            r#"{"name":"tool","_meta":{"progressToken":"p1","x":1.10},"inputResponses":{"a":{}},"requestState":"s"}"#,
        );
    }

    #[test]
    fn what_is_no_object_is_refused_where_something_changes() {
        let made = with_request("[]", |request| request.params(None, &RoundReplies::NONE));
        assert_eq!(made.err().map(|e| e.code), Some(RpcError::INVALID_PARAMS));
    }

    #[test]
    fn every_round_has_the_same_fingerprint() {
        let of = |params: &str| with_request(params, |request| request.fingerprint());
        let first = of(r#"{"name":"s__tool","arguments":{"a":1}}"#);
        let retry = r#"{"name":"s__tool","arguments":{"a":1},"inputResponses":{},"requestState":"s","_meta":{"x":1}}"#;
        assert_eq!(of(retry), first);
        assert_ne!(of(r#"{"name":"s__tool","arguments":{"a":2}}"#), first);
    }
}
