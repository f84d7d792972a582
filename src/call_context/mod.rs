//! One request in flight: its id, its caller, the protocol revision of its client, the stream to that client, and the questions to it.

mod call_id;
mod client_stream;
mod connection;
mod logged_call;
mod named_resources;
mod open_session;
mod questions;
mod session;

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use self::logged_call::{LoggedCall, shown_method};
pub use self::{
    call_id::{CallId, CallIds},
    client_stream::{ClientReceiver, ClientSender},
    connection::OwnConnection,
    logged_call::shown_name,
    named_resources::{NamedBy, NamedResources},
    open_session::OpenSession,
    questions::{NotAnswered, Questions},
    session::{Binding, ClientSession},
};
use crate::{
    access::{Caller, ClientSeat},
    activity::{CallCourse, CallEntrance},
    link::ClientKey,
    telemetry::{
        log_context::LoggedAs,
        spans::{CallTrace, TracedRequest},
    },
    text::beginning,
    wire::{
        Id, LogLevel, Outcome, Raw, RequestTrace, Revision, RpcError, bridge::Sender, capabilities,
    },
};

/// How long one call may take in all, whatever progress it reports.
const TOTAL: Duration = Duration::from_mins(30);

/// Limit: bytes that a session keeps of its client's implementation; bytes of each name in a longer one; and bytes of its capabilities.
const MAX_INFO: usize = 2 << 10;
const SHOWN_NAME: usize = 256;
const MAX_CAPABILITIES: usize = 16 << 10;

/// Travels with a request from the transport that received it to the connection that carries it to a server.
#[derive(Clone)]
pub struct CallContext {
    /// The id of the call.
    pub id: CallId,
    /// The call that caused this one, if one did.
    pub parent: Option<CallId>,
    /// When it is given up, unless the timeout of its server is longer.
    pub deadline: Instant,
    /// The context in which all work on the call logs.
    pub logged_as: LoggedAs,
    /// Gives the ids of calls that this one causes.
    ids: CallIds,
    /// The caller.
    pub caller: Caller,
    /// The endpoint of the client's request; `None` for an operator's.
    pub endpoint: Option<CallEntrance>,
    /// The protocol revision of the client.
    pub revision: Revision,
    /// What the client declared of itself.
    pub client: Arc<ClientIdentity>,
    /// The least level of the log messages that the client wants, if it wants any. A legacy client that set no level wants all.
    pub log_level: Option<LogLevel>,
    /// The stream for notifications about this request.
    pub to_client: ClientSender,
    /// The open questions to this client; `None` if it cannot answer any.
    pub questions: Option<Questions>,
    /// The legacy session of the client, if it has one.
    pub session: Option<ClientSession>,
    /// The connection of a client without a session, if it shares that with nobody.
    pub connection: Option<OwnConnection>,
    /// Its place in a trace, if it has one.
    pub trace: Option<Arc<CallTrace>>,
    /// Decisions and times on its way, for its record.
    pub course: Arc<CallCourse>,
}

/// What a client declared of itself. Detached copies, which do not keep its message alive.
#[derive(Debug, Clone)]
pub struct ClientIdentity {
    /// Its name and version.
    pub info: Raw,
    /// Its capabilities.
    pub capabilities: Raw,
    /// Why it is not asked a question whose capability it did not declare.
    pub unable: NotAnswered,
}

impl CallContext {
    /// The context of a request whose sender reads nothing before the answer and takes no questions, such as an operator's.
    pub fn alone(ids: &CallIds, caller: Caller, method: &str) -> Self {
        let id = ids.next();
        Self {
            id,
            parent: None,
            deadline: Instant::now() + TOTAL,
            logged_as: LoggedAs::new(LoggedCall {
                id,
                method: shown_method(method),
                caller: caller.shared_subject(),
                outer: None,
            }),
            ids: ids.clone(),
            caller,
            endpoint: None,
            revision: Revision::NEWEST_LEGACY,
            client: Arc::default(),
            log_level: None,
            to_client: ClientSender::nowhere(),
            questions: None,
            session: None,
            connection: None,
            trace: None,
            course: Arc::default(),
        }
    }

