//! `PATCH /api/v1/config` and what belongs to it: values of the configuration file, their history, and undoing a change.

use axum::extract::{State, rejection::BytesRejection};
use bytes::Bytes;

use super::{
    Answer, blocking, ok, read_body,
    routes::{About, Routes},
    verbs::Verbs,
};
use crate::{
    failure::error_code::ErrorCode,
    management::{ConfigChange, ConfigHistory, ConfigPatch, UndoRequest},
};

const FAILURES: &[ErrorCode] = &[
    ErrorCode::UnknownServer,
    ErrorCode::ServerExists,
    ErrorCode::ConfigUnusable,
    ErrorCode::Overloaded,
];

const UNDO_FAILURES: &[ErrorCode] = &[
    ErrorCode::NotUndone,
    ErrorCode::ConfigUnusable,
    ErrorCode::Overloaded,
];

pub(super) fn routes<V: Verbs>() -> Routes<V> {
    let change = About::new(
        "changeConfig",
        "Changes values of the configuration file, or shows what would change; comments and order stay.",
    );
    let history = About::new(
        "configHistory",
        "Every change of the configuration file, the latest first.",
    );
    let undo = About::new("undoConfig", "Undoes a change of the configuration file.");
    Routes::new()
        .patch(
            "/api/v1/config",
            patch::<V>,
            change
                .takes::<ConfigPatch>()
                .gives::<ConfigChange>()
                .fails(FAILURES),
        )
        .get(
            "/api/v1/config/history",
            show_history::<V>,
            history.gives::<ConfigHistory>(),
        )
        .post(
            "/api/v1/config/undo",
            undo_change::<V>,
            undo.takes::<UndoRequest>()
                .gives::<ConfigChange>()
                .fails(UNDO_FAILURES),
        )
}

async fn patch<V: Verbs>(State(verbs): State<V>, body: Result<Bytes, BytesRejection>) -> Answer {
    let patch: ConfigPatch = read_body(body)?;
    ok(&verbs.management().change_config(patch).await?)
}

async fn show_history<V: Verbs>(State(verbs): State<V>) -> Answer {
    ok(&blocking(move || verbs.management().config_history()).await??)
}

async fn undo_change<V: Verbs>(
    State(verbs): State<V>,
    body: Result<Bytes, BytesRejection>,
) -> Answer {
    let request: UndoRequest = read_body(body)?;
    ok(&verbs.management().undo_config(request).await?)
}
