//! Every request passes the guard and authentication here before it is answered. The MCP endpoints get the caller as an argument; routes
//! find it in the request, where nothing else puts one.
//!
//! This calls the routes as a whole: a layer of the routes would clone and box them once more for each request.

use std::{convert::Infallible, fmt::Display};

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
    /// This daemon: its own requests are not let in.
    pub(super) instance: InstanceId,
    pub(super) access: Access,
    pub(super) reach: Reach,
    pub(super) refusals: RefusalLines,
    pub(super) activity: Activity,
    /// Streams of operators end when it does.
    pub(super) closing: CancellationToken,
}

/// Whose requests can arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Anybody's, over a network address: the guard looks at every request, and operators need a credential.
    Network,
    /// Those of the operator's own programs only.
    Local,
}

/// Whose request it is.
enum Sender {
    /// A client's.
    Client(Caller),
    /// The operator's.
    Operator(Caller, OperatorPass),
    /// Anybody's: it is for a route that is open to all, such as `/healthz`.
    Anybody,
    /// It is for an endpoint, and its sender is no client.
    NoClient(Refused),
    /// It is for a route of operators, and its sender is none.
    NoOperator(NotAnOperator),
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
            Sender::NoClient(refused) => {
                self.note_refused(&refused, request.uri().path());
                inbound::unauthorized(&refused)
            }
            Sender::NoOperator(refused) => {
                self.note_refused(&refused, request.uri().path());
                api::refused(refused)
            }
            Sender::Anybody => self.routed(request).await,
            Sender::Operator(caller, pass) => {
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
            Sender::Client(caller) => {
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

    fn note_refused(&self, reason: &dyn Display, path: &str) {
        if let Some(times) = self.refusals.unknown.due() {
            tracing::info!(%reason, times, "request refused: unauthorized");
            self.activity.note_unknown(path, reason.to_string(), times);
        }
    }

    /// Whether it is our own, the guard, and then who asks: over one state of the settings.
    #[expect(clippy::result_large_err, reason = "the error is the answer")]
    fn look_at(
        &self,
        peer: Peer,
        request: &Request,
    ) -> Result<(Option<HeaderValue>, Sender), Response> {
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
            caller.map_or_else(Sender::NoClient, Sender::Client)
        } else if api::is_operators(path) || (api::is_metrics(path) && !is_from_here(peer, headers))
        {
            let (access, method) = (&self.access, request.method());
            let operator = access.authenticate_operator(&settings, peer, method, headers);
            operator.map_or_else(Sender::NoOperator, |(caller, pass)| {
                Sender::Operator(caller, pass)
            })
        } else {
            Sender::Anybody
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