    /// Gives the call its place in a trace, if spans are on: in the trace of its params, else of the headers, else in a new one.
    pub fn begin_trace(
        &mut self,
        id: Option<&Id>,
        params: Option<&Raw>,
        in_headers: Option<&RequestTrace>,
    ) {
        let spans = self.ids.spans();
        if !spans.is_on() {
            return;
        }
        let in_params = RequestTrace::in_params(params);
        let id = id.map(|id| shown_name(id.as_str().trim_matches('"')));
        let request = TracedRequest {
            id: id.as_deref(),
            revision: self.revision.as_str(),
            is_in_params: in_params.is_some(),
        };
        self.trace = spans.begin(in_params.or_else(|| in_headers.cloned()), request);
    }

    /// The context of a call that this one causes: of the same client and with the same deadline.
    #[must_use]
    pub fn child(&self, method: &str) -> Self {
        let id = self.ids.next();
        Self {
            id,
            parent: Some(self.id),
            logged_as: LoggedAs::new(LoggedCall {
                id,
                method: shown_method(method),
                caller: self.caller.shared_subject(),
                outer: Some((self.id, self.logged_as.clone())),
            }),
            trace: self.trace.as_ref().map(|outer| Arc::new(outer.child())),
            course: Arc::default(),
            ..self.clone()
        }
    }

    /// What identifies its client.
    pub fn client_key(&self) -> ClientKey {
        let subject = self.caller.shared_subject();
        match (&self.session, &self.connection) {
            (Some(session), _) => ClientKey::Session(session.key().clone()),
            (None, Some(connection)) => ClientKey::Connection {
                number: connection.number(),
                subject,
            },
            (None, None) => self.named_client(),
        }
    }

    /// The client by the name that it gives itself, over whatever connection.
    pub fn named_client(&self) -> ClientKey {
        let name = self.client.info.get("name").and_then(|name| name.string());
        ClientKey::Named {
            subject: self.caller.shared_subject(),
            name: name.unwrap_or_default().into(),
        }
    }

    /// What the lists for this client depend on: which client it is, and its capabilities.
    pub fn seat(&self) -> Arc<ClientSeat> {
        let new = || {
            let capabilities = self.client.capabilities.clone();
            let seat = ClientSeat::new(self.client_key(), capabilities, self.revision);
            let seat = seat.in_session(self.session.is_some());
            Arc::new(seat.with_lines(self.log_level.is_some()))
        };
        self.caller.seat().cloned().unwrap_or_else(new)
    }

    /// The same, with this client noted in its caller.
    #[must_use]
    pub fn at_client(mut self) -> Self {
        self.caller = self.caller.clone().at(self.seat());
        self
    }

    /// The resources that servers named to the client, which only a session keeps.
    pub fn named_resources(&self) -> Option<&NamedResources> {
        Some(self.session.as_ref()?.named_resources())
    }

    /// The client as servers see it.
    pub fn sender(&self) -> Sender<'_> {
        Sender {
            revision: self.revision,
            client: &self.client.info,
            capabilities: &self.client.capabilities,
            log_level: self.log_level,
        }
    }

    /// Asks the client something on the stream of this request, and waits for its answer. Dropping the future withdraws the
    /// question.
    pub async fn ask(&self, method: &str, params: Option<&Raw>) -> Result<Outcome, NotAnswered> {
        if !self.client.can_answer(method, params) {
            return Err(self.client.unable);
        }
        let questions = self.heard_questions()?;
        questions.ask(&self.to_client, method, params).await
    }

    /// The questions to the client, if it can hear one on the stream of this request.
    pub fn heard_questions(&self) -> Result<&Questions, NotAnswered> {
        match &self.questions {
            Some(questions) if self.to_client.is_heard() => Ok(questions),
            _ if self.to_client.is_open() => Err(NotAnswered::NotListening),
            _ => Err(NotAnswered::NoStream),
        }
    }
}

impl Default for ClientIdentity {
    /// One without declarations.
    fn default() -> Self {
        Self {
            info: Raw::empty_object(),
            capabilities: Raw::empty_object(),
            unable: NotAnswered::Unable,
        }
    }
}

