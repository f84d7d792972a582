//! What becomes of the log when its folder is removed, and when the disk is full.

use std::{fs, os::unix::fs::PermissionsExt};

use super::{FILE, upstream};
use crate::support::prelude::*;

/// How the log is.
async fn status(daemon: &DaemonProcess) -> Option<Value> {
    let answer = daemon.home().rest("GET", "/api/v1/status", "").await?;
    Some(answer.json()["activity"].clone())
}

#[tokio::test]
async fn a_data_folder_that_is_removed_is_noticed_and_made_again() {
    let upstream = upstream().await;
    let daemon = DaemonProcess::with_upstream(&upstream).await;
    let client = daemon.client_of("up__echo").await;
    client.call("up__echo", "{}").await.result();
    assert_eq!(daemon.home().activity("tool=echo").await.len(), 1);
    let folder = daemon.home().data_dir();
    let by_which_it_is_found = || {
        ["lock", "address", "session_key"].map(|file| fs::read_to_string(folder.join(file)).ok())
    };
    let before = by_which_it_is_found();
    assert!(before.iter().all(Option::is_some), "{before:?}");
    fs::remove_dir_all(&folder).expect("it is ours");
    client.call("up__echo", "{}").await.result();
    // The command line finds the daemon again, too.
    let status = until_async("the log to begin anew", async || {
        let status = status(&daemon).await?;
        status["begun_anew"].is_string().then_some(status)
    })
    .await;
    assert!(status["problem"].is_null(), "{status}");
    let mode = fs::metadata(&folder)
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
    assert!(folder.join(FILE).exists());
    client.call("up__echo", "{}").await.result();
    let found = daemon.home().activity("tool=echo").await;
    assert_eq!(found.len(), 2, "what came after it: {found:?}");
    let (code, shown, _) = daemon.home().cli(&["status"]).await;
    assert_eq!(code, 0);
    has!(shown, "a new log begins at");
    let log = daemon.log();
    let said = log.matches("activity log was removed").count();
    assert_eq!(said, 1, "{log}");
    has!(log, "the local socket was removed");
    until!(by_which_it_is_found() == before);
    let (ended, said) = daemon.spawn_rival().await;
    assert!(
        !ended.success() && said.contains("another daemon (pid"),
        "{said}"
    );
}

#[tokio::test]
async fn without_records_nothing_of_those_before_stays_on_disk() {
    let upstream = upstream().await;
    let with = |activity: Value| {
        let builder = TestDaemon::builder().upstream("up", &upstream);
        builder.config(json!({ "activity": activity }))
    };
    let daemon = with(json!({})).spawn().await;
    let client = daemon.client_of("up__echo").await;
    client.call("up__echo", "{}").await.result();
    assert_eq!(daemon.home().activity("tool=echo").await.len(), 1);
    let file = daemon.home().data_dir().join(FILE);
    assert!(file.exists());
    daemon
        .home()
        .write_config(with(json!({ "max_records": 0 })).text());
    until!(!file.exists());
    client.call("up__echo", "{}").await.result();
    let now = status(&daemon).await.expect("it is served");
    is_like!(now, { "records": 0, "problem": null });
    assert_eq!(daemon.home().activity("").await, [Value::Null; 0]);
    assert!(!file.exists());
    // What comes after that is kept again.
    daemon.home().write_config(with(json!({})).text());
    until_async("calls to be kept again", async || {
        client.call("up__echo", "{}").await.result();
        let found = daemon.home().activity("tool=echo").await;
        (!found.is_empty()).then_some(())
    })
    .await;
    // A daemon that starts so removes what an earlier one kept.
    let home = daemon.kill().await;
    home.write_config(with(json!({ "max_records": 0 })).text());
    assert!(file.exists());
    let _daemon = DaemonProcess::spawn_in(home).await;
    until!(!file.exists());
}

/// A file of the daemon may be so large, in blocks of 512 bytes.
#[cfg(target_os = "linux")]
const BLOCKS: u64 = 8 << 10;

#[cfg(target_os = "linux")]
#[tokio::test]
async fn where_the_file_cannot_grow_calls_go_on_and_what_is_missing_is_counted() {
    use rustix::process::{Pid, Resource, getrlimit, prlimit};

    let upstream = upstream().await;
    let daemon = TestDaemon::builder()
        .upstream("up", &upstream)
        .config(json!({ "activity": { "arguments": "full" } }))
        .spawn_under_ulimit(&format!("-S -f {BLOCKS}"))
        .await;
    let client = daemon.client_of("up__echo").await;
    let arguments = json!({ "a": "ab ".repeat(20_000), "b": "b" });
    let full = until_async("records to be counted only", async || {
        for _ in 0..20 {
            client.call("up__echo", &arguments).await.result();
        }
        let status = status(&daemon).await?;
        (status["not_kept"].as_u64() > Some(0)).then_some(status)
    })
    .await;
    let problem = full["problem"].as_str().expect("it is named");
    has!(problem, "cannot be written");
    let (_, shown, _) = daemon.home().cli(&["status"]).await;
    has!(shown, " not kept");
    has!(shown, "cannot be written");
    let health = http::send(daemon.address(), "GET", "/health", &[], "").await;
    let health = health.json();
    assert_eq!(health["status"], "degraded", "{health}");
    let (code, shown, _) = daemon.home().cli(&["doctor"]).await;
    assert_eq!(code, 1);
    has!(shown, "calls are not recorded");

    let pid = Pid::from_raw(daemon.pid().try_into().expect("a process id"));
    // As much as before.
    let room = getrlimit(Resource::Fsize);
    prlimit(pid, Resource::Fsize, room).expect("our own child");
    until_async("the log to recover", async || {
        client.call("up__echo", "{}").await.result();
        let status = status(&daemon).await?;
        status["problem"].is_null().then_some(())
    })
    .await;
    let gaps = daemon.home().activity("kind=gap").await;
    let missing = gaps.first().expect("a gap is recorded")["missing"].as_u64();
    assert!(missing >= full["not_kept"].as_u64(), "{gaps:?}");
    client.call("up__fail", "{}").await;
    assert_eq!(daemon.home().activity("tool=fail").await.len(), 1);
    let log = daemon.log();
    let lines = log.matches("calls are not recorded").count();
    assert!((1..=2).contains(&lines), "{log}");
}
