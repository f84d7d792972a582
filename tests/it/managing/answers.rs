//! What the answer to a change says.

use super::{done, entry, house};
use crate::support::prelude::*;

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
