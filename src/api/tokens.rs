//! `/api/v1/tokens`: the tokens that a person issues to clients.

use axum::extract::{Path, State};

use super::{Answer, Json, Route, Routes, Verbs, blocking, ok};
use crate::{
    failure::ErrorCode,
    management::{NewToken, NewlyIssued, TokenList, TokenRow},
};

pub(super) fn routes<V: Verbs>() -> Routes<V> {
    vec![
        Route::get("/api/v1/tokens", list::<V>)
            .about("listTokens", "The issued tokens, with their last use.")
            .gives::<TokenList>(),
        Route::post("/api/v1/tokens", issue::<V>)
            .about("issueToken", "Issues a token; only this answer shows it.")
            .takes::<NewToken>()
            .gives::<NewlyIssued>()
            .fails(&[ErrorCode::TokenExists]),
        Route::delete("/api/v1/tokens/{name}", revoke::<V>)
            .about(
                "revokeToken",
                "Revokes a token at once, even in open sessions and streams.",
            )
            .gives::<TokenRow>()
            .fails(&[ErrorCode::UnknownToken])
            .undone("nothing was revoked"),
    ]
}

async fn list<V: Verbs>(State(verbs): State<V>) -> Answer {
    let listing = move || verbs.management().tokens(verbs.token_uses());
    ok(&blocking(listing).await??)
}

async fn issue<V: Verbs>(State(verbs): State<V>, Json(new): Json<NewToken>) -> Answer {
    let listening = verbs.location().and_then(|it| it.listen.first());
    ok(&verbs.management().issue_token(new, listening).await?)
}

async fn revoke<V: Verbs>(State(verbs): State<V>, Path(name): Path<String>) -> Answer {
    ok(&verbs.management().revoke_token(&name).await?)
}
