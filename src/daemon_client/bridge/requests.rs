//! What a bridge has to know about the messages it carries: which requests are unanswered, and how the client opened. Pure.

use std::collections::HashMap;

use bytes::Bytes;

use super::{
    AbsentDaemon,
    notices::{NoticeChange, WantedNotices},
};
use crate::{
    failure::{ErrorCode, Failure},
    wire::{
        FrameError, Id, Message, Raw, Request, Response, error_frame, method, notification_frame,
        parse_client, request_frame,
    },
};

/// The id of requests that the bridge sends in the client's place. Their answers are dropped.
const REPLAYED: &str = "mcpproxy:replayed";

/// A line of the client, read just so far.
#[derive(Debug)]
pub(super) enum ClientLine {
    /// It wants these answers.
    Requests(Vec<ClientRequest>),
    /// It wants none, nor one to this request any more.
    WantsNoAnswer(Option<Id>),
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
    /// Lasts as long as the client wants.
    Listening,
    Other,
}

/// Whether a line goes out for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineTurn {
    First,
    /// It was lost once, and is not sent a third time.
    Again,
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

#[derive(Debug)]
struct Pending {
    kind: Kind,
    /// The line to ask again with when the daemon is lost.
    line: Option<Bytes>,
    /// It came with others in one line.
    in_batch: bool,
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
            // The daemon logs it.
            Err(FrameError::NoId) => return Self::WantsNoAnswer(None),
            Err(error) => return Self::Malformed(refusal(&error)),
        };
        let mut requests = Vec::new();
        let mut withdrawn = None;
        for message in messages {
            match message {
                Ok(Message::Request(request)) => requests.push(ClientRequest {
                    kind: match &*request.method {
                        method::INITIALIZE => Kind::Opening(params(&request)),
                        method::LISTEN => Kind::Listening,
                        name if !is_batch && is_repeatable(name) => Kind::Repeatable,
                        _ => match NoticeChange::of(&request) {
                            Some(change) if !is_batch => Kind::Notices(change),
                            _ => Kind::Other,
                        },
                    },
                    id: request.id,
                }),
                Err(error) if !is_batch => return Self::Malformed(refusal(&error)),
                Ok(Message::Notification(notice)) if &*notice.method == method::CANCELLED => {
                    let id = notice.params.and_then(|params| params.get("requestId"));
                    withdrawn = id.and_then(|id| Id::from_raw(&id));
                }
                Ok(_) | Err(_) => (),
            }
        }
        if requests.is_empty() && !is_batch {
            Self::WantsNoAnswer(withdrawn)
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

fn refusal(error: &FrameError) -> Bytes {
    error_frame(error.id(), &error.to_rpc_error().to_raw())
}

impl PendingRequests {
    /// Notes requests that go out with this line.
    pub(super) fn note(&mut self, requests: Vec<ClientRequest>, line: &Bytes, turn: LineTurn) {
        let in_batch = line.first() == Some(&b'[');
        for ClientRequest { id, kind } in requests {
            let can_repeat = matches!(kind, Kind::Opening(_) | Kind::Repeatable);
            let line =
                (can_repeat && turn == LineTurn::First).then(|| Bytes::copy_from_slice(line));
            let pending = Pending {
                kind,
                line,
                in_batch,
            };
            self.pending.insert(id, pending);
        }
    }

    /// Whether any is unanswered that has an end of its own.
    pub(super) fn any_open(&self) -> bool {
        let mut pending = self.pending.values();
        pending.any(|pending| !matches!(pending.kind, Kind::Listening))
    }

    /// The client wants no answer to it any more, and gets none.
    pub(super) fn withdrawn(&mut self, id: &Id) {
        self.pending.remove(id);
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
        if line.starts_with(br#"{"jsonrpc":"2.0","id":null,"#) {
            // A batch that is refused as a whole: it names none of its requests.
            self.pending.retain(|_, pending| !pending.in_batch);
        }
        let Some((id, succeeded)) = answer(line) else {
            return true;
        };
        if id.as_str().trim_matches('"') == REPLAYED {
            return false;
        }
        let pending = self.pending.remove(&id).filter(|_| succeeded);
        match pending.map(|pending| pending.kind) {
            Some(Kind::Opening(params)) => {
                self.opened = Some(params);
                self.wanted.clear();
            }
            Some(Kind::Notices(change)) => self.wanted.apply(change),
            _ => (),
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
    failed(id, &Failure::new(ErrorCode::ConnectionLost, text, hint))
}

/// The answer when there is no daemon.
pub(super) fn unreachable(request: &ClientRequest, absent: &AbsentDaemon) -> Bytes {
    let hint = match absent.code {
        ErrorCode::Internal => "Tell the user that mcpproxy could not be started or reached.",
        ErrorCode::ConfigUnusable => {
            "Tell the user that mcpproxy cannot use its configuration file."
        }
        ErrorCode::Unauthorized => {
            "Tell the user to correct --token or $MCPPROXY_TOKEN in this client's entry for mcpproxy."
        }
        ErrorCode::ServerMisconfigured => {
            "Tell the user to remove that server: it would call itself endlessly."
        }
        _ => "Tell the user to correct --endpoint in this client's entry for mcpproxy.",
    };
    let mut failure = Failure::agents_only(absent.code, &absent.why, hint);
    failure.hint = failure.hint.not_run();
    failed(&request.id, &failure)
}

/// The answer in place of one that is too large to carry.
pub(super) fn too_large(id: &Id) -> Bytes {
    let text = "the answer is larger than 128 MiB";
    let hint = "Ask for less at a time.";
    failed(id, &Failure::new(ErrorCode::BadUpstreamAnswer, text, hint))
}

fn failed(id: &Id, failure: &Failure) -> Bytes {
    error_frame(Some(id), &failure.as_rpc_error().to_raw())
}

#[cfg(test)]
mod tests;
