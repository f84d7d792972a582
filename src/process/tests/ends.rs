//! However a child ends, nothing of its group is left.

use std::time::{Duration, Instant};

use super::{DEADLINE, Ground, eventually, is_running, shell};
use crate::process::{Exit, Grace};

/// Starts a background process, prints its id, and ends with its input.
const WITH_GRANDCHILD: &str = "sleep 1000 & echo $!; cat";

/// Ignores SIGTERM and the end of its input, and so does its child.
const STUBBORN: &str = "trap '' TERM; sleep 1000 & echo $!; while :; do sleep 1000; done";

const HURRY: Grace = Grace {
    after_eof: Duration::from_millis(50),
    after_term: Duration::from_millis(50),
};

#[tokio::test]
async fn a_grandchild_in_the_background_is_gone_after_stop() {
    let ground = Ground::new();
    let mut child = ground.sh(WITH_GRANDCHILD);
    let grandchild = child.pid().await;
    let pid = child.process.pid();
    let exited = child.process.exited();
    drop(child.stdin);
    let begun = Instant::now();
    child.process.stop(Grace::default()).await;
    assert!(!is_running(grandchild) && !is_running(pid));
    assert_eq!(exited.await, Exit::Code(0));
    assert_eq!(ground.entries(), 0);
    // It goes at SIGTERM and does not wait for the rest of the grace.
    assert!(begun.elapsed() < Duration::from_secs(3));
}

/// Starts a process in a session of its own, as browsers are, and prints its id.
#[cfg(target_os = "linux")]
const WITH_SESSION: &str = "setsid sh -c 'echo $$; exec sleep 1000' & ";

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_grandchild_in_a_session_of_its_own_is_gone_after_stop() {
    let ground = Ground::new();
    for rest in ["exec cat", "trap '' TERM; while :; do sleep 1000; done"] {
        let mut child = ground.sh(&format!("{WITH_SESSION}{rest}"));
        let grandchild = child.pid().await;
        drop(child.stdin);
        child.process.stop(HURRY).await;
        assert!(!is_running(grandchild), "{rest}");
        assert_eq!(ground.entries(), 0);
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_grandchild_in_a_session_of_its_own_goes_with_a_crashed_child() {
    let ground = Ground::new();
    let mut child = ground.sh(&format!("{WITH_SESSION} read line; exit 3"));
    let grandchild = child.pid().await;
    drop(child.stdin);
    assert_eq!(child.process.exited().await, Exit::Code(3));
    eventually("the grandchild is gone", || !is_running(grandchild)).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn dropping_a_process_kills_a_session_that_it_started() {
    let ground = Ground::new();
    let mut child = ground.sh(&format!("{WITH_SESSION} exec sleep 1000"));
    let grandchild = child.pid().await;
    drop(child.process);
    eventually("the grandchild is gone", || !is_running(grandchild)).await;
}

#[tokio::test]
async fn a_stubborn_child_is_killed_with_all_it_started() {
    let ground = Ground::new();
    let mut child = ground.sh(STUBBORN);
    let grandchild = child.pid().await;
    let exited = child.process.exited();
    drop(child.stdin);
    child.process.stop(HURRY).await;
    assert!(!is_running(grandchild));
    assert_eq!(exited.await.to_string(), "killed by signal 9");
    assert_eq!(ground.entries(), 0);
}

#[tokio::test]
async fn a_child_that_ignores_the_end_of_its_input_ends_at_sigterm() {
    let ground = Ground::new();
    let mut child = ground.sh("trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done");
    child.line().await;
    let exited = child.process.exited();
    child
        .process
        .stop(Grace {
            after_eof: Duration::from_millis(50),
            after_term: DEADLINE,
        })
        .await;
    assert_eq!(exited.await.to_string(), "exited with code 7");
}

#[tokio::test]
async fn a_server_behind_a_wrapper_that_dies_at_once_gets_the_rest_of_the_grace() {
    let ground = Ground::new();
    let mut launch = shell(
        r#"sh -c 'trap "sleep 0.2; touch done; exit" TERM; echo ready; while :; do sleep 0.01; done' & wait"#,
    );
    launch.cwd = Some(ground.folder.path().to_owned());
    let mut child = ground.start(&launch);
    child.line().await;
    child
        .process
        .stop(Grace {
            after_eof: Duration::ZERO,
            after_term: DEADLINE,
        })
        .await;
    assert!(ground.folder.path().join("done").exists());
}

#[tokio::test]
async fn what_a_crashed_child_started_goes_with_it() {
    let ground = Ground::new();
    let mut child = ground.sh("sleep 1000 & echo $!; exit 3");
    let grandchild = child.pid().await;
    assert_eq!(child.process.exited().await, Exit::Code(3));
    eventually("the grandchild is gone", || !is_running(grandchild)).await;
    eventually("the entry is cleared", || ground.entries() == 0).await;
    // Stopping what is gone already is fine, and everybody who asks learns how it ended.
    let exited = child.process.exited();
    child.process.stop(Grace::default()).await;
    assert_eq!(exited.await, Exit::Code(3));
}

#[tokio::test]
async fn dropping_a_process_kills_its_group() {
    let ground = Ground::new();
    let mut child = ground.sh(STUBBORN);
    let grandchild = child.pid().await;
    let pid = child.process.pid();
    let exited = child.process.exited();
    drop(child.process);
    assert_eq!(exited.await, Exit::Signal(9));
    eventually("the group is gone", || {
        !is_running(grandchild) && !is_running(pid)
    })
    .await;
    eventually("the entry is cleared", || ground.entries() == 0).await;
}

#[tokio::test]
async fn whoever_loses_patience_with_stop_kills_the_group_at_once() {
    let ground = Ground::new();
    let mut child = ground.sh(STUBBORN);
    let grandchild = child.pid().await;
    let patient = Grace {
        after_eof: DEADLINE * 10,
        after_term: DEADLINE * 10,
    };
    let stopping = child.process.stop(patient);
    tokio::time::timeout(Duration::from_millis(50), stopping)
        .await
        .expect_err("it is stubborn");
    eventually("the grandchild is gone", || !is_running(grandchild)).await;
    eventually("the entry is cleared", || ground.entries() == 0).await;
}

#[test]
fn a_runtime_that_ends_takes_its_children_along() {
    let ground = Ground::new();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (child, grandchild) = runtime.block_on(async {
        let mut child = ground.sh(STUBBORN);
        let grandchild = child.pid().await;
        (child, grandchild)
    });
    runtime.shutdown_background();
    let begun = Instant::now();
    while is_running(grandchild) || is_running(child.process.pid()) {
        assert!(begun.elapsed() < DEADLINE);
        std::thread::yield_now();
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nothing_stays_as_a_zombie_even_where_we_adopt_orphans() {
    use std::path::PathBuf;

    // As process 1 of a container does.
    let us = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(us)).expect("it is allowed to everybody");
    let ground = Ground::new();
    let mut child =
        ground.sh("sh -c 'sleep 1000 & echo $!'; setsid sh -c 'echo $$; exec sleep 1000' & cat");
    let pids = [child.pid().await, child.pid().await, child.process.pid()];
    child.process.stop(HURRY).await;
    for pid in pids {
        let entry = PathBuf::from(format!("/proc/{pid}"));
        eventually("it is reaped", || !entry.exists()).await;
    }
}
