//! What is told to the log: typed, cheap to make, holding what is there already, and copies of what is small. Nothing is formatted or
//! masked here; that is done where records are made.

use std::{
    borrow::Cow,
    fmt,
    sync::Arc,
    time::{Instant, SystemTime},
};

use super::Activity;
use crate::{
    error_code::{ErrorCode, Failure},
    fingerprint::Fingerprint,
    names::ServerName,
    wire::{Raw, RpcError, Thing},
};

/// Limit: of larger params and results only the size is recorded. What a record shows of them is far less.
pub(super) const LARGEST_BODY: usize = 64 << 10;

/// Who changes servers and settings.
pub(super) const OPERATOR: &str = "operator";

/// Limit: bytes that are copied at once. A part of a message keeps the whole of it, whose memory the next call could use.
const COPIED: usize = 1 << 10;

/// Limit: bytes of a name or an address that a client made up, of the error of a server, and of what a client says of itself. A record
/// shows less of them.
const LONGEST_TEXT: usize = 4 << 10;

/// Something that happened.
#[derive(Debug)]
pub(super) struct ActivityEvent {
    pub(super) time: SystemTime,
    pub(super) what: EventKind,
}

impl ActivityEvent {
    /// Copies what it has of messages, so that it keeps nothing of them alive. All of that is small.
    pub(super) fn detach(&mut self) {
        let EventKind::Call(call) = &mut self.what else {
            return;
        };
        call.client = call.client.detached();
        match &mut call.body {
            SeenBody::Nothing => (),
            SeenBody::Params(raw) | SeenBody::Arguments(raw) => *raw = raw.detached(),
        }
        match &mut call.end {
            CallEnd::Result {
                kept: Some(raw), ..
            }
            | CallEnd::RpcError { kept: raw, .. } => {
                *raw = raw.detached();
            }
            CallEnd::Result { kept: None, .. }
            | CallEnd::Withdrawn
            | CallEnd::Failed { .. }
            | CallEnd::Invalid { .. } => (),
        }
    }
}

#[derive(Debug)]
pub(super) enum EventKind {
    Call(Box<SeenCall>),
    Refusal(Box<RefusedNotice>),
    Change(Box<OperatorChange>),
    Server(Box<ServerNews>),
}

/// A request of a caller from its beginning.
#[derive(Debug)]
pub struct NewCall<'a> {
    /// Its number.
    pub id: u64,
    /// That of the call which caused it.
    pub parent: Option<u64>,
    /// Whose it is.
    pub caller: Arc<str>,
    /// What the client says of itself.
    pub client: &'a Raw,
    /// Where it came in, if it came in from outside.
    pub endpoint: Option<CallEntrance>,
    /// The method.
    pub method: &'a str,
    /// What came with it.
    pub body: CallBody<'a>,
}

/// What came with a call.
#[derive(Debug, Clone, Copy)]
pub enum CallBody<'a> {
    /// Params as the client wrote them.
    Params(Option<&'a Raw>),
    /// Arguments by themselves.
    Arguments(Option<&'a Raw>),
}

/// Where a call came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallEntrance {
    /// At one of many servers, by its path.
    Path(&'static str),
    /// At that of a profile.
    Profile(Arc<str>),
    /// At that of one server.
    Server(ServerName),
}

impl fmt::Display for CallEntrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => f.write_str(path),
            Self::Profile(profile) => write!(f, "/mcp/p/{profile}"),
            Self::Server(server) => write!(f, "/mcp/server/{server}"),
        }
    }
}

/// What a caller said that its call is for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatedIntent {
    /// How sensitive the data are.
    pub data_sensitivity: Option<String>,
    /// Why it calls.
    pub reason: Option<String>,
}

