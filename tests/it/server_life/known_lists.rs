//! The lists of the last run are read beside the first connections: nobody who only opens one waits for them.

use std::{fs, path::PathBuf, process::Command};

use crate::support::prelude::*;

/// The home of a daemon that knew a server, and the text of its lists, in whose place there is a pipe now: who reads it waits for a writer.
async fn kept_from_being_read() -> (Home, PathBuf, Vec<u8>) {
    let upstream = FakeUpstream::http().tool("echo", echo()).await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    daemon.client_of("up__echo").await;
    let home = daemon.shutdown().await;
    let file = home.data_dir().join("catalog/up.json");
    let lists = fs::read(&file).expect("they were saved");
    fs::remove_file(&file).expect("the folder is ours");
    let made = Command::new("mkfifo").arg(&file).status();
    assert!(made.expect("it is there").success());
    // Only the lists of the last run have its tool from now on.
    upstream.refuse_connections(true);
    (home, file, lists)
}

#[tokio::test]
async fn who_opens_a_connection_does_not_wait_for_known_lists_and_lists_do() {
    let (home, file, lists) = kept_from_being_read().await;
    let daemon = DaemonProcess::spawn_in(home).await;
    for path in ["/mcp", "/mcp/all"] {
        let client = daemon.client(path).await;
        assert_eq!(client.request("ping", "{}").await.result(), "{}");
    }
    let client = daemon.client("/mcp/all").await;
    let listing = async {
        let listed = client.request("tools/list", "{}").await;
        entries(listed.result(), "tools")
    };
    let search = r#"{"query":"echo"}"#;
    let finding = async { client.call("retrieve_tools", search).await.text() };
    let calling = client.call("up__echo", "{}");
    let writing = async {
        // A writer that can open it has a reader: the daemon is about to read.
        let written = tokio::task::spawn_blocking(move || fs::write(file, lists)).await;
        written.expect("no panic").expect("the daemon reads");
    };
    let (listed, found, called, ()) = tokio::join!(listing, finding, calling, writing);
    assert_eq!(listed.len(), 1, "{listed:?}");
    has!(listed[0], "up__echo");
    lacks!(found, "not known", "{found}");
    assert_eq!(called.failure()["code"], "server_unavailable");
}
