//! Who may use the tool, and which servers are there for whom.

use super::{done, refused, server};
use crate::support::prelude::*;

async fn as_subject(daemon: &TestDaemon, path: &str, token: &str) -> TestClient {
    let client =
        TestClient::speaking("2025-06-18").showing("authorization", &format!("Bearer {token}"));
    client.connect(daemon, path).await
}

#[tokio::test]
async fn management_says_what_agents_may_do() {
    for (management, listed) in [("full", true), ("read", true), ("off", false)] {
        let up = server().await;
        let daemon = TestDaemon::builder()
            .upstream("up", &up)
            .config(json!({ "management": management }))
            .await;
        let client = daemon.client("/mcp").await;
        let names = client.tool_names().await;
        assert_eq!(
            names.contains(&"upstream_servers".to_owned()),
            listed,
            "{management}"
        );
        for (operation, arguments) in [
            ("list", json!({})),
            ("tail_log", json!({ "name": "up" })),
            ("restart", json!({ "name": "up" })),
            ("add", json!({ "name": "new", "command": "none" })),
            ("patch", json!({ "name": "up", "env": { "A": "1" } })),
            ("update", json!({ "name": "up", "env": { "A": "2" } })),
            ("disable", json!({ "name": "up" })),
            ("enable", json!({ "name": "up" })),
            ("remove", json!({ "name": "up" })),
        ] {
            let mut arguments = arguments;
            arguments["operation"] = operation.into();
            let looks = ["list", "tail_log"].contains(&operation);
            if management == "full" || (management == "read" && looks) {
                done(&client, &arguments).await;
            } else {
                let failure = refused(&client, &arguments).await;
                assert_eq!(failure["code"], "access_denied", "{management} {operation}");
                has!(failure["error"], "`management`");
            }
        }
    }
}

#[tokio::test]
async fn a_server_that_is_not_for_the_caller_is_not_there() {
    let (mine, hidden) = (server().await, server().await);
    let auth = json!({
        "provider": "bearer",
        "bearer": { "tokens": { "token-of-ada-0123456789": "ada", "token-of-bob-0123456789": "bob" } },
        "acl": { "default": "allow", "rules": [
            { "subjects": ["ada"], "policy": "allow" },
            { "tools": ["hidden__*"], "policy": "deny" },
        ] },
    });
    let daemon = TestDaemon::builder()
        .upstream("mine", &mine)
        .upstream("hidden", &hidden)
        .config(json!({ "serverAuth": auth, "profiles": { "p": { "servers": ["mine"] } } }))
        .await;
    let ada = as_subject(&daemon, "/mcp", "token-of-ada-0123456789").await;
    let bob = as_subject(&daemon, "/mcp", "token-of-bob-0123456789").await;
    let names = async |client: &TestClient| -> Vec<Value> {
        let listed = done(client, &json!({ "operation": "list" })).await;
        let rows = listed["servers"].as_array().expect("rows").iter();
        rows.map(|row| row["name"].clone()).collect()
    };
    assert_eq!(names(&ada).await, ["hidden", "mine"]);
    assert_eq!(names(&bob).await, ["mine"]);
    let before = std::fs::read_to_string(daemon.home().config_file()).expect("the file");
    for operation in [
        "patch", "update", "remove", "enable", "disable", "restart", "tail_log",
    ] {
        let ask = async |name: &str| {
            let mut arguments = json!({ "operation": operation, "name": name });
            if ["patch", "update"].contains(&operation) {
                arguments["env"] = json!({ "A": "1" });
            }
            let mut failure = refused(&bob, &arguments).await;
            let error = failure["error"]
                .as_str()
                .expect("text")
                .replace(name, "NAME");
            failure["error"] = error.into();
            failure["server"] = Value::Null;
            failure
        };
        let hidden = ask("hidden").await;
        assert_eq!(hidden["code"], "unknown_server", "{operation}");
        assert_eq!(hidden, ask("nothere").await, "{operation}");
    }
    let add = json!({ "operation": "add", "name": "hidden", "command": "none" });
    assert_eq!(refused(&bob, &add).await["code"], "access_denied");
    let log = json!({ "operation": "tail_log", "name": "mine" });
    let log = refused(&ada, &log).await;
    has!(log["error"], "other callers use it", "{log}");
    // A profile shows its servers only, whoever comes.
    let profile = as_subject(&daemon, "/mcp/p/p", "token-of-ada-0123456789").await;
    assert_eq!(names(&profile).await, ["mine"]);
    let patch = json!({ "operation": "patch", "name": "hidden", "env": { "A": "1" } });
    assert_eq!(refused(&profile, &patch).await["code"], "unknown_server");
    let add = json!({ "operation": "add", "name": "another", "command": "none" });
    assert_eq!(refused(&profile, &add).await["code"], "access_denied");
    let after = std::fs::read_to_string(daemon.home().config_file()).expect("the file");
    assert_eq!(before, after);
}

#[tokio::test]
async fn a_rule_may_keep_the_tool_from_a_caller() {
    let up = server().await;
    let auth = json!({
        "provider": "bearer",
        "bearer": { "tokens": { "token-of-ada-0123456789": "ada", "token-of-bob-0123456789": "bob" } },
        "acl": { "default": "allow", "rules": [
            { "subjects": ["bob"], "tools": ["upstream_servers"], "policy": "deny" },
        ] },
    });
    let daemon = TestDaemon::builder()
        .upstream("up", &up)
        .config(json!({ "serverAuth": auth }))
        .await;
    let bob = as_subject(&daemon, "/mcp", "token-of-bob-0123456789").await;
    assert!(
        !bob.tool_names()
            .await
            .contains(&"upstream_servers".to_owned())
    );
    let failure = refused(&bob, &json!({ "operation": "list" })).await;
    assert_eq!(failure["code"], "access_denied");
    let ada = as_subject(&daemon, "/mcp", "token-of-ada-0123456789").await;
    assert!(
        ada.tool_names()
            .await
            .contains(&"upstream_servers".to_owned())
    );
}

#[tokio::test]
async fn a_hidden_server_is_not_found_by_another_spelling() {
    let hidden = server().await;
    let auth = json!({
        "provider": "bearer",
        "bearer": { "tokens": { "token-of-bob-0123456789": "bob" } },
        "acl": { "default": "allow", "rules": [
            { "tools": ["hidden__*", "hidden:*"], "policy": "deny" },
        ] },
    });
    let daemon = TestDaemon::builder()
        .upstream("hidden", &hidden)
        .config(json!({ "serverAuth": auth }))
        .await;
    let bob = as_subject(&daemon, "/mcp", "token-of-bob-0123456789").await;
    let add = async |name: &str| {
        let arguments = json!({ "operation": "add", "name": name, "command": "none" });
        let mut failure = refused(&bob, &arguments).await;
        let text = failure["error"]
            .as_str()
            .expect("a reason")
            .replace(name, "NAME");
        failure["error"] = text.into();
        failure["server"] = Value::Null;
        failure
    };
    let known = add("hidden").await;
    assert_eq!(known["code"], "access_denied", "{known}");
    assert_eq!(add("Hidden").await, known);
    assert_eq!(add("HIDDEN").await, known);
}
