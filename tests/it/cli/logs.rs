//! What servers and the daemon in the background wrote: read from the files, followed, and gone with its server.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
};

use super::{Place, serving::Serving};
use crate::support::prelude::*;

/// A program that is ended with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const SERVERS: &str = r#"{ "mcpServers": {
    "a": { "command": "/bin/sh", "args": ["-c", "pwd >&2; echo --- started 2026-01-01T00:00:00Z --- >&2; echo said by a >&2; exit 3"] },
    "far": { "url": "http://127.0.0.1:1/mcp" }
} }"#;

#[tokio::test]
async fn logs_are_read_from_the_files_also_without_a_daemon() {
    let place = Place::configured(SERVERS);
    let logged = {
        let _daemon = Serving::start(&place);
        place.run(&["upstream", "restart", "a"]).ended(1);
        place
            .run(&["upstream", "logs", "far"])
            .ended(0)
            .says(&["far writes no log here", "`mcpproxy upstream show far`"]);
        until("the log to be written", || {
            let log = place.run(&["upstream", "logs", "a"]).ended(0).stdout;
            log.contains("said by a").then_some(log)
        })
        .await
    };
    // A process starts in the home folder unless its entry says otherwise.
    let home = place.folder().canonicalize().expect("it exists");
    has!(logged, home.to_str().expect("text"));
    assert!(logged.starts_with("--- started 20"), "{logged}");
    // What only looks like our line is told from it.
    let mut ours = logged
        .lines()
        .filter(|line| line.starts_with("--- started"));
    assert!(ours.all(|line| !line.contains("2026-01-01")), "{logged}");
    has!(logged, "\n\\--- started 2026-01-01");
    let alone = place.run(&["upstream", "logs", "a", "-n", "1"]).ended(0);
    assert_eq!(alone.stdout, "said by a\n");
    let _daemon = Serving::start(&place);
    place
        .run(&["upstream", "logs", "a"])
        .ended(0)
        .shows(&["said by a"]);
}

