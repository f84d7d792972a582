//! Whether somebody may have something, asked over REST.

use serde_json::{Value, json};

use super::post;
use crate::support::daemon::TestDaemon;

#[tokio::test]
async fn access_is_explained_without_a_call() {
    let settings = json!({ "serverAuth": {
        "provider": "bearer",
        "bearer": { "tokens": { "0123456789abcdef-ada": "ada" } },
        "acl": { "default": "deny", "rules": [
            { "subjects": ["ada"], "tools": ["up:*"], "policy": "allow" },
        ] },
    } });
    let daemon = TestDaemon::builder()
        .config(settings)
        .entry("up", json!({ "command": "nothing-here", "enabled": false }))
        .start()
        .await;
    let ask = async |subject: &str| {
        let question = json!({ "subject": subject, "server": "up", "name": "echo" });
        post(&daemon, "/api/v1/access/check", &question)
            .await
            .json()
    };
    let bob = ask("bob").await;
    assert_eq!(
        (&bob["allowed"], &bob["kind"]),
        (&json!(false), &json!("tool"))
    );
    let ada = ask("ada").await;
    assert!(ada["reason"].is_string(), "{ada}");
    let built_in = json!({ "subject": "ada", "kind": "built_in", "name": "retrieve_tools" });
    let verdict = post(&daemon, "/api/v1/access/check", &built_in).await;
    assert_eq!(verdict.status, 200, "{}", verdict.text());
    let wrong = post(
        &daemon,
        "/api/v1/access/check",
        &json!({ "subject": "ada" }),
    )
    .await;
    assert_eq!(wrong.status, 400);
    // What there is not is no yes, and a tool needs its server.
    let check = async |question: Value| {
        let answer = post(&daemon, "/api/v1/access/check", &question).await;
        (answer.status, answer.json())
    };
    let whole = json!({ "subject": "ada", "name": "up:echo" });
    let (status, whole) = check(whole).await;
    assert_eq!(
        (status, &whole["server"], &whole["name"]),
        (200, &json!("up"), &json!("echo"))
    );
    assert_eq!(whole["reason"], ada["reason"]);
    for kind in ["tool", "prompt", "resource"] {
        let (status, wrong) =
            check(json!({ "subject": "ada", "kind": kind, "name": "echo" })).await;
        assert_eq!(
            (status, &wrong["code"]),
            (400, &json!("invalid_arguments")),
            "{wrong}"
        );
        assert!(
            wrong["error"].to_string().contains("no server is named"),
            "{wrong}"
        );
    }
    let nonsense = json!({ "subject": "ada", "kind": "built_in", "name": "retrieve_tool" });
    let (status, nonsense) = check(nonsense).await;
    assert_eq!(
        (status, &nonsense["allowed"]),
        (200, &json!(false)),
        "{nonsense}"
    );
    let reason = nonsense["reason"].as_str().expect("a reason");
    assert!(
        reason.contains("no tool \"retrieve_tool\" of our own"),
        "{reason}"
    );
    assert!(
        reason.contains("the closest one is \"retrieve_tools\""),
        "{reason}"
    );
}
