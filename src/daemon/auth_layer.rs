//! What every request passes before it is answered: the guard, and authentication. MCP endpoints are told the caller; for a route it is
//! put into the request, and there is no other way to one.
//!
//! Plain calls around the routes as a whole: a layer of the routes would clone and box them once more for each request.

use std::convert::Infallible;

use axum::{Router as HttpRouter, extract::Request, response::Response};
use http::{HeaderMap, HeaderValue, header};
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use super::{
    guard::{self, Passed, RefusalLines},
    response_body::{note_revoked, until_revoked},
};
use crate::{
    access::{
        Access, Caller, Peer, Refused,
        operators::{NotAnOperator, OperatorPass},
    },
    activity::Activity,
    api,
    config::ChangeAuthor,
    inbound::{self, Inbound},
    wire::instance::InstanceId,
};

/// The way in to the MCP endpoints and to some routes.
pub(super) struct AuthLayer {
    pub(super) inbound: Inbound,
    /// What is open to all.
    pub(super) routes: HttpRouter,
    /// The operator's API.
    pub(super) operators: HttpRouter,
    /// Whose own requests are not let in.
    pub(super) instance: InstanceId,
    pub(super) access: Access,
    pub(super) reach: Reach,
    pub(super) refusals: RefusalLines,
    pub(super) activity: Activity,
    /// Streams of operators end when it does.
    pub(super) closing: CancellationToken,
}

/// Who can come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Over a network address: the guard looks at every request, and operators have to show that they are.
    Network,
    /// The operator's own programs only.
    Local,
}

/// Whose request it is.
enum Sender {
    /// A client's.
    Client(Caller),
    /// The operator's.
    Operator(Caller, OperatorPass),
    /// Nobody's that counts: of one who only looks whether we live, or asks for what is open to all.
    Nobody,
}

/// Who is not let in.
enum Unknown {
    /// Somebody who asks as a client does.
    Client(Refused),
    /// Somebody who asks for what only operators have.
    Operator(NotAnOperator),
}

impl AuthLayer {
    /// Answers a request from this peer, or says why it is not let in.
    pub(super) async fn answer(&self, peer: Peer, mut request: Request) -> Response {
        let (origin, sender) = match self.look_at(peer, &request) {
            Ok(passed) => passed,
            Err(answered) => return answered,
        };
        let response = match sender {
            _ if says_too_large(&request) => too_large(request.uri().path()),
            Err(unknown) => self.refuse(&unknown, request.uri().path()),
            Ok(Sender::Nobody) => self.routed(request).await,
            Ok(Sender::Operator(caller, pass)) => {
                request.extensions_mut().insert(caller);
                request.extensions_mut().insert(pass);
                let _present = self.inbound.presence().enter_operator();
                let access = self.access.clone();
                let closing = self.closing.clone();
                let revoked = async move {
                    tokio::select! {
                        () = access.operator_withdrawn(pass) => note_revoked(),
                        () = closing.cancelled() => (),
                    }
                };
                let author = ChangeAuthor::operator(pass.way());
                let answer = author.during(self.routed(request)).await;
                until_revoked(answer, revoked)
            }
            Ok(Sender::Client(caller)) => {
                if self.reach == Reach::Local {
                    request.extensions_mut().insert(inbound::Local);
                }
                let _present = self.inbound.presence().enter();
                let access = self.access.clone();
                let answer = tokio::select! {
                    biased;
                    answer = self.inbound.answer(caller.clone(), request) => answer,
                    () = access.withdrawn(&caller), if caller.has_credential() => {
                        note_revoked();
                        inbound::unauthorized(&Refused::UnknownToken)
                    }
                };
                let revoked = async move {
                    access.withdrawn(&caller).await;
                    note_revoked();
                };
                until_revoked(answer, revoked)
            }
        };
        match origin {
            Some(origin) => guard::shared(response, &origin),
            None => response,
        }
    }

    fn refuse(&self, unknown: &Unknown, path: &str) -> Response {
        let refused: &dyn std::fmt::Display = match unknown {
            Unknown::Client(refused) => refused,
            Unknown::Operator(refused) => refused,
        };
        if let Some(times) = self.refusals.unknown.due() {
            tracing::info!(%refused, times, "request refused: no valid token");
            self.activity.note_unknown(path, refused.to_string(), times);
        }
        match unknown {
            Unknown::Client(refused) => inbound::unauthorized(refused),
            Unknown::Operator(refused) => api::refused(*refused),
        }
    }

    /// Whether it is our own, the guard, and then who asks: over one state of the settings.
    #[expect(
        clippy::result_large_err,
        reason = "the error is the answer, made once"
    )]
    fn look_at(
        &self,
        peer: Peer,
        request: &Request,
    ) -> Result<(Option<HeaderValue>, Result<Sender, Unknown>), Response> {
        // First of all: a daemon that connects to itself by a name that is not trusted, or without a token, learns what is really wrong.
        if self.instance.sent(request.headers()) {
            return Err(inbound::behind_itself());
        }
        let settings = self.access.settings();
        let passed = match self.reach {
            Reach::Network => guard::check(&settings, &self.refusals, request),
            Reach::Local => Passed::In,
        };
        let origin = match passed {
            Passed::In => None,
            Passed::Shared(origin) => Some(origin),
            Passed::Answered(response) => return Err(response),
        };
        let (path, headers) = (request.uri().path(), request.headers());
        let sender = if inbound::is_endpoint(path) {
            let caller = self.access.authenticate(&settings, headers, peer);
            caller.map(Sender::Client).map_err(Unknown::Client)
        } else if api::is_operators(path) || (api::is_metrics(path) && !is_from_here(peer, headers))
        {
            let (access, method) = (&self.access, request.method());
            let operator = access.authenticate_operator(&settings, peer, method, headers);
            let operator = operator.map(|(caller, pass)| Sender::Operator(caller, pass));
            operator.map_err(Unknown::Operator)
        } else {
            Ok(Sender::Nobody)
        };
        Ok((origin, sender))
    }

    async fn routed(&self, request: Request) -> Response {
        let is_operators = self.reach == Reach::Local || api::is_below_api(request.uri().path());
        let routes = if is_operators {
            &self.operators
        } else {
            &self.routes
        };
        let Ok(answer): Result<Response, Infallible> = routes.clone().call(request).await;
        answer
    }
}

/// Whether a request comes from a program of this machine which does not say that it passes it on for another.
fn is_from_here(peer: Peer, headers: &HeaderMap) -> bool {
    let is_local = match peer {
        Peer::LocalSocket => true,
        Peer::Network(address) => address.ip().to_canonical().is_loopback(),
    };
    is_local && !inbound::is_passed_on(headers)
}

/// Whether a request declares a body that is too large: then none of it is read, and a client that waits for a go-ahead
/// (`Expect: 100-continue`) sends none.
fn says_too_large(request: &Request) -> bool {
    let length = request.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    length.is_some_and(|length| length > inbound::LARGEST_BODY)
}

/// The connection ends with it: what comes next on it is the body.
fn too_large(path: &str) -> Response {
    let mut response = if api::is_below_api(path) {
        api::too_large()
    } else {
        inbound::too_large()
    };
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(header::CONNECTION, close);
    response
}