impl ClientIdentity {
    /// A client of this name with these capabilities.
    pub fn new(info: &Raw, capabilities: &Raw) -> Self {
        Self {
            info: info.detached(),
            capabilities: capabilities.detached(),
            unable: NotAnswered::Unable,
        }
    }

    /// The same client for the calls of a script, which cannot ask it questions.
    #[must_use]
    pub fn in_script(&self) -> Self {
        Self {
            unable: NotAnswered::Script,
            ..Self::new(&self.info, &Raw::empty_object())
        }
    }

    /// The part that a session keeps. Of a long implementation that is its names and version. Capabilities decide which questions the client
    /// gets, so too long ones are an error.
    pub fn kept(info: &Raw, capabilities: &Raw) -> Result<Self, RpcError> {
        if capabilities.as_bytes().len() > MAX_CAPABILITIES {
            let why =
                "no session was opened: \"capabilities\" is larger than 16 KiB; send less in it";
            return Err(RpcError::invalid_params(why));
        }
        if info.as_bytes().len() <= MAX_INFO {
            return Ok(Self::new(info, capabilities));
        }
        let names = ["name", "title", "version"].into_iter().filter_map(|key| {
            let text = info.get(key)?.string()?;
            Some((key, beginning(&text, SHOWN_NAME).to_owned()))
        });
        let names: BTreeMap<&str, String> = names.collect();
        Ok(Self::new(&Raw::author(&names), capabilities))
    }

    /// Its name and version, for log lines.
    pub fn shown(&self) -> String {
        let text = |key| self.info.get(key).and_then(|text| text.string());
        let [name, version] = ["name", "version"].map(|key| text(key).unwrap_or_default());
        shown_name(&format!("{name} {version}")).trim().to_owned()
    }

    /// In bytes.
    pub fn size(&self) -> usize {
        self.info.as_bytes().len() + self.capabilities.as_bytes().len()
    }

    /// Whether the client declared the capability for this question.
    pub fn can_answer(&self, method: &str, params: Option<&Raw>) -> bool {
        capabilities::can_answer(&self.capabilities, method, params)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Access;

    #[test]
    fn an_inner_call_is_a_call_of_its_own() {
        let ids = CallIds::default();
        let outer = CallContext::alone(&ids, Access::default().terminal(), "tools/call");
        let inner = outer.child("tools/call");
        let next = CallContext::alone(&ids, Access::default().terminal(), "ping");
        assert_eq!((outer.parent, inner.parent), (None, Some(outer.id)));
        assert_eq!(inner.deadline, outer.deadline);
        assert_eq!(inner.caller, outer.caller);
        let mut all = [outer.id, inner.id, next.id].map(|id| id.to_string());
        all.sort();
        assert_eq!(all, ["c1", "c2", "c3"]);
    }

    #[test]
    fn what_is_kept_of_a_client_is_bounded() {
        let raw = |text: &str| Raw::parse_str(text).expect("JSON");
        let kept = |info: &str, capabilities: &str| {
            ClientIdentity::kept(&raw(info), &raw(capabilities))
                .map(|kept| (kept.info.as_str().to_owned(), kept.size()))
                .map_err(|error| error.code)
        };
        let small = r#"{ "name":"a", "x":1.10}"#;
        assert_eq!(
            kept(small, "{}"),
            Ok((small.to_owned(), small.len() + 2)),
            "as it is"
        );
        let (long, icon) = ("ö".repeat(SHOWN_NAME), "x".repeat(MAX_INFO));
        let large = format!(r#"{{"version":"1","icons":["{icon}"],"title":3,"name":"{long}"}}"#);
        let cut = "ö".repeat(SHOWN_NAME / 2);
        let (info, _) = kept(&large, "{}").expect("small capabilities");
        assert_eq!(info, format!(r#"{{"name":"{cut}","version":"1"}}"#));
        let capabilities = |size: usize| format!(r#"{{"experimental":"{}"}}"#, "x".repeat(size));
        assert!(kept("{}", &capabilities(MAX_CAPABILITIES - 19)).is_ok());
        let refused = kept("{}", &capabilities(MAX_CAPABILITIES - 18));
        assert_eq!(refused, Err(RpcError::INVALID_PARAMS));
    }
}
