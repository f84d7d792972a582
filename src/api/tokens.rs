//! `/api/v1/tokens`: the tokens that a person issues to clients.

use axum::extract::{Path, State};

use super::{About, Answer, Json, Routes, Verbs, blocking, ok};
use crate::{
    failure::ErrorCode,
    management::{NewToken, NewlyIssued, TokenList, TokenRow},
};

pub(super) fn routes<V: Verbs>() -> Routes<V> {
    Routes::new()
        .get(
            "/api/v1/tokens",
            list::<V>,
            About::new("listTokens", "The issued tokens, with their last use.")
                .gives::<TokenList>(),
        )
        .post(
            "/api/v1/tokens",
            issue::<V>,
            About::new("issueToken", "Issues a token; only this answer shows it.")
                .takes::<NewToken>()
                .gives::<NewlyIssued>()
                .fails(&[ErrorCode::TokenExists]),
        )
        .delete(
            "/api/v1/tokens/{name}",
            revoke::<V>,
            About::new(
                "revokeToken",
                "Revokes a token at once, even in open sessions and streams.",
            )
            .gives::<TokenRow>()
            .fails(&[ErrorCode::UnknownToken])
            .undone("nothing was revoked"),
        )
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
