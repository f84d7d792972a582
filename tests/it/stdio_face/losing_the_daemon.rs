//! A daemon that goes away while clients are attached.

use super::{BRIDGE, builder, daemon_pid, opened, until_ended};
use crate::support::prelude::*;

fn kill(pid: u32) {
    let pid = i32::try_from(pid).expect("a pid");
    let pid = rustix::process::Pid::from_raw(pid).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it runs");
}

#[tokio::test]
async fn a_killed_daemon_costs_the_calls_in_flight_and_nothing_else() {
    let upstream = FakeUpstream::stdio()
        .tool("slow", hang())
        .tool("echo", echo())
        .await;
    let home = builder(&upstream).home();
    let mut client = opened(&home, BRIDGE).await;
    client.wait_for_tool("up__echo").await;
    let slow = client.ask_to_call("up__slow").await;
    upstream.wait_for("tools/call").await;
    client.notices.clear();
    let killed = daemon_pid(&home).await;
    kill(killed);

    let error = client.answer(&slow).await.error_value();
    assert_eq!(error["data"]["code"], "connection_lost", "{error}");
    let echoed = client.call("up__echo", r#"{"a":1}"#).await;
    assert_eq!(echoed.value()["structuredContent"]["a"], 1);
    assert_ne!(daemon_pid(&home).await, killed);
    for list in ["tools", "prompts", "resources"] {
        client
            .notice(&format!("notifications/{list}/list_changed"))
            .await;
    }
    // The new daemon knows what was agreed: it tells of changes.
    let new = plain_tool("new");
    client.notices.clear();
    upstream.offer(&[(new, echo())]).await;
    client.notice("notifications/tools/list_changed").await;
    client.wait_for_tool("up__new").await;
    // It goes after the last, as the first would have.
    let background = daemon_pid(&home).await;
    assert!(client.leave().await.success());
    until_ended(background).await;
}

#[tokio::test]
async fn what_the_client_wants_to_be_told_survives_its_daemon() {
    let line = |level: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"{level}","data":"x"}}}}"#
        )
    };
    let spoken = notice(line("info")).then(notice(line("error")));
    let upstream = FakeUpstream::http()
        .answering(HttpAnswers::Sse)
        .tool("talk", spoken.then(reply_text("done")))
        .resource(r#"{"uri":"lib://note","name":"n"}"#, reply("{}"))
        .await;
    let home = builder(&upstream).home();
    let mut client = opened(&home, BRIDGE).await;
    client.wait_for_tool("up__talk").await;
    let note = r#"{"uri":"lib://note"}"#;
    client.request("resources/subscribe", note).await.result();
    let level = r#"{"level":"warning"}"#;
    client.request("logging/setLevel", level).await.result();
    // A daemon that knows the resource finds whose it is.
    let lists = home.data_dir().join("catalog/up.json");
    until!(lists.exists());
    kill(daemon_pid(&home).await);

    client.wait_for_tool("up__talk").await;
    upstream.wait_for_count("resources/subscribe", 2).await;
    client.notices.clear();
    assert_eq!(client.call("up__talk", "{}").await.text(), "done");
    let logged = client.notice("notifications/message").await;
    assert_eq!(logged, line("error"), "from its level on");
    let updated = r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"lib://note"}}"#;
    upstream.push(updated).await;
    let told = client.notice("notifications/resources/updated").await;
    assert_eq!(told, updated);
    assert!(client.leave().await.success());
}

#[tokio::test]
async fn every_client_of_a_killed_daemon_finds_the_same_new_one() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let home = builder(&upstream).home();
    let mut clients = Vec::new();
    for _ in 0..5 {
        let mut client = opened(&home, BRIDGE).await;
        client.wait_for_tool("up__echo").await;
        clients.push(client);
    }
    let first = upstream.alive();
    kill(daemon_pid(&home).await);
    let mut ids = Vec::new();
    for client in &mut clients {
        ids.push(client.ask_to_call("up__echo").await);
    }
    for (client, id) in clients.iter_mut().zip(ids) {
        // A call that was sent before the end was noticed is lost, and says so.
        let answer = client.answer(&id).await;
        if answer.frame.contains("connection_lost") {
            client.call("up__echo", "{}").await.result();
        }
    }
    assert_eq!(upstream.spawn_count(), 2);
    until!(!first.iter().any(|pid| processes::runs(*pid)));
}

#[tokio::test]
async fn a_list_that_was_asked_for_is_asked_for_again() {
    let upstream = FakeUpstream::stdio().on("initialize", hang()).await;
    let home = builder(&upstream).home();
    let mut client = opened(&home, BRIDGE).await;
    // The first list waits for the upstream's first discovery.
    let list = client.ask("tools/list", "{}").await;
    upstream.wait_for("initialize").await;
    kill(daemon_pid(&home).await);
    client.answer(&list).await.result();
}

#[tokio::test]
async fn a_daemon_that_ends_in_order_answers_first() {
    let upstream = FakeUpstream::stdio()
        .tool("late", gate("go").then(reply_text("finished")))
        .await;
    let mut daemon = builder(&upstream).spawn().await;
    let mut client = opened(daemon.home(), BRIDGE).await;
    client.wait_for_tool("up__late").await;
    let late = client.ask_to_call("up__late").await;
    upstream.wait_for("tools/call").await;
    daemon.terminate();
    upstream.open("go").await;
    assert_eq!(client.answer(&late).await.text(), "finished");
    assert!(daemon.wait().await.success());

    // The next daemon of this folder is found, whoever starts it.
    let daemon = DaemonProcess::spawn_in(daemon.into_home()).await;
    assert_eq!(client.call("up__late", "{}").await.text(), "finished");
    assert_eq!(daemon_pid(daemon.home()).await, daemon.pid());
}
