//! `/api/v1/servers/NAME/login` and `…/logout`: a person logs in to a server. Tokens never pass here.

use axum::extract::{Path, State, rejection::BytesRejection};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Answer, Api, Params, Route, Routes,
    clients::body_or_default,
    ok,
    routes::{CHANGE, CONTACT},
    servers::WaitQuery,
    wrong,
};
use crate::management::{LoginProgress, LoginStarted, ServerChange};

pub(super) fn routes() -> Routes {
    vec![
        Route::post("/api/v1/servers/{name}/login", login)
            .about(
                "logIn",
                "Begins a login to a server, or completes one with the browser's final URL.",
            )
            .may_take::<LoginBody>()
            .gives::<LoginStarted>()
            .gives::<LoginProgress>()
            .fails(CONTACT),
        Route::get("/api/v1/servers/{name}/login", progress)
            .about(
                "loginProgress",
                "The state of the latest login; with `wait`, answers when the login ends.",
            )
            .asks::<WaitQuery>()
            .gives::<LoginProgress>()
            .fails(CONTACT),
        Route::post("/api/v1/servers/{name}/logout", logout)
            .about(
                "logOut",
                "Deletes mcpproxy's login to a server and closes its connections.",
            )
            .gives::<ServerChange>()
            .fails(CHANGE),
    ]
}

/// The end of a login.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LoginBody {
    /// The browser's final URL, which completes the login.
    redirect_url: Option<String>,
}

/// Begins a login, or ends the one under way with a pasted address.
async fn login(
    State(api): State<Api>,
    Path(name): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Answer {
    // The parser's own words may repeat the address.
    let body: LoginBody = body_or_default(body)
        .map_err(|_| wrong("the body must be empty or {\"redirect_url\": \"URL\"}"))?;
    let management = &api.0.management;
    match body.redirect_url {
        Some(address) => ok(&management.finish_login(&name, &address).await?),
        None => ok(&management.begin_login(&name).await?),
    }
}

async fn progress(
    State(api): State<Api>,
    Path(name): Path<String>,
    Params(query): Params<WaitQuery>,
) -> Answer {
    let progress = api.0.management.login_progress(&name, query.patience());
    ok(&progress.await?)
}

async fn logout(State(api): State<Api>, Path(name): Path<String>) -> Answer {
    ok(&api.0.management.log_out(&name)?)
}
