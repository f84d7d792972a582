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
use http::StatusCode;
use tower_service::Service;

use super::guard::{self, CurrentSettings, Passed, RefusalLines};
use crate::{
    access::{Access, Peer},
    api,
    inbound::Presence,
};

/// The way in to some routes.
pub(super) struct Entrance {
    pub(super) routes: HttpRouter,
    pub(super) access: Access,
    pub(super) presence: Presence,
    /// Whether the operator's API is among the routes; elsewhere its paths are as unknown as any other.
    pub(super) has_api: bool,
    /// For the guard; none where only the operator's own programs come in.
    pub(super) settings: Option<CurrentSettings>,
    pub(super) refusals: RefusalLines,
}

impl Entrance {
    /// Answers a request from this peer, or says why it is not let in.
    pub(super) async fn answer(&self, peer: Peer, mut request: Request) -> Response {
        let passed = match &self.settings {
            Some(settings) => guard::check(settings, &self.refusals, &request),
            None => Passed::In,
        };
        let origin = match passed {
            Passed::In => None,
            Passed::Shared(origin) => Some(origin),
            Passed::Answered(response) => return response,
        };
        let path = request.uri().path();
        let caller = if api::is_health(path) {
            // Whoever only looks whether we live is no client.
            Ok(None)
        } else if self.has_api && api::is_operators(path) {
            self.access.authenticate_operator(peer).map(Some)
        } else {
            let headers = request.headers();
            self.access.authenticate(headers, peer).map(Some)
        };
        let response = match caller {
            Ok(caller) => {
                // A request that is being answered is somebody who is there.
                let _present = caller.map(|caller| {
                    request.extensions_mut().insert(caller);
                    self.presence.enter()
                });
                let Ok(answer): Result<Response, Infallible> =
                    self.routes.clone().call(request).await;
                answer
            }
            Err(refused) => (StatusCode::FORBIDDEN, refused.to_string()).into_response(),
        };
        match origin {
            Some(origin) => guard::shared(response, &origin),
            None => response,
        }
    }
}
