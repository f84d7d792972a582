//! The configuration belongs to a person: nothing is written from a file that an accident has emptied, a save stays whoever writes at the
//! same time, and access control does not fall away without a restart.

use std::{
    fs,
    sync::atomic::{AtomicUsize, Ordering},
};

use futures_util::future::join_all;

use crate::support::prelude::*;

const TOKEN: &str = "token-of-ada-0123456789";

/// Ada alone may come in, one server is off, and one is held.
fn guarded() -> Builder {
    let tokens = json!({ TOKEN: "ada" });
    TestDaemon::builder()
        .config(json!({ "serverAuth": { "provider": "bearer", "bearer": { "tokens": tokens } } }))
        .entry("up", json!({ "command": "nothing-here", "enabled": false }))
        .entry(
            "held",
            json!({ "command": "nothing-here", "quarantined": true }),
        )
}

/// What a stranger gets.
async fn stranger(daemon: &TestDaemon) -> u16 {
    let to = daemon.address();
    http::send(to, "POST", "/mcp/all", &[JSON, BOTH], PING)
        .await
        .status
}

async fn config_error(daemon: &TestDaemon) -> Option<String> {
    let status = daemon.rest("GET", "/api/v1/status", "").await.json();
    status["config_error"].as_str().map(str::to_owned)
}