/// A request that was not let through and was no call: nobody waits for its answer.
#[derive(Debug, Default)]
pub struct RefusedNotice {
    /// Whose it was, if that is known.
    pub caller: Option<Arc<str>>,
    /// Its method.
    pub method: Option<Box<str>>,
    /// The server it was for.
    pub server: Option<Box<str>>,
    /// The path that was asked for, where nothing more of the request was read.
    pub path: Option<Box<str>>,
    /// Which rule.
    pub code: Option<ErrorCode>,
    /// In words.
    pub error: String,
    /// How many of its like there were since the last record of them, this one included; `None` where each has a record.
    pub times: Option<u64>,
}

/// Something that the operator did, or had done by an edit of the file.
#[derive(Debug, Default)]
pub struct OperatorChange {
    /// Who did it.
    pub caller: Arc<str>,
    /// What: a verb, as the command line calls it.
    pub action: &'static str,
    /// To which server.
    pub server: Option<Box<str>>,
    /// More of it.
    pub detail: Option<String>,
    /// The definitions that it is about.
    pub things: Vec<TouchedThing>,
    /// Why it came to nothing.
    pub error: Option<String>,
}

impl OperatorChange {
    /// Something that the operator did to a server.
    pub fn by_operator(action: &'static str, server: &str) -> Self {
        Self {
            caller: OPERATOR.into(),
            action,
            server: Some(server.into()),
            ..Self::default()
        }
    }
}

/// A definition that was approved or is held.
#[derive(Debug, Clone)]
pub struct TouchedThing {
    /// `tool`, `prompt` and so on.
    pub kind: &'static str,
    /// Its name, as its server wrote it.
    pub name: Box<str>,
    /// Which definition, if that is known.
    pub fingerprint: Option<Fingerprint>,
    /// Why, in words.
    pub why: Option<&'static str>,
}

/// Something that happened to a server.
#[derive(Debug)]
pub(super) struct ServerNews {
    pub(super) server: Box<str>,
    pub(super) action: &'static str,
    pub(super) things: Vec<TouchedThing>,
    pub(super) error: Option<String>,
}

/// A call, as far as the log knows it.
#[derive(Debug)]
pub(super) struct SeenCall {
    pub(super) id: u64,
    pub(super) parent: Option<u64>,
    pub(super) caller: Arc<str>,
    pub(super) client: Raw,
    pub(super) endpoint: Option<CallEntrance>,
    pub(super) method: Cow<'static, str>,
    pub(super) server: Option<Box<str>>,
    pub(super) thing: ThingCalled,
    pub(super) variant: Option<&'static str>,
    pub(super) intent: Option<StatedIntent>,
    pub(super) body: SeenBody,
    pub(super) request_bytes: usize,
    pub(super) began: Instant,
    pub(super) ended: Instant,
    pub(super) end: CallEnd,
}

/// What of a request is kept until its record is made.
#[derive(Debug)]
pub(super) enum SeenBody {
    Nothing,
    Params(Raw),
    Arguments(Raw),
}

/// What is called.
#[derive(Debug)]
pub(super) enum ThingCalled {
    Tool(Box<str>),
    Prompt(Box<str>),
    Resource(Box<str>),
    Task(Box<str>),
    Nothing,
}

impl ThingCalled {
    fn of(thing: &Thing<'_>) -> Self {
        match thing {
            Thing::Tool(name) => Self::Tool(bounded(name).into()),
            Thing::Prompt(name) => Self::Prompt(bounded(name).into()),
            Thing::Resource(uri) => Self::Resource(bounded(uri).into()),
            Thing::Task(id) => Self::Task(bounded(id).into()),
            Thing::Nothing => Self::Nothing,
        }
    }
}

/// How a call ended.
#[derive(Debug)]
pub(super) enum CallEnd {
    /// Its future was dropped: nobody waits any more.
    Withdrawn,
    /// With a result, kept if it is small enough to be looked into.
    Result {
        size: usize,
        kept: Option<Raw>,
        is_error: bool,
    },
    /// With the server's own error, or what is small of it.
    RpcError { size: usize, kept: Raw },
    /// With a failure of ours.
    Failed { code: ErrorCode, error: String },
    /// With an error of ours about the request itself.
    Invalid { code: i64, error: String },
}

