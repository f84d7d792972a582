//! `/api/v1/usage`: the usage of the last days, added up from the activity log.

use axum::extract::State;

use super::{Answer, Params, Route, Routes, Verbs, ok};
use crate::activity::{UsageQuery, UsageReport};

pub(super) fn routes<V: Verbs>() -> Routes<V> {
    vec![
        Route::get("/api/v1/usage", usage::<V>)
            .about(
                "usage",
                "Usage over the last days: in total, by tool, server, caller and client, with the tokens that searching saved.",
            )
            .asks::<UsageQuery>()
            .gives::<UsageReport>(),
    ]
}

async fn usage<V: Verbs>(State(verbs): State<V>, Params(query): Params<UsageQuery>) -> Answer {
    ok(&verbs.management().usage(query).await?)
}