#[tokio::test]
async fn nothing_is_written_from_a_file_that_is_empty_or_gone() {
    let daemon = guarded().await;
    let file = daemon.home().config_file();
    let good = fs::read_to_string(&file).expect("it is there");
    let bearer = format!("Bearer {TOKEN}");
    let ada = TestClient::speaking("2025-06-18").showing("authorization", &bearer);
    let ada = ada.connect(&daemon, "/mcp").await;
    for text in [
        Some(""),
        Some(" \n\t\n"),
        Some("// a comment\n/* alone */"),
        None,
    ] {
        match text {
            Some(text) => fs::write(&file, text).expect("it is ours"),
            None => fs::remove_file(&file).expect("it is there"),
        }
        for arguments in [
            json!({ "operation": "add", "name": "n", "command": "/bin/true" }),
            json!({ "operation": "patch", "name": "up", "env": { "A": "b" } }),
            json!({ "operation": "enable", "name": "up" }),
            json!({ "operation": "remove", "name": "up" }),
        ] {
            let arguments = arguments.to_string();
            let failure = until_async("room for a change", async || {
                let failure = ada.call("upstream_servers", &arguments).await.failure();
                (failure["code"] != "overloaded").then_some(failure)
            })
            .await;
            assert_eq!(
                failure["code"], "config_unusable",
                "{text:?}: {arguments}: {failure}"
            );
        }
        let add = json!({ "name": "n", "command": "/bin/true" }).to_string();
        let inspected = daemon.rest("GET", "/api/v1/servers/held/inspect", "").await;
        let seen = &inspected.json()["seen"];
        let approval = json!({ "seen": seen, "all": true, "unseen": true, "by": "me" }).to_string();
        for (method, path, body) in [
            ("POST", "", &*add),
            ("PATCH", "/up", r#"{"env": {"A": "b"}}"#),
            ("POST", "/up/enable", ""),
            ("POST", "/up/quarantine", ""),
            ("POST", "/held/approve", &*approval),
            ("DELETE", "/up", ""),
        ] {
            let path = format!("/api/v1/servers{path}");
            let answer = daemon.rest(method, &path, body).await;
            let code = &answer.json()["code"];
            assert_eq!(
                code,
                "config_unusable",
                "{text:?}: {path}: {}",
                answer.text()
            );
        }
        until_async("the daemon to notice", async || config_error(&daemon).await).await;
        let setup = [
            "setup",
            "--import=none",
            "--connect=none",
            "--no-service",
            "--yes",
        ];
        let commands = [
            &["upstream", "add", "n", "--url", "http://127.0.0.1:9/mcp"][..],
            &["upstream", "remove", "up"],
            &setup,
        ];
        // There is nothing to be set up in a file that is there.
        let meant = if text.is_none() { 3 } else { 2 };
        for arguments in &commands[..meant] {
            let (code, _, said) = daemon.home().cli(arguments).await;
            let is_why = code == 1 && (said.contains("is gone") || said.contains("is empty"));
            assert!(is_why, "{text:?}: {arguments:?}: {said}");
        }
        assert_eq!(
            fs::read_to_string(&file).ok().as_deref(),
            text,
            "nothing is written"
        );
        assert_eq!(stranger(&daemon).await, 401, "{text:?}");
        // It is back, and everything is as before.
        fs::write(&file, &good).expect("it is ours");
        until!(config_error(&daemon).await.is_none());
    }
}

#[tokio::test]
async fn access_control_falls_away_with_a_restart_alone_and_not_by_an_accident() {
    let daemon = guarded().await;
    daemon.home().write_config("{}");
    let status = until_async(
        "the daemon to say that it waits for a restart",
        async || {
            let status = daemon.rest("GET", "/api/v1/status", "").await.json();
            (status["needs_restart"] == json!(["serverAuth"])).then_some(status)
        },
    )
    .await;
    let warnings = status["warnings"].to_string();
    has!(warnings, "`serverAuth` was changed");
    assert_eq!(
        stranger(&daemon).await,
        401,
        "it is in force until a restart"
    );

    let home = daemon.shutdown().await;
    for text in ["", "// nothing\n"] {
        home.write_config(text);
        let (code, _, said) = home.cli(&["serve", "--listen", "127.0.0.1:0"]).await;
        assert_eq!(code, 1, "{said}");
        has!(said, "had `serverAuth`");
        has!(said, "`{}`");
        let add = ["upstream", "add", "n", "--url", "http://127.0.0.1:9/mcp"];
        let (code, _, said) = home.cli(&add).await;
        assert!(code == 1 && said.contains("is empty"), "{said}");
    }
    home.write_config("{}");
    let daemon = TestDaemon::start_in(home).await;
    assert_eq!(stranger(&daemon).await, 200, "a person has said so");
    let home = daemon.shutdown().await;
    home.write_config("");
    TestDaemon::start_in(home).await;
}

/// Limit: each waits for a handful of writes to the disk.
const SAVES: usize = 150;

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_saves_stays_while_others_change_the_file() {
    let daemon = TestDaemon::builder()
        .entry("up", json!({ "command": "nothing-here", "enabled": false }))
        .await;
    let file = daemon.home().config_file();
    let good = fs::read_to_string(&file).expect("it is there");
    let (ended, is_over) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let patching = join_all((0..3).map(|client| {
        let (daemon, ended, is_over) = (&daemon, &ended, &is_over);
        async move {
            let mut done = 0;
            while is_over.load(Ordering::Relaxed) == 0 {
                let n = ended.fetch_add(1, Ordering::Relaxed);
                let body = json!({ "env": { format!("V{client}"): n.to_string() } });
                let path = "/api/v1/servers/up";
                let answer = daemon.rest("PATCH", path, &body.to_string()).await;
                done += usize::from(answer.status == 200);
            }
            done
        }
    }));
    let saving = async {
        let next = file.with_extension("next");
        for n in 0..SAVES {
            let mark = format!("// save {n}\n");
            let text = format!("{mark}{good}");
            if n % 2 == 0 {
                fs::write(&next, text).expect("it is ours");
                fs::rename(&next, &file).expect("it is ours");
            } else {
                fs::write(&file, text).expect("it is ours");
            }
            // Those under way have ended then, and one that began later.
            let later = ended.load(Ordering::Relaxed) + 5;
            until!(ended.load(Ordering::Relaxed) >= later);
            let found = fs::read_to_string(&file).expect("it is there");
            assert!(found.contains(&mark), "{n}: {found}");
        }
        is_over.store(1, Ordering::Relaxed);
    };
    let (patched, ()) = tokio::join!(patching, saving);
    assert!(patched.iter().sum::<usize>() > SAVES, "{patched:?}");
}

#[tokio::test]
async fn agents_change_the_file_a_few_times_a_second() {
    let daemon = TestDaemon::builder()
        .entry("up", json!({ "command": "nothing-here", "enabled": false }))
        .await;
    let client = daemon.client("/mcp").await;
    let patch = json!({ "operation": "patch", "name": "up", "idle_timeout": "2m" });
    let calls = (0..50).map(|_| client.call("upstream_servers", &patch));
    let replies = join_all(calls).await;
    let failures: Vec<Value> = replies
        .iter()
        .filter(|reply| reply.value()["isError"] == true)
        .map(Reply::failure)
        .collect();
    assert!((10..50).contains(&failures.len()), "{failures:?}");
    for failure in failures {
        assert_eq!(failure["code"], "overloaded", "{failure}");
        has!(failure["hint"], "Try again");
    }
    until_async("there to be room again", async || {
        let reply = client.call("upstream_servers", &patch).await;
        (reply.value()["isError"] != true).then_some(())
    })
    .await;
}