/// A call that is under way. Dropping it is an end too: the call was withdrawn.
#[derive(Debug)]
pub struct OpenCall {
    activity: Activity,
    /// Until it is told.
    call: Option<Box<SeenCall>>,
}

impl OpenCall {
    pub(super) fn new(activity: Activity, new: NewCall<'_>) -> Self {
        let NewCall {
            id,
            parent,
            caller,
            client,
            endpoint,
            method,
            body,
        } = new;
        let (kept, request_bytes) = match body {
            CallBody::Params(params) => kept(&activity, params, SeenBody::Params),
            CallBody::Arguments(arguments) => kept(&activity, arguments, SeenBody::Arguments),
        };
        let began = Instant::now();
        let call = SeenCall {
            id,
            parent,
            caller,
            client: small_client(client),
            endpoint,
            method: well_known(method),
            server: None,
            thing: ThingCalled::Nothing,
            variant: None,
            intent: None,
            body: kept,
            request_bytes,
            began,
            ended: began,
            end: CallEnd::Withdrawn,
        };
        Self {
            activity,
            call: Some(Box::new(call)),
        }
    }

    /// What is called. Said again when more is known.
    pub fn is_of(&mut self, server: Option<&str>, thing: &Thing<'_>) {
        if let Some(call) = &mut self.call {
            call.server = server.map(|name| bounded(name).into());
            call.thing = ThingCalled::of(thing);
        }
    }

    /// How it was declared.
    pub fn is_declared(&mut self, variant: &'static str, intent: Option<StatedIntent>) {
        if let Some(call) = &mut self.call {
            call.variant = Some(variant);
            call.intent = intent;
        }
    }

    /// It was answered with a result.
    pub fn answered(self, result: &Raw) {
        let size = result.as_bytes().len();
        let is_small = size <= LARGEST_BODY;
        // Of a large one it is looked here, so that it is not held.
        let is_error = !is_small && says_error(result);
        let kept = is_small.then(|| held(result));
        self.end(CallEnd::Result {
            size,
            kept,
            is_error,
        });
    }

    /// It was answered with an error of the server.
    pub fn refused_by_server(self, error: &Raw) {
        self.end(CallEnd::RpcError {
            size: error.as_bytes().len(),
            kept: small_error(error),
        });
    }

    /// It came to nothing.
    pub fn failed(self, failure: &Failure) {
        self.end(CallEnd::Failed {
            code: failure.code,
            error: failure.error.clone(),
        });
    }

    /// The request was wrong.
    pub fn was_wrong(self, error: &RpcError) {
        self.end(CallEnd::Invalid {
            code: error.code,
            error: bounded(&error.message).to_owned(),
        });
    }

    fn end(mut self, end: CallEnd) {
        if let Some(call) = &mut self.call {
            call.end = end;
        }
        // Dropped here, which tells it.
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        if let Some(mut call) = self.call.take() {
            call.ended = Instant::now();
            self.activity.note(EventKind::Call(call));
        }
    }
}

impl SeenCall {
    /// In bytes, what is held of what was sent and answered.
    pub(super) fn held(&self) -> usize {
        let body = match &self.body {
            SeenBody::Nothing => 0,
            SeenBody::Params(raw) | SeenBody::Arguments(raw) => raw.as_bytes().len(),
        };
        let end = match &self.end {
            CallEnd::Result { kept, .. } => kept.as_ref().map_or(0, |raw| raw.as_bytes().len()),
            CallEnd::RpcError { kept, .. } => kept.as_bytes().len(),
            CallEnd::Withdrawn | CallEnd::Failed { .. } | CallEnd::Invalid { .. } => 0,
        };
        self.client.as_bytes().len() + body + end
    }
}

fn kept(activity: &Activity, raw: Option<&Raw>, body: fn(Raw) -> SeenBody) -> (SeenBody, usize) {
    let size = raw.map_or(0, |raw| raw.as_bytes().len());
    let is_wanted = activity.keeps_arguments() && size <= LARGEST_BODY;
    let raw = raw.filter(|_| is_wanted);
    (raw.map_or(SeenBody::Nothing, |raw| body(held(raw))), size)
}

