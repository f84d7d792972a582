//! What the answer to a change says.

use super::{done, entry, house, refused};
use crate::support::prelude::*;

#[tokio::test]
async fn answers_say_what_came_of_the_change() {
    let (_up, daemon, client) =
        house(json!({ "enabled_tools": ["e*", "list_*"], "start": "eager" })).await;
    let patch = |mut more: Value| {
        more["operation"] = "patch".into();
        more["name"] = "up".into();
        more
    };
    let fewer = done(&client, &patch(json!({ "enabled_tools": ["e*"] }))).await;
    assert_eq!(fewer["changed"], json!(["enabled_tools"]));
    let wider = patch(json!({ "enabled_tools": ["e*", "list_*"] }));
    let more = refused(&client, &wider).await;
    assert_eq!(more["code"], "access_denied");
    // It is on by default: nothing is written, and nothing named.
    for on in [
        json!({ "operation": "enable", "name": "up" }),
        patch(json!({ "disabled": false })),
    ] {
        let before = entry(&daemon, "up");
        let same = done(&client, &on).await;
        is_like!(same, { "changed": [], "notice": "Nothing to change." });
        assert_eq!(entry(&daemon, "up"), before);
    }
    let off = done(&client, &patch(json!({ "enabled": false }))).await;
    assert_eq!(off["server"]["state"], "Disconnected", "{off}");
    let on = done(&client, &patch(json!({ "enabled": true }))).await;
    assert!(
        on["server"]["state"] == "Connecting" || on["server"]["state"] == "Ready",
        "{on}"
    );
    for operation in ["disable", "enable"] {
        let request = format!("/api/v1/servers/up/{operation}");
        let answer = daemon.rest("POST", &request, "").await.json();
        let is_down = answer["server"]["state"] == "Disconnected";
        assert_eq!(is_down, operation == "disable", "{answer}");
    }
    let missing = refused(&client, &json!({ "operation": "add", "name": "new" })).await;
    has!(missing["error"], "`command`");
    has!(missing["error"], "`url`");
}

#[tokio::test]
async fn the_answer_to_a_patch_is_of_the_server_as_it_was_patched() {
    let (_up, daemon, client) = house(json!({})).await;
    let command = entry(&daemon, "up")["command"].clone();
    let patched = async |command: &Value| {
        let patch = json!({ "command": command });
        let answer = daemon.rest("PATCH", "/api/v1/servers/up", &patch).await;
        let row = answer.json()["server"].clone();
        (row["state"].clone(), row["last_error"].clone())
    };
    for _ in 0..5 {
        let (state, error) = patched(&"/there/is/no/such/program".into()).await;
        assert_eq!(state, "Error");
        has!(error, "program");
        // Its lists are known, so it sleeps until it is called.
        let answered = patched(&command).await;
        assert_eq!(answered, ("Disconnected".into(), Value::Null));
    }
    // What an agent may change freely, too.
    for value in ["1m", "2m", "3m"] {
        let patch = json!({ "operation": "patch", "name": "up", "init_timeout": value });
        let row = done(&client, &patch).await["server"].clone();
        assert_eq!(row["last_error"], Value::Null, "{row}");
    }
}
