//! `upstream patch` through a daemon; over the file it stands in `transcripts/files.txt`.

use serde_json::json;

use super::{Place, playback::Playback};

const TEXT: &str = r#"{
  "mcpServers": {
    // mine
    "up": {
      "command": "npx", // how
      "args": ["--token", "s3cret-token"],
      "env": { "A": "1", "B": "2" }
    }
  }
}
"#;

#[test]
fn with_a_daemon_the_patch_goes_through_it() {
    let place = Place::configured(TEXT);
    let answer = json!({ "server": { "name": "up", "state": "Ready" }, "changed": [] });
    let daemon = Playback::answering(&place, 200, &answer.to_string());
    place
        .run(&["upstream", "patch", "up", "env.B=3"])
        .ended(0)
        .says(&["was so already"]);
    assert_eq!(
        daemon.asked(),
        r#"PATCH /api/v1/servers/up {"env":{"B":"3"}}"#
    );
    assert_eq!(place.written(), TEXT);
}
