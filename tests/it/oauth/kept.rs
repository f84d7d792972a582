//! What is kept of a login, for whom, and that nobody sees it.

use std::{fs, os::unix::fs::MetadataExt};

use super::{before, begin, log_in, logged_in, progress, row, wait_for_state};
use crate::support::{
    authorization_server::{AuthorizationServer, Habits, Renewal, Tells, browse, visit},
    prelude::*,
};

#[tokio::test]
async fn a_login_outlives_the_daemon_in_a_private_file() {
    let server = AuthorizationServer::start(Habits::default()).await;
    let (daemon, _) = logged_in(&server).await;
    let home = daemon.shutdown().await;
    let folder = home.data_dir().join("logins");
    let mode = |path: &std::path::Path| fs::metadata(path).expect("it is there").mode() & 0o777;
    assert_eq!(
        (mode(&folder), mode(&folder.join("up.json"))),
        (0o700, 0o600)
    );
    let daemon = TestDaemon::start_in(home).await;
    let client = daemon.client_of("up__echo").await;
    assert_eq!(client.call("up__echo", "{}").await.text(), "done");
    assert_eq!(server.asked("/authorize").len(), 1);
    // Of the registration, too.
    log_in(&daemon).await;
    assert_eq!(server.asked("/register").len(), 1);
}

#[tokio::test]
async fn who_logs_out_is_asked_again() {
    let server = AuthorizationServer::start(Habits::default()).await;
    let (daemon, client) = logged_in(&server).await;
    let answer = daemon.rest("POST", "/api/v1/servers/up/logout", "").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    wait_for_state(&daemon, "Authenticating").await;
    let file = daemon.home().data_dir().join("logins/up.json");
    let kept = fs::read_to_string(&file).expect("the registration is kept");
    lacks!(kept, "access-hunter2");
    lacks!(kept, "refresh-hunter2");
    assert_eq!(
        client.call("up__echo", "{}").await.failure()["code"],
        "login_required"
    );
    log_in(&daemon).await;
    wait_for_state(&daemon, "Ready").await;
    let removed = daemon.rest("DELETE", "/api/v1/servers/up", "").await;
    assert_eq!(removed.status, 200, "{}", removed.text());
    assert!(!file.exists());
}

