//! `/api/v1/access`: checks whether a caller may use an item, and the callers to choose from.

use axum::extract::State;

use super::{Answer, Json, Route, Routes, Verbs, ok};
use crate::{
    failure::ErrorCode,
    management::{AccessQuestion, AccessVerdict, KnownCallers},
};

pub(super) fn routes<V: Verbs>() -> Routes<V> {
    vec![
        Route::post("/api/v1/access/check", check::<V>)
            .about(
                "checkAccess",
                "Checks whether a caller may use a tool, prompt or resource, and what decides; calls nothing.",
            )
            .takes::<AccessQuestion>()
            .gives::<AccessVerdict>()
            .fails(&[ErrorCode::UnknownProfile])
            .undone("nothing was checked"),
        Route::get("/api/v1/access/callers", callers::<V>)
            .about(
                "knownCallers",
                "The callers and roles in tokens and access rules, and the profiles.",
            )
            .gives::<KnownCallers>()
            .fails(&[ErrorCode::ConfigUnusable]),
    ]
}

async fn check<V: Verbs>(State(verbs): State<V>, Json(question): Json<AccessQuestion>) -> Answer {
    ok(&verbs.management().check_access(&question)?)
}

async fn callers<V: Verbs>(State(verbs): State<V>) -> Answer {
    ok(&verbs.management().known_callers()?)
}