#[test]
fn a_log_is_followed_also_when_it_is_set_aside() {
    let place = Place::configured(SERVERS);
    let folder = place.home.data_dir().join("logs");
    std::fs::create_dir_all(&folder).expect("ours");
    let file = folder.join("server-a.log");
    std::fs::write(&file, "one\ntwo\n").expect("ours");
    let mut follower = place
        .command()
        .args(["upstream", "logs", "a", "-f", "-n", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let stdout = follower.stdout.take().expect("piped");
    let _follower = Running(follower);
    let mut lines = BufReader::new(stdout).lines();
    let mut next = || lines.next().expect("a line").expect("text");
    assert_eq!(next(), "two");
    let mut log = std::fs::File::options()
        .append(true)
        .open(&file)
        .expect("ours");
    log.write_all(b"three\n").expect("ours");
    assert_eq!(next(), "three");
    std::fs::rename(&file, folder.join("server-a.log.1")).expect("ours");
    log.write_all(b"four\n").expect("ours");
    std::fs::write(&file, "five\n").expect("ours");
    assert_eq!((next(), next()), ("four".to_owned(), "five".to_owned()));
    place
        .run(&["upstream", "logs", "a", "-f", "-o", "json"])
        .ended(2)
        .says(&["--follow does not go with -o json"]);
}

#[test]
fn following_ends_when_the_server_is_taken_out() {
    let place = Place::configured(SERVERS);
    let folder = place.home.data_dir().join("logs");
    std::fs::create_dir_all(&folder).expect("ours");
    std::fs::write(folder.join("server-a.log"), "one\n").expect("ours");
    let mut follower = place
        .command()
        .args(["upstream", "logs", "a", "-f"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let stdout = follower.stdout.take().expect("piped");
    let mut lines = BufReader::new(stdout).lines();
    assert_eq!(lines.next().expect("a line").expect("text"), "one");
    place.run(&["upstream", "remove", "a"]).ended(0);
    let ended = follower.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(0));
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    has!(said, "\"a\" was taken out of the configuration");
}

#[tokio::test]
async fn the_log_of_a_removed_server_goes_with_it() {
    let place = Place::configured(SERVERS);
    let file = place.home.data_dir().join("logs").join("server-a.log");
    {
        let _daemon = Serving::start(&place);
        let written = async || {
            place.run(&["upstream", "restart", "a"]).ended(1);
            until("the log", || file.exists().then_some(())).await;
        };
        written().await;
        place.run(&["upstream", "remove", "a"]).ended(0);
        until("the log to be gone", || (!file.exists()).then_some(())).await;
        std::fs::write(place.config_file(), SERVERS).expect("ours");
        until("the entry to be back", || {
            (place.run(&["upstream", "show", "a"]).code == 0).then_some(())
        })
        .await;
        written().await;
        std::fs::write(place.config_file(), r#"{ "mcpServers": {} }"#).expect("ours");
        until("the log to be gone", || (!file.exists()).then_some(())).await;
    }
    std::fs::write(place.config_file(), SERVERS).expect("ours");
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("ours");
    std::fs::write(&file, "old\n").expect("ours");
    place.run(&["upstream", "remove", "a"]).ended(0);
    assert!(!file.exists());
}

/// Runs what begins a daemon of this place, until that answers.
async fn with_daemon(place: &Place, command: &mut Command) -> Running {
    let begun = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let begun = Running(begun);
    until("the daemon", || {
        (place.run(&["status"]).code == 0).then_some(())
    })
    .await;
    begun
}

#[tokio::test]
async fn the_daemon_in_the_background_says_so_and_its_log_is_shown() {
    let place = Place::configured("{}");
    let _bridge = with_daemon(&place, place.command().arg("stdio")).await;
    place.run(&["status"]).ended(0).shows(&[
        "in the background until 10m after its last client",
        "daemon.log",
    ]);
    place.run(&["serve", "--port", "0"]).ended(1).says(&[
        "in the background for `mcpproxy stdio`",
        "daemon.log",
        "mcpproxy stop",
    ]);
    place.run(&["logs"]).ended(0).shows(&["mcpproxy is ready"]);
    place.run(&["stop"]).ended(0);
    place
        .run(&["logs", "-o", "json"])
        .ended(0)
        .shows(&["mcpproxy is ready"]);
}

#[tokio::test]
async fn the_log_file_that_a_daemon_was_told_is_shown() {
    let place = Place::configured("{}");
    let file = place.folder().join("told.log");
    let mut serve = place.command();
    serve
        .args(["serve", "--port", "0", "--log-file"])
        .arg(&file);
    let _daemon = with_daemon(&place, &mut serve).await;
    let shown = place.run(&["logs", "-o", "json"]).ended(0).json();
    assert_eq!(shown["file"], file.to_str().expect("text"), "{shown}");
    place.run(&["logs"]).ended(0).shows(&["mcpproxy is ready"]);
}

#[tokio::test]
async fn following_ends_when_nobody_reads_it_any_more() {
    let place = Place::configured(SERVERS);
    let folder = place.home.data_dir().join("logs");
    std::fs::create_dir_all(&folder).expect("ours");
    let file = folder.join("server-a.log");
    std::fs::write(&file, "one\n").expect("ours");
    let mut follower = place
        .command()
        .args(["upstream", "logs", "a", "-f"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut lines = BufReader::new(follower.stdout.take().expect("piped")).lines();
    assert_eq!(lines.next().expect("a line").expect("text"), "one");
    drop(lines);
    let mut follower = Running(follower);
    let mut log = std::fs::File::options()
        .append(true)
        .open(&file)
        .expect("ours");
    log.write_all(b"two\n").expect("ours");
    let ended = until("the program to end", || {
        follower.0.try_wait().expect("our child")
    })
    .await;
    assert_eq!(ended.code(), Some(0));
}
