//! What is to be forwarded, and what of its params changes on the way.

use crate::{
    failure::Failure,
    gate::{Admitted, AdmittedMessage},
    trust::fingerprint::Fingerprint,
    wire::{Edit, Raw, RpcError, input_required, meta},
};

/// What the endpoint shows that a request came by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointKind {
    /// One server, under its own names: the client knows whom it talks to.
    OneServer,
    /// Many servers, under names with the server in front; so must questions to the user.
    ManyServers,
}

/// A request of a client, for an upstream.
#[derive(Debug, Clone, Copy)]
pub struct ForwardRequest<'a> {
    /// The params as the client wrote them.
    pub params: Option<&'a Raw>,
    /// What is changed in them, besides the name of what was admitted.
    pub edits: &'a [(&'a str, Edit<'a>)],
    /// Where it came in.
    pub endpoint: EndpointKind,
}

/// Why a request got no answer.
#[derive(Debug)]
pub enum RequestError {
    /// The request itself is wrong.
    Rpc(RpcError),
    /// We could not do it.
    Failed(Failure),
}

impl From<RpcError> for RequestError {
    fn from(error: RpcError) -> Self {
        Self::Rpc(error)
    }
}

impl From<Failure> for RequestError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// What a legacy client answered to a modern upstream's result that asks.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RoundReplies {
    /// The answers by the keys of their questions.
    pub(super) responses: Vec<(String, Raw)>,
    /// What the upstream wants back as it was.
    pub(super) state: Option<Raw>,
    /// What the request itself brings of both was for us.
    pub(super) are_taken: bool,
}

