//! What people trust of servers: baselines, quarantine, and what changes meanwhile. Reviews, instructions, and what undoing an approval
//! brings back are in `cli/transcripts/review.txt` and `trust.txt`.

mod held_resources;
mod neighbours;
mod new_tools;
mod pinning;
mod quarantine;
mod waiting;

use crate::support::prelude::*;

/// A server that tells of changes.
const LISTS: &str = r#"{"tools":{"listChanged":true}}"#;

/// A plain tool that says something else.
fn saying(name: &str, words: &str) -> String {
    plain_tool(name).replace("The tool", words)
}

/// What a person sees of a server.
async fn inspected(daemon: &TestDaemon, server: &str) -> Value {
    let path = format!("/api/v1/servers/{server}/inspect");
    daemon.rest("GET", &path, "").await.json()
}

/// Approves what is seen now: these things, or everything.
pub async fn approve(daemon: &TestDaemon, server: &str, names: &[&str]) -> Value {
    let seen = inspected(daemon, server).await["seen"].clone();
    let body = json!({ "seen": seen, "names": names, "all": names.is_empty(), "by": "me" });
    let path = format!("/api/v1/servers/{server}/approve");
    daemon.rest("POST", &path, &body.to_string()).await.json()
}

/// What is held of a server: names and reasons.
async fn held(daemon: &TestDaemon, server: &str) -> Vec<(String, String)> {
    let found = inspected(daemon, server).await;
    let things = found["things"].as_array().expect("a list").iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    things
        .filter(|thing| thing["held"] == true)
        .map(|thing| (text(&thing["name"]), text(&thing["reason"])))
        .collect()
}

/// Who approves here: whoever owns the process of the daemon, whatever a request says.
pub fn account() -> String {
    let named = ["USER", "LOGNAME", "USERNAME"];
    let named = named.iter().find_map(|name| std::env::var(name).ok());
    let named = named.filter(|name| !name.is_empty());
    named.unwrap_or_else(|| "operator".to_owned())
}