#[tokio::test]
async fn logging_out_where_nobody_is_logged_in_changes_nothing() {
    let server = AuthorizationServer::start(Habits::default()).await;
    let open = FakeUpstream::http().tool("echo", echo()).await;
    let daemon = before(&server).upstream("open", &open).await;
    let client = daemon.client_of("open__echo").await;
    wait_for_state(&daemon, "Authenticating").await;
    for name in ["open", "up"] {
        let (code, _, text) = daemon.home().cli(&["upstream", "logout", name]).await;
        assert_eq!(code, 0, "{text}");
        has!(text, "not logged in to");
    }
    assert_eq!(row(&daemon, "open").await["state"], "Ready");
    client.call("open__echo", r#"{"n":1}"#).await.result();
    assert!(!daemon.home().data_dir().join("logins").exists());
}

#[tokio::test]
async fn a_logout_that_leaves_tokens_names_their_file() {
    let server = AuthorizationServer::start(Habits::default()).await;
    let (daemon, _) = logged_in(&server).await;
    let file = daemon.home().data_dir().join("logins/up.json");
    fs::remove_file(&file).expect("it is there");
    fs::create_dir_all(file.join("in the way")).expect("a folder");
    let (code, _, text) = daemon.home().cli(&["upstream", "logout", "up"]).await;
    assert_eq!(code, 1, "{text}");
    has!(
        text,
        "error: the tokens of up were not deleted: failed to write "
    );
    has!(text, "logins/up.json");
}

#[tokio::test]
async fn a_token_is_for_the_address_that_it_was_given_for() {
    let server = AuthorizationServer::start(Habits::default()).await;
    let (daemon, _) = logged_in(&server).await;
    let thief = AuthorizationServer::start(Habits::default()).await;
    daemon.home().write_config(before(&thief).text());
    wait_for_state(&daemon, "Authenticating").await;
    let asked = thief.asked("/mcp");
    assert!(!asked.is_empty());
    assert!(
        asked.iter().all(|asked| asked.authorization.is_empty()),
        "{asked:?}"
    );
}

#[tokio::test]
async fn nothing_of_a_login_shows() {
    let server = AuthorizationServer::start(Habits::default()).await;
    let oauth = json!({"client_id": "mine", "client_secret": "hunter2-by-hand"});
    let home = TestDaemon::builder()
        .entry("up", server.entry_with(&oauth))
        .home();
    let daemon = DaemonProcess::spawn_in(home).await;
    let rest = async |method: &str, path: &str| {
        let answer = daemon.home().rest(method, path, "").await;
        answer.expect("it serves").text().to_owned()
    };
    let begun = rest("POST", "/api/v1/servers/up/login").await;
    let begun: Value = serde_json::from_str(&begun).expect("JSON");
    let back = browse(begun["url"].as_str().expect("an address")).await;
    let page = visit(&back).await;
    let mut seen = vec![page.text().to_owned()];
    seen.push(rest("GET", "/api/v1/servers/up/login?wait=20").await);
    let client = daemon.client_of("up__echo").await;
    server.change(|habits| habits.renewal = Renewal::Refused);
    server.revoke_tokens();
    seen.push(client.call("up__echo", "{}").await.text());
    for path in ["servers", "servers/up", "status", "activity", "tools"] {
        seen.push(rest("GET", &format!("/api/v1/{path}")).await);
    }
    let health = http::send(daemon.address(), "GET", "/health", &[], "").await;
    seen.extend([health.text().to_owned(), daemon.log()]);
    assert!(seen.iter().any(|text| text.contains("login")));
    let secrets = server.secrets();
    assert!(secrets.len() >= 6, "{secrets:?}");
    for text in seen {
        for secret in secrets
            .iter()
            .map(String::as_str)
            .chain(["hunter2-by-hand"])
        {
            lacks!(text, secret, "{secret}");
        }
    }
}

/// What an authorization server repeats of a login in its errors is shown nowhere.
#[tokio::test]
async fn nothing_that_an_authorization_server_repeats_shows() {
    for status in [400, 401, 500, 503] {
        let habits = Habits {
            client_secret: Some("hunter2-of-the-registration"),
            lifetime: Some(json!(0)),
            ..Habits::default()
        };
        let server = AuthorizationServer::start(habits).await;
        let home = TestDaemon::builder().entry("up", server.entry()).home();
        let daemon = DaemonProcess::spawn_in(home).await;
        let rest = async |method: &str, path: &str| {
            let answer = daemon.home().rest(method, path, "").await;
            answer.expect("it serves").text().to_owned()
        };
        let log_in = async || {
            let begun = rest("POST", "/api/v1/servers/up/login").await;
            let begun: Value = serde_json::from_str(&begun).expect("JSON");
            let back = browse(begun["url"].as_str().expect("an address")).await;
            let page = visit(&back).await.text().to_owned();
            [page, rest("GET", "/api/v1/servers/up/login?wait=20").await]
        };
        log_in().await;
        let client = daemon.client_of("up__echo").await;
        server.change(|habits| habits.repeats = Some(status));
        server.revoke_tokens();
        let mut seen = vec![client.call("up__echo", "{}").await.text()];
        // The code of another login is repeated as well.
        seen.extend(log_in().await);
        for path in ["servers", "servers/up", "activity"] {
            seen.push(rest("GET", &format!("/api/v1/{path}")).await);
        }
        seen.push(daemon.log());
        assert!(!server.grants("refresh_token").is_empty());
        assert_eq!(server.grants("authorization_code").len(), 2);
        let secrets = server.secrets();
        let secrets = secrets.iter().map(String::as_str);
        for secret in secrets.chain(["hunter2-of-the-registration"]) {
            for text in &seen {
                lacks!(text, secret, "{status}: {secret}");
            }
        }
    }
}

#[tokio::test]
async fn the_command_logs_in_and_out() {
    let server = AuthorizationServer::start(Habits::default()).await;
    let daemon = before(&server).await;
    let login = ["upstream", "login", "up", "--no-browser", "-o", "json"];
    let mut command = daemon.home().command(&login);
    command.stdin(std::process::Stdio::piped());
    let mut running = command.spawn().expect("the program starts");
    let stdout = running.stdout.take().expect("a pipe");
    let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(stdout));
    let mut text = String::new();
    let begun: Value = until_async("the address", async || {
        let line = lines.next_line().await.expect("a pipe").expect("a line");
        text += &line;
        serde_json::from_str(&text).ok()
    })
    .await;
    let back = browse(begun["url"].as_str().expect("an address")).await;
    let mut stdin = running.stdin.take().expect("a pipe");
    let typed = format!("nonsense\n{back}\n");
    tokio::io::AsyncWriteExt::write_all(&mut stdin, typed.as_bytes())
        .await
        .expect("it reads");
    let mut text = String::new();
    while let Some(line) = lines.next_line().await.expect("a pipe") {
        text += &line;
    }
    let ended: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(ended["server"]["name"], "up", "{ended}");
    // How it is after the connection that follows.
    assert_eq!(ended["server"]["state"], "Ready", "{ended}");
    assert!(ended["server"]["next_step"].is_null(), "{ended}");
    assert!(running.wait().await.expect("our child").success());
    wait_for_state(&daemon, "Ready").await;
    assert_eq!(progress(&daemon).await, json!({"state": "done"}));
    assert_eq!(begin(&daemon).await.status, 200);
}