/// A part of a message until its record is made.
fn held(raw: &Raw) -> Raw {
    if raw.as_bytes().len() <= COPIED {
        raw.detached()
    } else {
        raw.clone()
    }
}

/// Whether a tool's result says that the tool failed.
fn says_error(result: &Raw) -> bool {
    result.get(IS_ERROR).is_some_and(|value| is_true(&value))
}

/// The member that says so.
pub(super) const IS_ERROR: &str = "isError";

pub(super) fn is_true(value: &Raw) -> bool {
    value.as_bytes() == b"true"
}

fn well_known(method: &str) -> Cow<'static, str> {
    use crate::wire::method::{COMPLETE, PROMPTS_GET, RESOURCES_READ, TOOLS_CALL};
    let known = [TOOLS_CALL, RESOURCES_READ, PROMPTS_GET, COMPLETE];
    let known = known.into_iter().find(|known| *known == method);
    known.map_or_else(|| Cow::Owned(bounded(method).to_owned()), Cow::Borrowed)
}

/// The beginning of a text that others made up.
pub(super) fn bounded(text: &str) -> &str {
    let (beginning, _) = text.split_at(text.floor_char_boundary(LONGEST_TEXT));
    beginning
}

/// What a client says of itself, without what no record shows if that is much.
fn small_client(client: &Raw) -> Raw {
    if client.as_bytes().len() <= LONGEST_TEXT {
        return client.clone();
    }
    let text = |key: &str| client.get(key).and_then(|text| text.string());
    let [name, version] = ["name", "version"].map(|key| text(key).unwrap_or_default());
    let small = (bounded(&name), bounded(&version));
    Raw::author(&serde_json::json!({ "name": small.0, "version": small.1 }))
}

/// The error of a server, without what no record shows if that is much.
fn small_error(error: &Raw) -> Raw {
    if error.as_bytes().len() <= LONGEST_TEXT {
        return error.clone();
    }
    let code = error.get("code").and_then(|code| code.read::<i64>().ok());
    let message = error.get("message").and_then(|message| message.string());
    let message = message.unwrap_or_default();
    Raw::author(&serde_json::json!({ "code": code, "message": bounded(&message) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_bounded_and_lets_go_of_the_messages_it_came_in() {
        let long = "x".repeat(1 << 20);
        let error = Raw::author(&serde_json::json!({ "code": -3, "message": long, "data": long }));
        let client = Raw::author(&serde_json::json!({ "name": "n", "version": long }));
        let some = "y".repeat(2 * COPIED);
        let frame = Raw::author(&serde_json::json!({ "arguments": { "a": some }, "junk": long }));
        let few = Raw::author(&serde_json::json!({ "arguments": { "a": 1 }, "junk": long }));
        let small = held(&few.get("arguments").expect("it is there"));
        assert!(few.bytes().is_unique(), "a part of it is held: {small:?}");
        let arguments = frame.get("arguments").expect("it is there");
        let mut call = OpenCall::new(
            Activity::none(),
            NewCall {
                id: 1,
                parent: None,
                caller: "ada".into(),
                client: &client,
                endpoint: None,
                method: &long,
                body: CallBody::Arguments(Some(&arguments)),
            },
        );
        call.is_of(Some(&long), &Thing::Resource(long.as_str().into()));
        let mut call = call.call.take().expect("it is open");
        call.end = CallEnd::RpcError {
            size: error.as_bytes().len(),
            kept: small_error(&error),
        };
        assert_eq!(call.method.len(), LONGEST_TEXT);
        assert!(call.held() < 3 * LONGEST_TEXT, "{}", call.held());
        let mut event = ActivityEvent {
            time: SystemTime::UNIX_EPOCH,
            what: EventKind::Call(call),
        };
        drop(arguments);
        assert!(!frame.bytes().is_unique(), "it holds a part of it");
        event.detach();
        assert!(frame.bytes().is_unique(), "{event:?}");
    }
}
