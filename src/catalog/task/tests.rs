use std::time::Duration;

use serde_json::json;

use super::*;
use crate::{
    catalog::{ApprovalRequest, Catalog, Listing, seen},
    trust::approvals::{self, Approval, ThingKind, Which},
    wire::{Raw, Revision},
};

fn name() -> ServerName {
    ServerName::parse("s").expect("a name")
}

fn listing() -> Listing {
    let tool = Raw::author(&json!({"name": "a", "inputSchema": {"type": "object"}}));
    Listing {
        initialize: Raw::empty_object(),
        revision: Revision::NEWEST_LEGACY,
        tools: vec![tool],
        prompts: vec![],
        resources: vec![],
        templates: vec![],
    }
}

fn listed() -> Arc<ServerCatalog> {
    Arc::new(ServerCatalog::ingest(&name(), "e", listing()))
}

/// Lists that come in the very moment of the shutdown, after this many turns of the saver: which part of the task is asked first changes with
/// each of them.
async fn lists_at_the_end(turns: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let (catalog, task) = Catalog::new(folder.path(), &[(name(), "e".to_owned())]);
    let shutdown = CancellationToken::new();
    let running = tokio::spawn(task.run(shutdown.clone()));
    for _ in 0..turns {
        catalog.note_habits(&name(), "e", crate::catalog::ServerHabits::default());
        tokio::task::yield_now().await;
    }
    let (done, published) = oneshot::channel();
    let server = listed();
    let command = CatalogCommand::Put { server, done };
    assert!(catalog.commands.try_send(command).is_ok(), "room");
    shutdown.cancel();
    running.await.expect("no panic");
    // The catalog is still there, and with it the table of what is to be saved.
    if let Ok(Some(saved)) = published.await {
        assert!(saved.await.is_ok_and(|saved| saved.is_ok()));
    }
    drop(catalog);
}

#[tokio::test]
async fn whoever_waits_for_the_disk_at_the_end_is_told() {
    for round in 0..60 {
        let told = lists_at_the_end(round % 6);
        let told = tokio::time::timeout(Duration::from_mins(1), told).await;
        assert!(told.is_ok(), "round {round}: nobody tells");
    }
}

#[tokio::test]
async fn of_a_server_that_was_taken_out_nothing_is_learnt_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let (catalog, task) = Catalog::new(folder.path(), &[(name(), "e".to_owned())]);
    let shutdown = CancellationToken::new();
    let running = tokio::spawn(task.run(shutdown.clone()));
    let put = async || {
        let (done, published) = oneshot::channel();
        let server = listed();
        let command = CatalogCommand::Put { server, done };
        assert!(catalog.commands.send(command).await.is_ok(), "it runs");
        if let Some(saved) = published.await.expect("it runs") {
            saved.await.expect("told").expect("saved");
        }
    };
    put().await;
    assert!(!approvals::load(folder.path(), &name()).approved.is_empty());
    catalog.forget_approvals(name()).await;
    // What its worker still had under way.
    put().await;
    catalog.keep(vec![]).await;
    put().await;
    assert!(!catalog.snapshot().servers.contains_key("s"));
    shutdown.cancel();
    running.await.expect("no panic");
    assert!(approvals::load(folder.path(), &name()).approved.is_empty());
}

#[tokio::test]
async fn tools_are_indexed_once_somebody_is_going_to_search() {
    for is_wanted in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let (catalog, task) = Catalog::new(folder.path(), &[(name(), "e".to_owned())]);
        let shutdown = CancellationToken::new();
        let running = tokio::spawn(task.run(shutdown.clone()));
        let known = catalog.put(&name(), "e", listing()).await;
        assert!(known.is_some(), "it runs");
        if is_wanted {
            catalog.index_first().await;
        }
        shutdown.cancel();
        running.await.expect("no panic");
        let searcher = catalog.searcher();
        let is_indexed = Arc::ptr_eq(searcher.snapshot(), &catalog.snapshot());
        assert_eq!(is_indexed, is_wanted);
    }
}

#[tokio::test]
async fn an_approval_is_in_force_only_once_it_is_saved() {
    let folder = tempfile::tempdir().expect("a folder");
    let (catalog, task) = Catalog::new(folder.path(), &[(name(), "e".to_owned())]);
    let shutdown = CancellationToken::new();
    let running = tokio::spawn(task.run(shutdown.clone()));
    let known = catalog.put(&name(), "e", listing()).await;
    assert!(known.is_some(), "it runs");
    let changed = json!({"name": "a", "inputSchema": {"type": "object", "required": ["x"]}});
    let tools = vec![Raw::author(&changed)];
    let listing = Listing { tools, ..listing() };
    let changed = catalog.put(&name(), "e", listing).await.expect("it runs");
    let approve = async || {
        let request = ApprovalRequest {
            server: name(),
            entry: "e".to_owned(),
            as_written: String::new(),
            seen: seen("e", "", Some(&changed)),
            approval: Approval {
                which: Which::All,
                by: "me".to_owned(),
                at: 0,
            },
        };
        let approved = catalog.approve(request).await;
        let is_held = catalog.snapshot().hides("s", ThingKind::Tool, "a");
        (approved.map_err(|failure| failure.error), is_held)
    };
    let place = folder.path().join("approvals");
    std::fs::remove_dir_all(&place).expect("ours");
    std::fs::write(&place, "in the way").expect("ours");
    let (refused, is_held) = approve().await;
    let (error, file) = (refused.expect_err("no folder"), place.display());
    let expected = format!("nothing was approved: failed to write {file}: it is not a folder");
    assert_eq!((error, is_held), (expected, true));
    std::fs::remove_file(&place).expect("ours");
    let (approved, is_held) = approve().await;
    assert!(approved.is_ok() && !is_held);
    shutdown.cancel();
    running.await.expect("no panic");
}