impl ForwardRequest<'_> {
    /// The message as the upstream gets it, but for what differs between the eras, with our progress token and these edits in its metadata.
    /// Everything in the params changes in one pass.
    pub(super) fn message<'m>(
        &self,
        admitted: &'m Admitted,
        (progress_token, mut meta): (Option<Edit<'_>>, Vec<(&str, Edit<'_>)>),
        replies: &RoundReplies,
    ) -> Result<AdmittedMessage<'m>, RpcError> {
        let progress = progress_token.map(|edit| [(meta::PROGRESS_TOKEN, edit)]);
        let meta = match &progress {
            Some(progress) if meta.is_empty() => &progress[..],
            progress => {
                meta.extend(progress.iter().flatten().cloned());
                &meta
            }
        };
        let responses: Vec<(&str, Edit<'_>)> = replies
            .responses
            .iter()
            .map(|(key, response)| (&**key, Edit::Set(response.clone())))
            .collect();
        let mut edits = self.edits.to_vec();
        if !meta.is_empty() {
            edits.push((meta::META, Edit::Within(meta)));
        }
        if replies.are_taken {
            let taken = [input_required::RESPONSES, input_required::STATE];
            edits.extend(taken.map(|key| (key, Edit::Remove)));
        }
        if !responses.is_empty() {
            edits.push((input_required::RESPONSES, Edit::Within(&responses)));
        }
        if let Some(state) = &replies.state {
            edits.push((input_required::STATE, Edit::Set(state.clone())));
        }
        admitted.message(self.params, &edits)
    }

    /// Of the params without metadata and answers: the same in every round of a call.
    pub(super) fn fingerprint(&self, admitted: &Admitted) -> Result<Fingerprint, RpcError> {
        let changing = [meta::META, input_required::RESPONSES, input_required::STATE];
        let mut edits = self.edits.to_vec();
        edits.extend(changing.map(|key| (key, Edit::Remove)));
        let bare = admitted.message(self.params, &edits)?;
        let empty = Raw::empty_object();
        Ok(Fingerprint::of_value(bare.params().unwrap_or(&empty)))
    }
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Arc};

    use tokio::sync::watch;

    use super::*;
    use crate::{
        access::Caller,
        catalog::Catalog,
        config::{self, Surroundings},
        gate::Gate,
        wire::Target,
    };

    fn raw(text: &str) -> Raw {
        Raw::parse_str(text).expect("JSON")
    }

    /// A ticket for the prompt "p" of a server.
    fn admitted() -> Admitted {
        let surroundings = Surroundings {
            lookup: &|_| None,
            folder: Path::new("/"),
        };
        let text = r#"{"mcpServers":{"s":{"command":"c"}}}"#;
        let settings = config::parse(text, &surroundings).expect("a configuration");
        let (_settings, settings) = watch::channel(Arc::new(settings));
        let (catalog, _task) = Catalog::new(std::env::temp_dir(), &[]);
        let gate = Gate::new(settings, catalog);
        let admitted = gate.admit(&Caller::named("anyone"), "s", Target::prompt("p"));
        admitted.expect("a ticket")
    }

    fn request<'a>(params: &'a Raw, edits: &'a [(&'a str, Edit<'a>)]) -> ForwardRequest<'a> {
        ForwardRequest {
            params: Some(params),
            edits,
            endpoint: EndpointKind::ManyServers,
        }
    }

    #[test]
    fn name_token_and_answers_change_together() {
        let ticket = admitted();
        let token = || Edit::Set(raw("\"p1\""));
        let check = |token: Option<Edit<'_>>, replies: &RoundReplies, expected: &str| {
            let params =
                raw(r#"{"name":"s__p","_meta":{"progressToken":7,"x":1.10},"arguments":1}"#);
            let edits = [("arguments", Edit::Set(raw("{}")))];
            let made = request(&params, &edits).message(&ticket, (token, Vec::new()), replies);
            let made = made.expect("an object");
            assert_eq!(made.params().map(Raw::as_str), Some(expected));
        };
        let none = RoundReplies::default();
        check(
            None,
            &none,
            r#"{"name":"p","_meta":{"progressToken":7,"x":1.10},"arguments":{}}"#,
        );
        check(
            Some(token()),
            &none,
            r#"{"name":"p","_meta":{"progressToken":"p1","x":1.10},"arguments":{}}"#,
        );
        check(
            Some(Edit::Remove),
            &none,
            r#"{"name":"p","_meta":{"x":1.10},"arguments":{}}"#,
        );
        let traced = vec![("traceparent", Edit::Set(raw("\"00\"")))];
        let params = raw(r#"{"name":"s__p","_meta":{"x":1.10, "traceparent":1}}"#);
        let made = request(&params, &[]).message(&ticket, (Some(token()), traced), &none);
        assert_eq!(
            made.expect("an object").params().map(Raw::as_str),
            Some(r#"{"name":"p","_meta":{"x":1.10, "traceparent":"00","progressToken":"p1"}}"#)
        );
        let replies = RoundReplies {
            responses: vec![("a".to_owned(), raw("{}"))],
            state: Some(raw("\"s\"")),
            are_taken: false,
        };
        check(
            Some(token()),
            &replies,
            r#"{"name":"p","_meta":{"progressToken":"p1","x":1.10},"arguments":{},"inputResponses":{"a":{}},"requestState":"s"}"#,
        );
    }

    #[test]
    fn answers_to_our_own_questions_are_not_passed_on() {
        let ticket = admitted();
        let params = raw(r#"{"name":"s__p","inputResponses":{"a":1},"requestState":"s","x":1.10}"#);
        let taken = RoundReplies {
            are_taken: true,
            ..RoundReplies::default()
        };
        let made = request(&params, &[]).message(&ticket, (None, Vec::new()), &taken);
        let made = made.expect("an object");
        let made = made.params().map(Raw::as_str);
        assert_eq!(made, Some(r#"{"name":"p","x":1.10}"#));
    }

    #[test]
    fn every_round_has_the_same_fingerprint() {
        let ticket = admitted();
        let of = |params: &str| {
            let fingerprint = request(&raw(params), &[]).fingerprint(&ticket);
            fingerprint.expect("an object")
        };
        let first = of(r#"{"name":"s__p","arguments":{"a":1}}"#);
        let retry = r#"{"name":"s__p","arguments":{"a":1},"inputResponses":{},"requestState":"s","_meta":{"x":1}}"#;
        assert_eq!(of(retry), first);
        assert_ne!(of(r#"{"name":"s__p","arguments":{"a":2}}"#), first);
    }
}
