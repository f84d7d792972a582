//! `/api/v1/usage`: the usage of the last days, added up from the activity log.

use axum::extract::State;

use super::{About, Answer, Params, Routes, Verbs, ok};
use crate::activity::{UsageQuery, UsageReport};

pub(super) fn routes<V: Verbs>() -> Routes<V> {
    let about = About::new(
        "usage",
        "Usage over the last days: in total, by tool, server, caller and client, with the tokens that searching saved.",
    );
    Routes::new().get(
        "/api/v1/usage",
        usage::<V>,
        about.asks::<UsageQuery>().gives::<UsageReport>(),
    )
}

async fn usage<V: Verbs>(State(verbs): State<V>, Params(query): Params<UsageQuery>) -> Answer {
    ok(&verbs.management().usage(query).await?)
}