#[tokio::test]
async fn the_command_says_how_to_end_a_login_and_how_the_server_is_then() {
    let server = AuthorizationServer::start(Habits::default()).await;
    let daemon = before(&server).await;
    let login = ["upstream", "login", "up", "--no-browser"];
    let mut command = daemon.home().command(&login);
    command.stdin(std::process::Stdio::null());
    let mut running = command.spawn().expect("the program starts");
    let stdout = running.stdout.take().expect("a pipe");
    let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(stdout));
    let url = lines.next_line().await.expect("a pipe").expect("a line");
    let stderr = running.stderr.take().expect("a pipe");
    let mut notes = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(stderr));
    let mut text = String::new();
    // A login that ended earlier would not have needed stdin.
    while !text.contains("stdin is closed: a browser on this machine") {
        text += &notes.next_line().await.expect("a pipe").expect("a line");
    }
    visit(&browse(&url).await).await;
    while let Some(line) = notes.next_line().await.expect("a pipe") {
        text += &line;
    }
    assert!(running.wait().await.expect("our child").success(), "{text}");
    has!(text, "this command's stdin");
    has!(text, "ready, 2 tools");
    lacks!(text, "next:");
    // Where no port of this machine listens, nothing could end it.
    let elsewhere = r#"{"oauth":{"redirect_uri":"https://elsewhere.example/done"}}"#;
    daemon.rest("PATCH", "/api/v1/servers/up", elsewhere).await;
    let mut command = daemon.home().command(&login);
    let refused = command.stdin(std::process::Stdio::null()).output().await;
    let refused = refused.expect("the program starts");
    let text = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{text}");
    has!(text, "not logged in to up: stdin is closed");
    // A right address is not called wrong, and what came of it is told once.
    server.change(|habits| habits.token_type = "mac");
    let mut command = daemon.home().command(&login);
    command.stdin(std::process::Stdio::piped());
    let mut running = command.spawn().expect("the program starts");
    let stdout = running.stdout.take().expect("a pipe");
    let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(stdout));
    let url = lines.next_line().await.expect("a pipe").expect("a line");
    let typed = format!("{}\n", browse(&url).await);
    let mut stdin = running.stdin.take().expect("a pipe");
    tokio::io::AsyncWriteExt::write_all(&mut stdin, typed.as_bytes())
        .await
        .expect("it reads");
    let refused = running.wait_with_output().await.expect("our child");
    let text = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(text.matches("issued a token of").count(), 1, "{text}");
}

/// What the MCP server repeats of the token that it was sent is shown nowhere.
#[tokio::test]
async fn nothing_that_a_server_repeats_of_its_token_shows() {
    for tells in [
        Tells::InFailedInitialize,
        Tells::AsScope,
        Tells::AsContentType,
        Tells::InRefusedCall,
    ] {
        let server = AuthorizationServer::start(Habits::default()).await;
        let (daemon, client) = logged_in(&server).await;
        server.change(|habits| habits.tells = Some(tells));
        if tells == Tells::InFailedInitialize {
            daemon.rest("POST", "/api/v1/servers/up/restart", "").await;
        }
        let mut seen = vec![client.call("up__echo", "{}").await.frame];
        for path in ["servers", "servers/up", "status", "activity"] {
            let path = format!("/api/v1/{path}");
            seen.push(daemon.rest("GET", &path, "").await.text().to_owned());
        }
        seen.push(daemon.get("/health").await.text().to_owned());
        let home = daemon.home();
        seen.push(home.cli(&["upstream", "list"]).await.1);
        seen.push(home.cli(&["doctor", "-o", "json"]).await.1);
        for secret in server.secrets() {
            for text in &seen {
                assert!(!text.contains(&secret), "{tells:?}: {text}");
            }
        }
        assert!(
            seen[0].contains("error") || seen[0].contains("isError"),
            "{}",
            seen[0]
        );
    }
}

#[tokio::test]
async fn a_person_logs_out_of_what_an_agent_changed() {
    let server = AuthorizationServer::start(Habits::default()).await;
    let (daemon, client) = logged_in(&server).await;
    let is_logged_in = async || {
        let details = daemon.rest("GET", "/api/v1/servers/up", "").await.json();
        details["logged_in"] == true
    };
    assert!(is_logged_in().await);
    let file = daemon.home().data_dir().join("logins/up.json");
    let change = json!({"operation": "patch", "name": "up", "url": "https://evil.example/mcp"});
    let changed = client
        .call("upstream_servers", &change.to_string())
        .await
        .text();
    has!(changed, "held_for");
    let out = daemon.rest("POST", "/api/v1/servers/up/logout", "").await;
    assert_eq!(out.status, 200, "{}", out.text());
    assert_eq!(out.json()["changed"], json!(["logged_out"]));
    assert!(!is_logged_in().await);
    let kept = fs::read_to_string(&file).unwrap_or_default();
    lacks!(kept, "hunter2");
    let again = daemon.rest("POST", "/api/v1/servers/up/logout", "").await;
    assert_eq!(again.json()["changed"], json!([]), "{}", again.text());
    let begun = begin(&daemon).await;
    assert_ne!(
        begun.status,
        200,
        "nobody logs in to that: {}",
        begun.text()
    );
}
