//! What the commands know of tools from the last lists, while no daemon runs.

use super::Place;
use crate::support::prelude::*;

#[tokio::test]
async fn a_definition_is_shown_as_it_was_listed_last() {
    let definition = r#"{"name":"now","inputSchema":{"type":"object","x":1.10}}"#;
    let server = FakeUpstream::stdio().raw_tool(definition, echo());
    let server = server.await;
    let daemon = TestDaemon::with_upstream(&server).await;
    until_async("the tool to be listed", async || {
        let tools = daemon.rest("GET", "/api/v1/tools", "").await.json();
        (tools["total"] == 1).then_some(())
    })
    .await;
    let place = Place {
        home: daemon.shutdown().await,
    };
    let shown = place.run(&["tools", "show", "up:now"]).ended(0).stdout;
    has!(shown, "\"x\": 1.10\n");
}
