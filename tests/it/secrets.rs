//! Secrets by name: stored from the command line, used by servers, hidden everywhere. Here all in the private file.

#[cfg(target_os = "linux")]
mod secret_service;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::prelude::*;

/// What `mcpproxy secret …` came to.
struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

/// Runs `mcpproxy secret` with this on stdin. There is no session bus.
async fn secret(home: &Home, arguments: &[&str], input: &str) -> Ran {
    let arguments = [&["secret"], arguments].concat();
    run(home, "unix:path=/nowhere", &arguments, input).await
}

/// Runs `mcpproxy` with this session bus, and with this on stdin.
async fn run(home: &Home, bus: &str, arguments: &[&str], input: &str) -> Ran {
    let mut command = home.command(arguments);
    command
        .env("HOME", home.folder())
        .env_remove("MCPPROXY_KEYRING")
        .env("DBUS_SESSION_BUS_ADDRESS", bus);
    let (code, stdout, stderr) = home.run(command, input).await;
    Ran {
        code,
        stdout,
        stderr,
    }
}

fn written(config: &Value) -> Home {
    let home = Home::new();
    home.write_config(config.to_string());
    home
}

/// A daemon before this server, whose entry refers to a secret that is stored; after a call.
async fn with_secret(up: &Upstream, entry: Value, value: &str) -> (TestDaemon, TestClient) {
    let keyring = json!({"keyring": "file"});
    let builder = TestDaemon::builder().config(keyring);
    let home = builder.upstream_with("up", up, entry).home();
    assert_eq!(secret(&home, &["set", "up"], value).await.code, 0);
    let daemon = TestDaemon::start_in(home).await;
    let client = daemon.client_of("up__echo").await;
    client.call("up__echo", "{}").await.result();
    (daemon, client)
}

