//! What is refused says what is wrong, all of it, and what is accepted.

use serde_json::{Value, json};

use super::{house, refused};
use crate::support::http::Reachable;

#[tokio::test]
async fn whatever_is_wrong_with_a_change_is_named_at_once() {
    let (_server, daemon, client) = house(json!({})).await;
    let error = |failure: &Value| failure["error"].as_str().expect("a text").to_owned();
    let unknown = refused(
        &client,
        &json!({ "operation": "patch", "name": "up", "comand": "x", "timeot": 1 }),
    )
    .await;
    for part in ["`comand` is not known", "`timeot` is not known"] {
        assert!(error(&unknown).contains(part), "{part}: {unknown}");
    }
    let patch = json!({
        "operation": "patch", "name": "up",
        "tool_acl": {}, "quarantined": false, "env": [], "start": "soon",
    });
    let failure = refused(&client, &patch).await;
    assert_eq!(failure["code"], "access_denied", "{failure}");
    for part in [
        "`tool_acl` of the server \"up\" was not changed",
        "nor was `quarantined`",
        "`env` must be an object",
        "`start` is \"soon\"",
    ] {
        assert!(error(&failure).contains(part), "{part}: {failure}");
    }
    let (code, _, said) = daemon
        .home()
        .cli(&[
            "upstream",
            "patch",
            "up",
            "--json",
            r#"{ "comand": "x", "args": 7, "start": "soon" }"#,
        ])
        .await;
    assert_eq!(code, 2, "{said}");
    for part in [
        "`comand` is unknown; did you mean `command`?",
        "`args` must be an array",
        "`start` is \"soon\"",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[tokio::test]
async fn a_number_of_log_lines_outside_of_the_range_is_refused() {
    let (_server, daemon, client) = house(json!({})).await;
    for lines in [0, 501] {
        let asked = json!({ "operation": "tail_log", "name": "up", "lines": lines });
        let error = refused(&client, &asked).await["error"].to_string();
        assert!(
            error.contains(&format!("`lines` is {lines}; it is")),
            "{error}"
        );
        let path = format!("/api/v1/servers/up/logs?lines={lines}");
        let answer = daemon.rest("GET", &path, "").await;
        assert_eq!(answer.status, 400, "{}", answer.text());
        assert!(
            answer.text().contains("it is 1 to 500"),
            "{}",
            answer.text()
        );
    }
}

#[tokio::test]
async fn a_server_behind_itself_is_refused_whoever_adds_it_and_another_mcpproxy_is_not() {
    let (_server, daemon, client) = house(json!({})).await;
    let never_ends = |answer: &str| {
        let is_said = answer.contains("a server behind itself would never end");
        assert!(is_said, "{answer}");
    };
    let url = format!("http://{}/mcp", daemon.address());
    for entry in [
        json!({ "url": url }),
        json!({ "command": "npx", "args": ["-y", "mcp-remote", url] }),
        json!({ "command": "mcpproxy", "args": ["stdio"] }),
        json!({ "command": "env", "args": ["A=1", "mcpproxy", "stdio"] }),
        json!({ "command": "sh", "args": ["-c", "exec mcpproxy stdio"] }),
    ] {
        let mut body = entry.clone();
        body["name"] = json!("self");
        let text = body.to_string();
        let answer = daemon.rest("POST", "/api/v1/servers", &text).await;
        assert_eq!(answer.status, 400, "{entry}: {}", answer.text());
        never_ends(answer.text());
        let mut patch = entry.clone();
        // What goes does not stand beside what comes.
        for key in ["url", "command", "args"] {
            if patch.get(key).is_none() {
                patch[key] = Value::Null;
            }
        }
        let text = patch.to_string();
        let answer = daemon.rest("PATCH", "/api/v1/servers/up", &text).await;
        assert_eq!(answer.status, 400, "{entry}: {}", answer.text());
        never_ends(answer.text());
        body["operation"] = json!("add");
        never_ends(&refused(&client, &body).await.to_string());
        patch["operation"] = json!("patch");
        patch["name"] = json!("up");
        never_ends(&refused(&client, &patch).await.to_string());
    }
    let arguments = ["upstream", "add", "self", "--url", &url];
    let (code, _, said) = daemon.home().cli(&arguments).await;
    assert_eq!(code, 2, "{said}");
    never_ends(&said);
    let (_other_server, other, _) = house(json!({})).await;
    let url = format!("http://{}/mcp", other.address());
    let (code, _, said) = daemon
        .home()
        .cli(&["upstream", "add", "other", "--url", &url])
        .await;
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("it is ready"), "{said}");
}
