//! What every request passes before a route answers it: the guard, and who asks. The caller is put into the request; whoever answers it
//! finds it there, and has no other way to one.
//!
//! Plain calls around the routes as a whole: a layer of the routes would clone and box them once more for each request.

use std::convert::Infallible;

use axum::{
    Router as HttpRouter,
    extract::Request,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};
use tower_service::Service;

use super::{
    guard::{self, Passed, RefusalLines},
    withdrawal::until_withdrawn,
};
use crate::{
    access::{Access, Caller, Peer, Refused},
    activity::Activity,
    api,
    inbound::{self, Presence},
};

/// The way in to some routes.
pub(super) struct Entrance {
    pub(super) routes: HttpRouter,
    pub(super) access: Access,
    pub(super) presence: Presence,
    pub(super) reach: Reach,
    pub(super) refusals: RefusalLines,
    pub(super) activity: Activity,
}

/// Who can come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Whoever reaches our address: the guard looks at every request, and paths of the operator's API are as unknown as any other.
    Network,
    /// The operator's own programs only.
    Local,
}

/// Whose request it is.
enum Sender {
    /// A client's.
    Client(Caller),
    /// The operator's.
    Operator(Caller),
    /// Nobody's that counts: of one who only looks whether we live, or asks for what is no endpoint.
    Nobody,
}

impl Entrance {
    /// Answers a request from this peer, or says why it is not let in.
    pub(super) async fn answer(&self, peer: Peer, mut request: Request) -> Response {
        let (origin, sender) = match self.look_at(peer, &request) {
            Ok(passed) => passed,
            Err(answered) => return answered,
        };
        let response = match sender {
            _ if says_too_large(&request) => too_large(request.uri().path()),
            Err(Refused::NotTheOperator) => {
                let refused = Refused::NotTheOperator.to_string();
                (StatusCode::FORBIDDEN, refused).into_response()
            }
            Err(refused) => {
                if let Some(times) = self.refusals.unknown.due() {
                    tracing::info!(%refused, times, "a request was refused: nobody knows whose it is");
                    let path = request.uri().path();
                    self.activity.note_unknown(path, refused.to_string(), times);
                }
                inbound::unauthorized(&refused)
            }
            Ok(Sender::Nobody) => self.routed(request).await,
            Ok(Sender::Operator(caller)) => {
                request.extensions_mut().insert(caller);
                // A request that is being answered is somebody who is there.
                let _present = self.presence.enter();
                self.routed(request).await
            }
            Ok(Sender::Client(caller)) => {
                request.extensions_mut().insert(caller.clone());
                let _present = self.presence.enter();
                until_withdrawn(self.routed(request).await, &self.access, caller)
            }
        };
        match origin {
            Some(origin) => guard::shared(response, &origin),
            None => response,
        }
    }

    /// The guard, and then who asks: over one state of the settings.
    #[expect(
        clippy::result_large_err,
        reason = "the error is the answer, made once"
    )]
    fn look_at(
        &self,
        peer: Peer,
        request: &Request,
    ) -> Result<(Option<HeaderValue>, Result<Sender, Refused>), Response> {
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
        let path = request.uri().path();
        let sender = if api::is_health(path) {
            Ok(Sender::Nobody)
        } else if self.reach == Reach::Local && api::is_operators(path) {
            let operator = self.access.authenticate_operator(peer);
            operator.map(Sender::Operator)
        } else if inbound::is_endpoint(path) {
            let caller = self.access.authenticate(&settings, request.headers(), peer);
            caller.map(Sender::Client)
        } else {
            Ok(Sender::Nobody)
        };
        Ok((origin, sender))
    }

    async fn routed(&self, request: Request) -> Response {
        let Ok(answer): Result<Response, Infallible> = self.routes.clone().call(request).await;
        answer
    }
}

/// Whether a request says of its body that it is too large: then none of it is read, and a client that waits to be told to go on
/// (`Expect: 100-continue`) sends none.
fn says_too_large(request: &Request) -> bool {
    let length = request.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    length.is_some_and(|length| length > inbound::LARGEST_BODY)
}

/// The connection ends with it: what comes next on it is the body.
fn too_large(path: &str) -> Response {
    let mut response = if api::is_operators(path) {
        api::too_large()
    } else {
        inbound::too_large()
    };
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(header::CONNECTION, close);
    response
}
