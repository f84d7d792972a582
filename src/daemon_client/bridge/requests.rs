//! What a bridge has to know about the messages it carries: which requests are unanswered, and how the client opened. Pure.

use std::collections::HashMap;

use bytes::Bytes;

use super::{
    UnstartedDaemon,
    notices::{NoticeChange, WantedNotices},
};
use crate::{
    failure::{ErrorCode, Failure, shown_failure},
    wire::{
        Id, Message, Raw, Request, Response, RpcError, error_frame, method, notification_frame,
        parse_client, request_frame,
    },
};

/// The id of requests that we send in the client's place. Their answers are nobody's.
const REPLAYED: &str = "mcpproxy:replayed";

/// A line of the client, read just so far.
#[derive(Debug)]
pub(super) enum ClientLine {
    /// It wants these answers.
    Requests(Vec<ClientRequest>),
    /// It wants none.
    WantsNoAnswer,
    /// It cannot be read; this is the answer.
    Malformed(Bytes),
}

/// A request of the client.
#[derive(Debug)]
pub(super) struct ClientRequest {
    id: Id,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// `initialize`, with its params.
    Opening(Raw),
    /// Changes the client's notices besides answers.
    Notices(NoticeChange),
    /// Changes nothing, so it can be sent again.
    Repeatable,
    Other,
}

/// The requests under way. Lives as long as the client.
#[derive(Debug, Default)]
pub(super) struct PendingRequests {
    pending: HashMap<Id, Pending>,
    /// The params of the `initialize` that was answered.
    opened: Option<Raw>,
    /// The notices to request of a new daemon after that.
    wanted: WantedNotices,
}

#[derive(Debug, Default)]
struct Pending {
    /// The params of an `initialize`.
    opening: Option<Raw>,
    /// What changes when it succeeds.
    change: Option<NoticeChange>,
    /// The line to ask again with when the daemon is lost.
    line: Option<Bytes>,
}

/// What a lost daemon leaves behind.
#[derive(Debug, Default)]
pub(super) struct LostRequests {
    /// Requests that were in flight and are over.
    pub(super) failed: Vec<Id>,
    /// Lines to ask again with.
    pub(super) again: Vec<Bytes>,
}

impl ClientLine {
    /// Reads a line of the client.
    pub(super) fn read(line: &Bytes) -> Self {
        let (messages, is_batch) = match parse_client(line) {
            Ok(parsed) => parsed,
            Err(error) => return Self::Malformed(refusal(error.id(), &error.to_rpc_error())),
        };
        let mut requests = Vec::new();
        for message in messages {
            match message {
                Ok(Message::Request(request)) => requests.push(ClientRequest {
                    kind: match &*request.method {
                        method::INITIALIZE => Kind::Opening(params(&request)),
                        name if !is_batch && is_repeatable(name) => Kind::Repeatable,
                        _ => match NoticeChange::of(&request) {
                            Some(change) if !is_batch => Kind::Notices(change),
                            _ => Kind::Other,
                        },
                    },
                    id: request.id,
                }),
                Err(error) if !is_batch => {
                    return Self::Malformed(refusal(error.id(), &error.to_rpc_error()));
                }
                Ok(_) | Err(_) => (),
            }
        }
        if requests.is_empty() && !is_batch {
            Self::WantsNoAnswer
        } else {
            Self::Requests(requests)
        }
    }
}

fn params(request: &Request) -> Raw {
    let params = request.params.as_ref();
    params.map_or_else(Raw::empty_object, Raw::detached)
}

fn is_repeatable(name: &str) -> bool {
    matches!(name, method::PING | method::DISCOVER) || method::is_list(name)
}

fn refusal(id: Option<&Id>, error: &RpcError) -> Bytes {
    error_frame(id, &error.to_raw())
}

impl PendingRequests {
    /// Notes requests that go out with this line. With `again` they have been lost once and are not sent a third time.
    pub(super) fn note(&mut self, requests: Vec<ClientRequest>, line: &Bytes, again: bool) {
        for ClientRequest { id, kind } in requests {
            let repeat = || (!again).then(|| Bytes::copy_from_slice(line));
            let pending = match kind {
                Kind::Opening(params) => Pending {
                    opening: Some(params),
                    line: repeat(),
                    ..Pending::default()
                },
                Kind::Notices(change) => Pending {
                    change: Some(change),
                    ..Pending::default()
                },
                Kind::Repeatable => Pending {
                    line: repeat(),
                    ..Pending::default()
                },
                Kind::Other => Pending::default(),
            };
            self.pending.insert(id, pending);
        }
    }

