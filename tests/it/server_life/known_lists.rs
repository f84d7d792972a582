//! The lists of the last run are read beside the first connections: who lists or searches waits for them.

use crate::support::prelude::*;

#[tokio::test]
async fn lists_and_searches_have_what_the_last_run_knew() {
    let upstream = FakeUpstream::http().tool("echo", echo()).await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    daemon.client_of("up__echo").await;
    let home = daemon.shutdown().await;
    // Only the lists of the last run have its tool from now on.
    upstream.refuse_connections(true);
    let daemon = DaemonProcess::spawn_in(home).await;
    let client = daemon.client("/mcp/all").await;
    let listing = async {
        let listed = client.request("tools/list", "{}").await;
        entries(listed.result(), "tools")
    };
    let search = r#"{"query":"echo"}"#;
    let finding = async { client.call("retrieve_tools", search).await.text() };
    let calling = client.call("up__echo", "{}");
    let (listed, found, called) = tokio::join!(listing, finding, calling);
    assert_eq!(listed.len(), 1, "{listed:?}");
    has!(listed[0], "up__echo");
    lacks!(found, "not known", "{found}");
    assert_eq!(called.failure()["code"], "server_unavailable");
}
