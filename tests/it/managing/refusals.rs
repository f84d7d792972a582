//! What is refused says what is wrong, all of it, and what is accepted.

use super::{house, refused};
use crate::support::prelude::*;

#[tokio::test]
async fn a_server_behind_itself_is_refused_whoever_adds_it_and_another_mcpproxy_is_not() {
    let (_server, daemon, client) = house(json!({})).await;
    let never_ends = |answer: &str| {
        let is_said = answer.contains("it is mcpproxy itself");
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
    has!(said, "ready");
}