#[tokio::test]
async fn a_missing_secret_disables_its_server_until_it_is_stored() {
    let (up, well) = (
        FakeUpstream::stdio().tool("echo", echo()).await,
        FakeUpstream::stdio().tool("echo", echo()).await,
    );
    let daemon = TestDaemon::builder()
        .config(json!({"keyring": "file"}))
        .upstream_with("up", &up, json!({"env": {"TOKEN": "${keyring:up}"}}))
        .upstream("well", &well)
        .await;
    let client = daemon.client_of("well__echo").await;
    let row = daemon.row("up").await.to_string();
    has!(row, "needs the secret up");
    has!(row, "mcpproxy secret set up");
    assert_eq!(up.spawn_count(), 0);
    let details = daemon.rest("GET", "/api/v1/servers/up", "").await.json();
    assert_eq!(
        details["server"]["next_step"], "`mcpproxy secret set up`",
        "{details}"
    );
    // Clients and strangers read no path of this machine.
    let folder = daemon.home().folder().to_str().expect("text");
    let agent = daemon.client("/mcp").await;
    let list = json!({"operation": "list"});
    let patch = json!({"operation": "patch", "name": "up", "call_tool_timeout": "1m"});
    let native = TestClient::stateless(&daemon, "/mcp/server/up");
    for said in [
        daemon.get("/health").await.text().to_owned(),
        agent.call("upstream_servers", &list).await.frame,
        agent.call("upstream_servers", &patch).await.frame,
        agent
            .call("call_tool_read", r#"{"name":"up:echo"}"#)
            .await
            .frame,
        native.call("echo", "{}").await.frame,
    ] {
        has!(said, "up");
        lacks!(said, folder);
        lacks!(said, "secrets.json");
    }

    let set = secret(daemon.home(), &["set", "up"], "s3cret-value").await;
    assert_eq!(set.code, 0, "{}", set.stderr);
    let said = "up can be used now";
    has!(set.stderr, said);
    lacks!(set.stderr, "restart");
    client.wait_for_tool("up__echo").await;
    client.call("up__echo", "{}").await.result();
}

#[tokio::test]
async fn who_stores_a_secret_is_told_when_each_of_its_servers_has_it() {
    let up = FakeUpstream::stdio().tool("echo", echo()).await;
    let with = |more: Value| {
        let mut entry = json!({"env": {"A": "${keyring:a}"}});
        let (known, more) = (entry.as_object_mut(), more.as_object().cloned());
        known.expect("ours").extend(more.expect("ours"));
        entry
    };
    let daemon = TestDaemon::builder()
        .config(json!({"keyring": "file"}))
        .upstream_with("held", &up, with(json!({"quarantined": true})))
        .upstream_with("off", &up, with(json!({"enabled": false})))
        .upstream_with(
            "two",
            &up,
            json!({"env": {"A": "${keyring:a}", "B": "${keyring:b}"}}),
        )
        .upstream_with("var", &up, with(json!({"args": ["${NOT_SET_4711}"]})))
        .await;
    let said = |ran: Ran, parts: &[&str], absent: &[&str]| {
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        for part in parts {
            has!(ran.stderr, part, "no {part:?}");
        }
        for part in absent {
            lacks!(ran.stderr, part, "{part:?}");
        }
    };
    let set = secret(daemon.home(), &["set", "a"], "s3cret-value").await;
    said(
        set,
        &[
            "used by held, off, two, var",
            "held is quarantined: `mcpproxy upstream inspect held`",
            "two cannot be used yet: `mcpproxy secret set b`",
            "var cannot be used yet: `export NOT_SET_4711=VALUE`",
        ],
        &["upstream restart", "can be used now"],
    );
    let set = secret(daemon.home(), &["set", "b"], "s3cret-value").await;
    said(set, &["two can be used now"], &["held", "restart"]);
}

/// The value of a variable in the running child of this upstream.
#[cfg(target_os = "linux")]
fn variable(upstream: &Upstream, name: &str) -> Option<String> {
    let pid = upstream.alive().into_iter().next()?;
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let environment = String::from_utf8_lossy(&environment).into_owned();
    let begins = format!("{name}=");
    let mut found = environment
        .split('\0')
        .filter_map(|it| it.strip_prefix(&begins));
    found.next().map(str::to_owned)
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_changed_secret_counts_from_the_next_start_on() {
    let up = FakeUpstream::stdio().tool("echo", echo()).await;
    let entry = json!({"env": {"TOKEN": "${keyring:up}"}});
    let (daemon, client) = with_secret(&up, entry, "first-value").await;
    assert_eq!(variable(&up, "TOKEN").as_deref(), Some("first-value"));

    let set = secret(daemon.home(), &["set", "up"], "second-value").await;
    assert_eq!(set.code, 0, "{}", set.stderr);
    let step = "next: `mcpproxy upstream restart up`";
    has!(set.stderr, step);
    client.call("up__echo", "{}").await.result();
    assert_eq!(up.spawn_count(), 1, "it goes on as it is");
    assert_eq!(variable(&up, "TOKEN").as_deref(), Some("first-value"));

    daemon.rest("POST", "/api/v1/servers/up/restart", "").await;
    until!(variable(&up, "TOKEN").as_deref() == Some("second-value"));
}

/// Replaces what is in the private file, as another program would.
#[cfg(target_os = "linux")]
fn overwrite(home: &Home, name: &str, value: &str) {
    let file = home.data_dir().join("secrets.json");
    let written = json!({"version": 1, "secrets": {name: value}});
    std::fs::write(&file, written.to_string()).expect("the folder is ours");
}

/// At a terminal, which `script` plays, a secret that a server uses is removed only after a yes.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_secret_in_use_is_removed_only_after_a_yes() {
    let entry = json!({ "command": "x", "env": { "TOKEN": "${keyring:key}" } });
    let home = written(&json!({ "keyring": "file", "mcpServers": { "up": entry } }));
    let stored = secret(&home, &["set", "key"], "value").await;
    assert_eq!(stored.code, 0, "{}", stored.stderr);
    let remove = home.command(&["secret", "remove", "key"]);
    let mut words: Vec<String> = vec![env!("CARGO_BIN_EXE_mcpproxy").to_owned()];
    let arguments = remove.as_std().get_args();
    words.extend(arguments.map(|word| word.to_string_lossy().into_owned()));
    for (answer, code) in [("n\n", 4), ("y\n", 0)] {
        let mut terminal = tokio::process::Command::new("script");
        terminal
            .args(["-qec", &words.join(" "), "/dev/null"])
            .env("HOME", home.folder())
            .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped());
        let mut running = terminal.spawn().expect("the program starts");
        let mut stdin = running.stdin.take().expect("a pipe");
        let mut stdout = running.stdout.take().expect("a pipe");
        // Typed when the question stands there; what comes before does not count.
        let mut shown = Vec::new();
        let question = "Remove key? up cannot be used without it. [y/N]";
        let reading = async {
            while !String::from_utf8_lossy(&shown).contains(question) {
                let read = stdout.read_buf(&mut shown).await.expect("it is open");
                assert!(read > 0, "{}", String::from_utf8_lossy(&shown));
            }
        };
        within("the question", reading).await;
        stdin.write_all(answer.as_bytes()).await.expect("it reads");
        let ended = within("the command to end", running.wait()).await;
        let ended = ended.expect("it ran").code();
        assert_eq!(ended, Some(code), "{}", String::from_utf8_lossy(&shown));
        let listed = secret(&home, &["list"], "").await;
        let is_there = listed.stdout.contains("secrets.json");
        assert_eq!(is_there, code != 0, "{}", listed.stdout);
    }
}

