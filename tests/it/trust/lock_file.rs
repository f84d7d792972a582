//! `mcp.lock.json`: exported, and served.

use serde_json::Value;

use super::{held, saying};
use crate::support::{
    behaviours::*,
    daemon::TestDaemon,
    fake_upstream::{FakeUpstream, plain_tool},
    patience::until_async,
};

#[tokio::test]
async fn exactly_what_the_file_has_is_accepted() {
    let server = FakeUpstream::stdio()
        .capabilities(r#"{"tools":{"listChanged":true}}"#)
        .tool("echo", echo())
        .tool("wave", echo())
        .start()
        .await;
    let daemon = TestDaemon::builder()
        .upstream_with(
            "up",
            &server,
            serde_json::json!({ "tool_changes": "allow" }),
        )
        .start()
        .await;
    daemon
        .client("/mcp/all")
        .await
        .wait_for_tool("up__wave")
        .await;
    let lock = daemon.home().data_dir().join("mcp.lock.json");
    let file = lock.to_str().expect("text");
    let (code, _, said) = daemon.home().cli(&["upstream", "lock", file]).await;
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("2 tools of 1 server"), "{said}");
    assert!(said.contains(&format!("serve --locked {file}")), "{said}");
    let first = std::fs::read_to_string(&lock).expect("there");
    let written: Value = serde_json::from_str(&first).expect("JSON");
    let tools = written["tools"].as_array().expect("a list");
    let named: Vec<_> = tools.iter().map(|tool| tool["tool"].as_str()).collect();
    assert_eq!(named, [Some("echo"), Some("wave")]);
    let home = daemon.shutdown().await;
    let (_, again, _) = home.cli(&["upstream", "lock"]).await;
    assert_eq!(again, first, "without a daemon it says the same");

    server
        .offer_silently(&[
            (saying("echo", "Other words"), echo()),
            (plain_tool("wave"), echo()),
            (plain_tool("late"), echo()),
        ])
        .await;
    let daemon = TestDaemon::start_locked(home, &lock).await;
    let client = daemon.client("/mcp/all").await;
    assert!(client.call("up__wave", "{}").await.frame.contains("result"));
    until_async("what is not in the file to be held", async || {
        (client.tool_names().await == ["up__wave"]).then_some(())
    })
    .await;
    for tool in ["up__echo", "up__late"] {
        let failure = client.call(tool, "{}").await.failure();
        assert_eq!(failure["code"], "tool_held", "{tool}");
        let error = failure["error"].as_str().expect("an error");
        assert!(error.contains("not in the lock file"), "{error}");
    }
    let unknown = client
        .call("call_tool_read", r#"{"name":"up:unheard"}"#)
        .await;
    assert_eq!(unknown.failure()["code"], "unknown_tool");
    let (code, _, said) = daemon
        .home()
        .cli(&["upstream", "approve", "up", "--all"])
        .await;
    assert_eq!(code, 4, "{said}");
    assert_eq!(held(&daemon, "up").await.len(), 2);
    let (_, said, _) = daemon.home().cli(&["upstream", "inspect", "up"]).await;
    assert!(
        !said.contains("upstream approve") && said.contains("start it without --locked"),
        "{said}"
    );
    let (_, status, _) = daemon.home().cli(&["status"]).await;
    assert!(
        status.contains("lock file") && status.contains(file),
        "{status}"
    );
}

#[tokio::test]
async fn a_broken_one_refuses_to_start() {
    let server = FakeUpstream::stdio().tool("echo", echo()).start().await;
    let home = TestDaemon::builder().upstream("up", &server).home();
    let lock = home.data_dir().with_extension("lock.json");
    let file = lock.to_str().expect("text");
    for broken in ["", "{}", r#"{"version":9,"tools":[]}"#] {
        std::fs::write(&lock, broken).expect("written");
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--locked", file];
        let (code, _, said) = home.cli(&arguments).await;
        assert_eq!(code, 1, "{said}");
        assert!(
            said.contains("the lock file") && said.contains(file),
            "{said}"
        );
    }
    std::fs::remove_file(&lock).expect("removed");
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--locked", file];
    let (code, _, said) = home.cli(&arguments).await;
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("mcpproxy upstream lock"), "{said}");
    assert_eq!(server.spawn_count(), 0);
}
