//! Many writers at once: agents, REST, and the command line with a daemon and without one.

use std::{path::Path, process::Stdio};

use futures_util::future::join_all;
use mcpproxy::config::{Surroundings, parse};
use tokio::process::Command;

use super::{done, entry, written};
use crate::support::prelude::*;

const TEXT: &str = r#"{
  // kept: of the file
  "mcpServers": {
    "up": {
      "command": "none", // kept: of the command
      "enabled": false,
      /* kept: of the variables */
      "env": {
        "OWN": "1", // kept: of one variable
      },
      "mood": "kept: a key that means nothing",
    },
  },
}
"#;

/// How many each of the four ways sends; agents may not send more at once.
const EACH: usize = 12;
const BY_AGENTS: usize = 10;

fn patch(way: &str, n: usize) -> Value {
    json!({ "env": { format!("{way}_{n}"): n.to_string() }, "idle_timeout": format!("{}s", n + 1) })
}

/// The command line on this file; with the data folder of the daemon through it, with another one without.
async fn command(home: &Home, data_dir: &Path, patch: &Value) {
    let ran = Command::new(env!("CARGO_BIN_EXE_mcpproxy"))
        .env_clear()
        .env("HOME", home.folder())
        .arg("--config")
        .arg(home.config_file())
        .arg("--data-dir")
        .arg(data_dir)
        .args(["upstream", "patch", "up", "--json", &patch.to_string()])
        .stdin(Stdio::null())
        .output()
        .await
        .expect("the program runs");
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{said}");
}

#[track_caller]
fn is_whole(text: &str) {
    let surroundings = Surroundings {
        lookup: &|_| None,
        folder: Path::new("/"),
    };
    let settings = parse(text, &surroundings).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert!(settings.servers.contains_key("up"), "{text}");
    assert_eq!(text.matches("kept:").count(), 5, "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_patches_at_once_lose_and_tear_nothing() {
    let home = Home::new();
    home.write_config(TEXT);
    let other = tempfile::tempdir().expect("a folder");
    let daemon = TestDaemon::start_in(home).await;
    let home = daemon.home();
    let client = daemon.client("/mcp").await;
    let (client, daemon, other) = (&client, &daemon, other.path());
    let agent = |n: usize| async move {
        let mut arguments = patch("MODEL", n);
        arguments["operation"] = "patch".into();
        arguments["name"] = "up".into();
        done(client, &arguments).await;
    };
    let rest = |n: usize| async move {
        let body = patch("REST", n).to_string();
        let answer = daemon.rest("PATCH", "/api/v1/servers/up", &body).await;
        assert_eq!(answer.status, 200, "{}", answer.json());
    };
    let through = |n: usize| async move {
        let patch = patch("THROUGH", n);
        command(home, &home.data_dir(), &patch).await;
    };
    let beside = |n: usize| async move { command(home, other, &patch("BESIDE", n)).await };
    let all = async {
        tokio::join!(
            join_all((0..BY_AGENTS).map(agent)),
            join_all((0..EACH).map(rest)),
            join_all((0..EACH).map(through)),
            join_all((0..EACH).map(beside)),
        )
    };
    let all = within("all of them", all);
    tokio::pin!(all);
    loop {
        tokio::select! {
            biased;
            _ = &mut all => break,
            () = tokio::task::yield_now() => is_whole(&written(daemon)),
        }
    }
    is_whole(&written(daemon));
    let stored = entry(daemon, "up");
    for (way, count) in [
        ("MODEL", BY_AGENTS),
        ("REST", EACH),
        ("THROUGH", EACH),
        ("BESIDE", EACH),
    ] {
        for n in 0..count {
            assert_eq!(
                stored["env"][format!("{way}_{n}")],
                n.to_string(),
                "{way} {n}: {stored}"
            );
        }
    }
    assert_eq!(stored["env"]["OWN"], "1");
    assert_eq!(
        stored["quarantined"], true,
        "agents wrote variables: {stored}"
    );

    // Of one key the last writer's value stands, whoever it is.
    for n in 0..3 {
        let last = |stored: &Value| stored["idle_timeout"].clone();
        agent(n).await;
        assert_eq!(last(&entry(daemon, "up")), patch("", n)["idle_timeout"]);
        rest(n + 10).await;
        assert_eq!(
            last(&entry(daemon, "up")),
            patch("", n + 10)["idle_timeout"]
        );
        beside(n + 20).await;
        assert_eq!(
            last(&entry(daemon, "up")),
            patch("", n + 20)["idle_timeout"]
        );
    }
    is_whole(&written(daemon));
}