#[tokio::test]
async fn a_secret_is_looked_up_when_its_server_is_started() {
    let up = FakeUpstream::stdio().tool("echo", echo()).await;
    let entry = json!({"start": "eager", "env": {"TOKEN": "${keyring:up}"}});
    let (daemon, _client) = with_secret(&up, entry, "first-value").await;
    assert_eq!(variable(&up, "TOKEN").as_deref(), Some("first-value"));

    // Nobody tells the daemon.
    overwrite(daemon.home(), "up", "second-value");
    up.crash().await;
    until!(variable(&up, "TOKEN").as_deref() == Some("second-value"));
    assert_eq!(up.spawn_count(), 2);
}

#[tokio::test]
async fn a_remote_server_gets_its_secret_in_a_header() {
    let up = FakeUpstream::http().tool("echo", echo()).await;
    let entry = json!({"headers": {"Authorization": "Bearer ${keyring:up}"}});
    let _daemon = with_secret(&up, entry, "s3cret-value").await;
    for received in up.everything() {
        let header = received.header("authorization");
        assert_eq!(header, Some("Bearer s3cret-value"), "{received:?}");
    }
}

#[tokio::test]
async fn what_a_server_says_of_its_secret_is_masked_in_listings_and_logs() {
    let up = FakeUpstream::stdio().tool("echo", echo()).await;
    let builder = TestDaemon::builder()
        .config(json!({"keyring": "file"}))
        .entry("loud", json!({"command": "sh", "args": ["-c", "echo \"I have $TOKEN\" >&2; exit 1"], "env": {"TOKEN": "${keyring:up}"}}))
        .upstream_with("up", &up, json!({"env": {"TOKEN": "${keyring:up}"}}));
    let home = builder.home();
    assert_eq!(secret(&home, &["set", "up"], "s3cret-value").await.code, 0);
    let daemon = TestDaemon::start_in(home).await;
    let logs = until_async("what it says", async || {
        let answer = daemon
            .rest("GET", "/api/v1/servers/loud/logs", "")
            .await
            .json()
            .to_string();
        answer.contains("I have").then_some(answer)
    })
    .await;
    has!(logs, "I have ***");
    lacks!(logs, "s3cret");
    for name in ["up", "loud"] {
        let path = format!("/api/v1/servers/{name}");
        let shown = daemon.rest("GET", &path, "").await.json().to_string();
        lacks!(shown, "s3cret");
    }
}

#[tokio::test]
async fn what_an_agent_wrote_is_not_looked_up() {
    let daemon = TestDaemon::builder()
        .config(json!({"keyring": "file"}))
        .entry("held", json!({"command": "x", "env": {"T": "${keyring:absent}"}, "quarantined": true, "changed_by": "agent"}))
        .await;
    let row = daemon.row("held").await.to_string();
    lacks!(row, "keyring");
}

#[tokio::test]
async fn what_a_killed_daemon_was_writing_is_removed_by_the_next_one() {
    let home = written(&json!({}));
    std::fs::create_dir_all(home.data_dir().join("logins")).expect("it is ours");
    let names = [
        "secrets.json.new",
        "secrets.json.4711.new",
        "logins/up.json.new",
    ];
    let files = names.map(|name| home.data_dir().join(name));
    for file in &files {
        std::fs::write(file, "s3cret-value").expect("it is ours");
    }
    let _daemon = TestDaemon::start_in(home).await;
    until!(!files.iter().any(|file| file.exists()));
}
