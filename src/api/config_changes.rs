//! Changes of the configuration: `PATCH /api/v1/config`, the history, and undoing a change.

use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Answer, Json, Route, Routes, Verbs, blocking, config_warnings::warn, ok};
use crate::{
    call_context::OpenSession,
    clients::{MovedServers, home_places, moved_here, our_address, put_back},
    config::ChangedValue,
    failure::{ErrorCode, Result},
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
    vec![
        Route::patch("/api/v1/config", patch::<V>)
            .about(
                "changeConfig",
                "Changes values of the configuration file, or shows what would change; keeps comments and order.",
            )
            .takes::<ConfigPatch>()
            .gives::<ConfigChange>()
            .fails(FAILURES)
            .undone("nothing was changed"),
        Route::get("/api/v1/config/history", show_history::<V>)
            .about(
                "configHistory",
                "The changes of the configuration file, of tokens and of approvals, latest first.",
            )
            .gives::<ConfigHistory>(),
        Route::post("/api/v1/config/undo", undo_change::<V>)
            .about(
                "undoConfig",
                "Undoes a change; servers that were moved out of clients' files are put back there.",
            )
            .takes::<UndoRequest>()
            .gives::<Undone>()
            .fails(UNDO_FAILURES)
            .undone("nothing was undone"),
    ]
}

async fn patch<V: Verbs>(State(verbs): State<V>, Json(patch): Json<ConfigPatch>) -> Answer {
    // Read before the change, which may end some.
    let open = verbs.open_sessions();
    let change = verbs.management().change_config(patch).await?;
    ok(&with_warnings(change, verbs, open).await?)
}

/// The change with its warnings. `open` are the sessions before it.
async fn with_warnings<V: Verbs>(
    mut change: ConfigChange,
    verbs: V,
    open: Vec<OpenSession>,
) -> Result<ConfigChange> {
    let warning = blocking(move || {
        warn(&mut change, &verbs, &open);
        change
    });
    warning.await
}

async fn show_history<V: Verbs>(State(verbs): State<V>) -> Answer {
    ok(&blocking(move || verbs.management().config_history()).await??)
}

/// The result of an undo.
#[derive(Serialize, JsonSchema)]
struct Undone {
    #[serde(flatten)]
    change: ConfigChange,
    /// The servers that were put back into clients' files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    put_back: Vec<MovedServers>,
}

/// Undoes a change. Servers that this removes and that were moved here go back into the clients' files, or they would be lost.
async fn undo_change<V: Verbs>(State(verbs): State<V>, Json(request): Json<UndoRequest>) -> Answer {
    let dry_run = request.dry_run;
    let at_hand = verbs.clone();
    let moved = blocking(move || {
        let files = at_hand.files();
        // Without a home there are no files of clients.
        let places = home_places(&files).ok()?;
        let us = our_address(&files, at_hand.location());
        // Where the configuration cannot be read, undoing says why.
        Some((moved_here(&files, &places, &us).ok()?, us))
    });
    let moved = moved.await?;
    let open = verbs.open_sessions();
    let change = verbs.management().undo_config(request).await?;
    let change = with_warnings(change, verbs, open).await?;
    let changes = change.changes.iter();
    let removed = changes.filter_map(ChangedValue::removed_server);
    let removed: Vec<String> = removed.map(str::to_owned).collect();
    let put_back = match moved {
        Some((moved, us)) if !removed.is_empty() => {
            blocking(move || put_back(&moved, &removed, &us, dry_run)).await?
        }
        _ => Vec::new(),
    };
    ok(&Undone { change, put_back })
}
