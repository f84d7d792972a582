//! Logins to the web UI: an operator gets a link that works once, and a browser that opens it gets a session in a cookie. The page itself
//! is not served here.

use axum::{
    Extension, Router as HttpRouter,
    extract::{Query, State, rejection::QueryRejection},
    response::{IntoResponse, Response},
    routing::get,
};
use http::{HeaderMap, Method, StatusCode, header};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, Api, Route, Routes, ok};
use crate::{
    access::operators::{LINK_LIFETIME, OperatorPass},
    failure::{ErrorCode, Failure},
    management::PageLink,
    storage::in_words,
};

pub(super) fn routes() -> Routes {
    vec![
        Route::post("/api/v1/ui/links", new_link)
            .about(
                "newLoginLink",
                "Creates a link that logs a browser in to the web UI; it works once, within 2 minutes.",
            )
            .gives::<PageLink>()
            .fails(&[ErrorCode::PageNotServed]),
        Route::post("/api/v1/ui/logout", log_out)
            .about(
                "logOutOfPage",
                "Ends the login to the web UI whose cookie the request sends.",
            )
            .gives::<LoggedOut>(),
    ]
}

/// Whether a login has ended.
#[derive(Serialize, JsonSchema)]
struct LoggedOut {
    /// False if the request had no login.
    ended: bool,
}

pub(super) fn page_routes() -> HttpRouter<Api> {
    HttpRouter::new().route("/ui/login", get(log_in))
}

async fn new_link(State(api): State<Api>) -> Answer {
    let Some(base) = api.0.location.page_base() else {
        let error = "there is no web UI: this daemon listens on its local socket only";
        let hint = "If another program uses the address in `listen`, stop it, then run `mcpproxy restart`.";
        return Err(Failure::new(ErrorCode::PageNotServed, error, hint).into());
    };
    let token = api.0.access.operators().new_link();
    let token = token.map_err(|error| {
        let error = format!("no login link was created: {}", in_words(&error));
        Failure::new(ErrorCode::Internal, error, "Try again.")
    })?;
    ok(&PageLink {
        url: format!("{base}/ui/login?token={}", token.reveal()),
        expires_in_seconds: LINK_LIFETIME.as_secs(),
    })
}

/// Ends the session of the request's cookie. A request with a key has none.
async fn log_out(
    State(api): State<Api>,
    Extension(pass): Extension<OperatorPass>,
    headers: HeaderMap,
) -> Answer {
    let removal = api.0.access.operators().log_out(pass, &headers);
    api.0.access.keep_logins().await;
    let ended = removal.is_some();
    let cookie = removal.map(|cookie| [(header::SET_COOKIE, cookie)]);
    Ok((cookie, ok(&LoggedOut { ended })?).into_response())
}

#[derive(Deserialize)]
struct LoginQuery {
    token: String,
}

/// The path of the page.
const PAGE: &str = "/ui/";

/// The text for a person whose link does not work.
const NO_LOGIN: &str = "Not logged in: this link was used already, or is older than 2 minutes.\nRun `mcpproxy ui` on the daemon's machine to log in.\n";

/// Opens a session for a browser that follows a link.
async fn log_in(
    State(api): State<Api>,
    method: Method,
    headers: HeaderMap,
    query: Result<Query<LoginQuery>, QueryRejection>,
) -> Response {
    // A request for the head alone, such as that of a link checker, must not use the link up.
    let token = query.ok().filter(|_| method == Method::GET);
    let token = token.map(|Query(query)| query.token);
    let access = &api.0.access;
    let opened = token.map(|token| {
        let settings = access.settings();
        access.operators().log_in(&token, &settings, &headers)
    });
    access.keep_logins().await;
    match opened.transpose() {
        Ok(Some(Some(cookie))) => {
            tracing::info!("login to the web UI");
            let login = [(header::SET_COOKIE, cookie)];
            let page = [(header::LOCATION, PAGE)];
            (login, page, text(StatusCode::SEE_OTHER, "")).into_response()
        }
        Ok(_) => text(StatusCode::UNAUTHORIZED, NO_LOGIN),
        Err(error) => {
            tracing::error!(%error, "no login to the web UI possible");
            text(StatusCode::INTERNAL_SERVER_ERROR, "Login failed. Retry.\n")
        }
    }
}

/// A plain answer that is not cached, and whose address, which has the token, is not sent on as a referrer.
fn text(status: StatusCode, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'"),
    ];
    (status, headers, text).into_response()
}