    /// Whether any is unanswered.
    pub(super) fn any_open(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Takes note of a line of the daemon, and says whether the client gets it.
    pub(super) fn answered(&mut self, line: &Bytes) -> bool {
        if line.first() == Some(&b'[') {
            let (members, _) = parse_client(line).unwrap_or_default();
            for member in members {
                if let Ok(Message::Response(Response { id: Some(id), .. })) = member {
                    self.pending.remove(&id);
                }
            }
            return true;
        }
        let Some((id, succeeded)) = answer(line) else {
            return true;
        };
        if id.as_str().trim_matches('"') == REPLAYED {
            return false;
        }
        let pending = self.pending.remove(&id).unwrap_or_default();
        if let Some(params) = pending.opening.filter(|_| succeeded) {
            self.opened = Some(params);
            self.wanted.clear();
        }
        if let Some(change) = pending.change.filter(|_| succeeded) {
            self.wanted.apply(change);
        }
        true
    }

    /// The daemon is gone.
    pub(super) fn lose(&mut self) -> LostRequests {
        let mut lost = LostRequests::default();
        for (id, pending) in self.pending.drain() {
            match pending.line {
                Some(line) => lost.again.push(line),
                None => lost.failed.push(id),
            }
        }
        lost
    }

    /// What a new daemon has to hear before anything else, if the client has opened its connection already.
    pub(super) fn replay(&self) -> Option<Vec<Bytes>> {
        let params = self.opened.as_ref()?;
        let id = Raw::author(&REPLAYED);
        let id = Id::from_raw(&id).expect("a string is an id");
        let mut lines = vec![
            request_frame(&id, method::INITIALIZE, Some(params)).joined(),
            notification_frame(method::INITIALIZED, None),
        ];
        let wanted = self.wanted.requests();
        lines.extend(wanted.map(|(name, params)| request_frame(&id, name, Some(params)).joined()));
        Some(lines)
    }
}

/// The id of an answer, and whether it is a result. Answers may be large, and ours begin with what we need.
fn answer(line: &Bytes) -> Option<(Id, bool)> {
    let quick = line
        .strip_prefix(br#"{"jsonrpc":"2.0","id":"#)
        .and_then(|rest| {
            let key = [br#","result":"#.as_slice(), br#","error":"#.as_slice()];
            let ends = |key| memchr::memmem::find(rest.get(..256).unwrap_or(rest), key);
            let (end, succeeded) = match key.map(ends) {
                [Some(result), error] if error.is_none_or(|error| result < error) => (result, true),
                [_, Some(error)] => (error, false),
                _ => return None,
            };
            let id = Raw::parse(&line.slice_ref(&rest[..end])).ok()?;
            Some((Id::from_raw(&id)?, succeeded))
        });
    quick.or_else(|| match Message::parse(line) {
        Ok(Message::Response(Response {
            id: Some(id),
            outcome,
        })) => Some((id, matches!(outcome, crate::wire::Outcome::Result(_)))),
        _ => None,
    })
}

/// The answer to a request in flight when the daemon is lost.
pub(super) fn lost(id: &Id) -> Bytes {
    let text = "mcpproxy stopped during the request";
    let hint = "It may have run. Check before you repeat it; the next request starts mcpproxy.";
    failed(id, ErrorCode::ConnectionLost, text, hint)
}

/// Why there is no daemon to ask.
pub(super) struct NoDaemon {
    pub(super) why: String,
    /// What to do about it, in a terminal.
    pub(super) step: String,
    /// What kind of failure that is.
    pub(super) code: ErrorCode,
    /// The daemon has started us: it lets us in at no time.
    pub(super) is_ourselves: bool,
}

impl From<UnstartedDaemon> for NoDaemon {
    fn from(UnstartedDaemon { why, step, code }: UnstartedDaemon) -> Self {
        Self {
            why,
            step,
            code,
            is_ourselves: false,
        }
    }
}

/// The answer when there is no daemon.
pub(super) fn unreachable(request: &ClientRequest, absent: &NoDaemon) -> Bytes {
    let hint = match absent.code {
        ErrorCode::Internal => {
            "Nothing ran. Tell the user that mcpproxy could not be started or reached."
        }
        ErrorCode::ConfigUnusable => {
            "Nothing ran. Tell the user to correct mcpproxy's configuration file."
        }
        ErrorCode::Unauthorized => {
            "Nothing ran. Tell the user to correct --token or $MCPPROXY_TOKEN in this client's entry for mcpproxy."
        }
        ErrorCode::ServerMisconfigured => {
            "Nothing ran. Tell the user to remove that server: it would call itself endlessly."
        }
        _ => {
            "Nothing ran. Tell the user to correct --endpoint in this client's entry for mcpproxy."
        }
    };
    failed(&request.id, absent.code, &absent.why, hint)
}

/// The answer in place of one that nobody can carry.
pub(super) fn too_large(id: &Id) -> Bytes {
    let hint = "Ask for less at a time.";
    failed(
        id,
        ErrorCode::BadUpstreamAnswer,
        "the answer is larger than 128 MiB",
        hint,
    )
}

fn failed(id: &Id, code: ErrorCode, text: &str, hint: &str) -> Bytes {
    let failure = Failure::new(code, text, hint);
    let error = RpcError::new(RpcError::INTERNAL, text).with_data(shown_failure(&failure));
    error_frame(Some(id), &error.to_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Bytes {
        Bytes::copy_from_slice(text.as_bytes())
    }

    fn ask(requests: &mut PendingRequests, text: &str, again: bool) {
        match ClientLine::read(&line(text)) {
            ClientLine::Requests(noted) => requests.note(noted, &line(text), again),
            other => panic!("{text} is a request, not {other:?}"),
        }
    }

    const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"a": 1}}"#;
    const LIST: &str = r#"{"jsonrpc":"2.0","id":"1","method":"tools/list"}"#;
    const CALL: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{}}"#;

    #[test]
    fn what_a_line_wants_is_seen() {
        let check = |text: &str, expected: &str| {
            let found = match ClientLine::read(&line(text)) {
                ClientLine::Requests(requests) => {
                    let ids: Vec<&str> = requests
                        .iter()
                        .map(|requests| requests.id.as_str())
                        .collect();
                    format!("asks {}", ids.join(" "))
                }
                ClientLine::WantsNoAnswer => "remark".to_owned(),
                ClientLine::Malformed(frame) => String::from_utf8(frame.to_vec()).expect("text"),
            };
            assert!(found.starts_with(expected), "{text}: {found}");
        };
        check(LIST, "asks \"1\"");
        check(r#"{"jsonrpc":"2.0","method":"x"}"#, "remark");
        check(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "remark");
        check(&format!("[{LIST},{CALL},7]"), "asks \"1\" 2");
        check("[7]", "asks");
        let error = |code: i64| format!(r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":{code},"#);
        check("nonsense", &error(-32700));
        check("{\"id\":1}", &error(-32600));
    }

    #[test]
    fn a_lost_daemon_fails_what_may_have_been_done_and_asks_the_rest_once_more() {
        let mut requests = PendingRequests::default();
        for text in [INITIALIZE, LIST, CALL] {
            ask(&mut requests, text, false);
        }
        let lost = requests.lose();
        assert_eq!(
            lost.failed,
            [Id::from_raw(&Raw::author(&2)).expect("an id")]
        );
        let mut again = lost.again;
        again.sort();
        assert_eq!(again, [line(LIST), line(INITIALIZE)]);
        for text in [INITIALIZE, LIST] {
            ask(&mut requests, text, true);
        }
        let lost = requests.lose();
        assert_eq!((lost.failed.len(), lost.again.len()), (2, 0));
    }

    #[test]
    fn answers_settle_requests_and_an_opening_that_succeeded_can_be_replayed() {
        let mut requests = PendingRequests::default();
        for text in [INITIALIZE, LIST, CALL] {
            ask(&mut requests, text, false);
        }
        assert!(requests.replay().is_none());
        for answer in [
            r#"{"jsonrpc":"2.0","id":0,"result":{"id":9}}"#,
            r#"{"id": "1", "error": {"code": 1, "message": ""}, "jsonrpc": "2.0"}"#,
            r#"{"jsonrpc":"2.0","method":"x","params":{"id":2,"result":2}}"#,
        ] {
            assert!(requests.answered(&line(answer)), "{answer}");
        }
        let replay = requests.replay().expect("it has opened");
        assert!(replay[0].ends_with(br#""method":"initialize","params":{"a": 1}}"#));
        assert!(!requests.answered(&line(
            r#"{"jsonrpc":"2.0","id":"mcpproxy:replayed","result":{}}"#
        )));
        assert_eq!(requests.lose().failed.len(), 1);
    }

    #[test]
    fn what_the_client_wants_to_be_told_is_replayed_as_far_as_it_was_agreed_to() {
        let mut requests = PendingRequests::default();
        let request = |id: u8, name: &str, params: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{name}","params":{params}}}"#)
        };
        let succeeds = |id: u8| line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
        ask(&mut requests, INITIALIZE, false);
        requests.answered(&succeeds(0));
        for (id, name, params) in [
            (1, "resources/subscribe", r#"{"uri":"a://1"}"#),
            (2, "resources/subscribe", r#"{"uri":"a://2"}"#),
            (3, "resources/subscribe", r#"{"uri":"a://3"}"#),
            (4, "logging/setLevel", r#"{"level":"debug"}"#),
            (5, "logging/setLevel", r#"{"level":"error"}"#),
            (6, "resources/unsubscribe", r#"{"uri":"a://1"}"#),
        ] {
            ask(&mut requests, &request(id, name, params), false);
            if id != 3 {
                requests.answered(&succeeds(id));
            }
        }
        let refused = r#"{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":""}}"#;
        requests.answered(&line(refused));
        let replay = requests.replay().expect("it has opened");
        let rest: Vec<&str> = replay[2..]
            .iter()
            .map(|line| str::from_utf8(line).expect("text"))
            .collect();
        assert_eq!(rest.len(), 2, "{rest:?}");
        assert!(rest[0].ends_with(r#""method":"logging/setLevel","params":{"level":"error"}}"#));
        assert!(rest[1].contains(r#""uri":"a://2""#));
    }

    #[test]
    fn a_refused_opening_is_not_replayed() {
        let mut requests = PendingRequests::default();
        ask(&mut requests, INITIALIZE, false);
        let refused = r#"{"jsonrpc":"2.0","id":0,"error":{"code":1,"message":",\"result\":"}}"#;
        assert!(requests.answered(&line(refused)));
        assert!(requests.replay().is_none());
        assert_eq!(requests.lose().failed, []);
    }
}
