//! `/api/v1/access/check`: why somebody may or may not have something.

use axum::extract::{State, rejection::BytesRejection};
use bytes::Bytes;

use super::{
    Answer, Api, ok, read_body,
    routes::{About, Routes},
};
use crate::{
    error_code::ErrorCode,
    management::{AccessQuestion, AccessVerdict},
};

pub(super) fn routes() -> Routes {
    let about = About::new(
        "checkAccess",
        "Says whether somebody may have something, and which rule or guard says so; nothing is called.",
    );
    let about = about
        .takes::<AccessQuestion>()
        .gives::<AccessVerdict>()
        .fails(&[ErrorCode::UnknownProfile]);
    Routes::new().post("/api/v1/access/check", check, about)
}

async fn check(State(api): State<Api>, body: Result<Bytes, BytesRejection>) -> Answer {
    let question: AccessQuestion = read_body(body)?;
    ok(&api.0.management.check_access(&question)?)
}
