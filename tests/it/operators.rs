//! Who may use the operator's API over TCP: whoever shows the API key, or logs in to the page with a link.

use std::{fs, os::unix::fs::MetadataExt};

use crate::support::prelude::*;

const KEY: &str = "a-key-that-a-person-chose";
const TOKEN: &str = "0123456789abcdef-ada";

async fn daemon() -> TestDaemon {
    TestDaemon::builder().await
}

async fn send(
    daemon: &TestDaemon,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> HttpAnswer {
    http::send(daemon.address(), method, path, headers, "").await
}

async fn status_with(daemon: &TestDaemon, headers: &[(&str, &str)]) -> u16 {
    send(daemon, "GET", "/api/v1/status", headers).await.status
}

/// The key that the daemon made.
fn kept_key(daemon: &TestDaemon) -> String {
    let file = daemon.home().data_dir().join("api_key");
    let mode = fs::metadata(&file).expect("it is there").mode();
    assert_eq!(mode & 0o777, 0o600);
    fs::read_to_string(file).expect("it is ours")
}

/// A link to log in by, as a path.
async fn link(daemon: &TestDaemon) -> String {
    let answer = daemon.rest("POST", "/api/v1/ui/links", "").await.json();
    assert_eq!(answer["expires_in_seconds"], 120, "{answer}");
    let url = answer["url"].as_str().expect("a link").to_owned();
    let base = format!("http://{}", daemon.address());
    let path = url.strip_prefix(&base).expect("a link to us").to_owned();
    assert!(
        path.starts_with("/ui/login?token=") && path.len() > 50,
        "{path}"
    );
    path
}

/// The cookie of a browser that has logged in.
async fn logged_in(daemon: &TestDaemon) -> String {
    let path = link(daemon).await;
    let answer = send(daemon, "GET", &path, &[]).await;
    assert_eq!((answer.status, answer.header("location")), (303, "/ui/"));
    assert_eq!(answer.header("cache-control"), "no-store");
    assert_eq!(answer.header("referrer-policy"), "no-referrer");
    let cookie = answer.header("set-cookie");
    for attribute in ["; HttpOnly", "; SameSite=Strict", "; Path=/"] {
        has!(cookie, attribute);
    }
    cookie.split(';').next().expect("a pair").to_owned()
}

/// The refusal of one who is no operator.
#[track_caller]
fn check_refusal(answer: &HttpAnswer, status: u16, code: &str, hint: &str) {
    assert_eq!(answer.status, status, "{}", answer.text());
    let body = answer.json();
    assert_eq!(body["code"], code, "{body}");
    has!(body["hint"], hint, "{body}");
    has!(body["hint"], "mcpproxy ui", "{body}");
    let folders = body.to_string().contains("/tmp");
    assert!(!folders, "strangers learn no paths: {body}");
}

#[tokio::test]
async fn without_the_key_nothing_of_the_api_is_answered() {
    let daemon = daemon().await;
    for (method, path) in [
        ("GET", "/api/v1/status"),
        ("GET", "/api/v1/servers"),
        ("POST", "/api/v1/servers"),
        ("DELETE", "/api/v1/servers/x"),
        ("POST", "/api/v1/call"),
        ("POST", "/api/v1/ui/links"),
        ("GET", "/api/v1/activity/export"),
        ("GET", "/api/v1/nothing"),
        ("GET", "/api/v1/"),
        ("GET", "/api/"),
        ("GET", "/api/v2/status"),
        ("PUT", "/api/v1/status"),
    ] {
        for shown in [&[][..], &[("x-api-key", "another")], &[("x-api-key", "")]] {
            let answer = send(&daemon, method, path, shown).await;
            check_refusal(&answer, 401, "unauthorized", "the file `api_key`");
            assert_eq!(answer.header("www-authenticate"), "X-API-Key");
        }
    }
    let key = kept_key(&daemon);
    assert_eq!(status_with(&daemon, &[("x-api-key", &key)]).await, 200);
    let unknown = send(&daemon, "GET", "/api/v1/nothing", &[("x-api-key", &key)]).await;
    assert_eq!(unknown.status, 404);
    let twice = [("x-api-key", &*key), ("x-api-key", &*key)];
    assert_eq!(status_with(&daemon, &twice).await, 400);
    // Of clients no key is asked, and of operators on the local socket neither.
    let ping = http::send(daemon.address(), "POST", "/mcp/all", &[JSON, BOTH], PING);
    assert_eq!(ping.await.status, 200);
    assert_eq!(daemon.rest("GET", "/api/v1/status", "").await.status, 200);
}

#[tokio::test]
async fn the_key_of_the_configuration_counts_and_is_followed() {
    let settings = json!({ "api_key": KEY });
    let daemon = TestDaemon::builder().config(settings).await;
    let kept = kept_key(&daemon);
    assert_eq!(status_with(&daemon, &[("x-api-key", KEY)]).await, 200);
    assert_eq!(status_with(&daemon, &[("x-api-key", &kept)]).await, 401);
    let cookie = logged_in(&daemon).await;
    assert_eq!(status_with(&daemon, &[("cookie", &cookie)]).await, 200);
    daemon.home().write_config("{}");
    until_async("the kept key to count", async || {
        let status = status_with(&daemon, &[("x-api-key", &kept)]).await;
        (status == 200).then_some(())
    })
    .await;
    assert_eq!(status_with(&daemon, &[("x-api-key", KEY)]).await, 401);
    until_async("the login to end with the key", async || {
        let status = status_with(&daemon, &[("cookie", &cookie)]).await;
        (status == 401).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_call_by_key_is_the_operators() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let (daemon, _client) = TestDaemon::before(&upstream, "echo").await;
    let key = kept_key(&daemon);
    let body = r#"{"name":"up:echo","variant":"write","arguments":{"x":1}}"#;
    let headers = [JSON, ("x-api-key", &*key)];
    let answer = http::send(daemon.address(), "POST", "/api/v1/call", &headers, body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.json()["result"]["structuredContent"]["x"], 1);
    assert_eq!(answer.header("cache-control"), "no-store");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
}

#[tokio::test]
async fn a_search_names_commands_only_at_a_terminal() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let (daemon, _client) = TestDaemon::before(&upstream, "echo").await;
    let off = daemon.rest("POST", "/api/v1/servers/up/disable", "").await;
    assert_eq!(off.status, 200);
    let (key, path) = (kept_key(&daemon), "/api/v1/tools?q=echo&server=up");
    let at_terminal = daemon.rest("GET", path, "").await.json();
    has!(at_terminal["notice"], "mcpproxy upstream enable up");
    let by_key = send(&daemon, "GET", path, &[("x-api-key", &*key)]).await;
    has!(by_key.json()["notice"], "continue without it");
}

#[tokio::test]
async fn a_link_logs_one_browser_in() {
    let daemon = daemon().await;
    let path = link(&daemon).await;
    // Whoever looks where a link leads does not use it up.
    assert_eq!(send(&daemon, "HEAD", &path, &[]).await.status, 401);
    assert_eq!(send(&daemon, "GET", &path, &[]).await.status, 303);
    let again = send(&daemon, "GET", &path, &[]).await;
    assert_eq!((again.status, again.header("set-cookie")), (401, ""));
    has!(again.text(), "`mcpproxy ui`");
    for path in ["/ui/login", "/ui/login?token=", "/ui/login?token=x&token=y"] {
        assert_eq!(send(&daemon, "GET", path, &[]).await.status, 401, "{path}");
    }
    // An operator with the key gets links, too.
    let key = kept_key(&daemon);
    let made = send(&daemon, "POST", "/api/v1/ui/links", &[("x-api-key", &key)]).await;
    assert_eq!(made.status, 200);
}

#[tokio::test]
async fn a_login_is_for_the_page_of_this_address_only() {
    let daemon = daemon().await;
    let cookie = logged_in(&daemon).await;
    let ours = format!("http://{}", daemon.address());
    let ask = async |method: &str, path: &str, more: &[(&str, &str)]| {
        let mut headers = vec![("cookie", &*cookie)];
        headers.extend_from_slice(more);
        send(&daemon, method, path, &headers).await
    };
    assert_eq!(ask("GET", "/api/v1/status", &[]).await.status, 200);
    let (reload, own) = ("/api/v1/config/reload", ("origin", &*ours));
    assert_eq!(ask("POST", reload, &[own]).await.status, 200);
    let from_page = [own, ("sec-fetch-site", "same-origin")];
    assert_eq!(ask("POST", reload, &from_page).await.status, 200);
    // Loopback pages of other ports pass the guard, and are the same site to a browser.
    for foreign in [
        &[][..],
        &[("origin", "http://127.0.0.1:1")],
        &[("origin", "http://localhost:1")],
        &[own, ("sec-fetch-site", "same-site")],
        &[own, ("sec-fetch-site", "cross-site")],
    ] {
        let refused = ask("POST", reload, foreign).await;
        check_refusal(&refused, 403, "access_denied", "X-API-Key");
    }
    let reading = ask("GET", "/api/v1/status", &[("sec-fetch-site", "same-site")]).await;
    assert_eq!(reading.status, 403);
    // A key that is shown decides.
    let wrong = ask("GET", "/api/v1/status", &[("x-api-key", "wrong")]).await;
    assert_eq!(wrong.status, 401);

    let out = ask("POST", "/api/v1/ui/logout", &[own]).await;
    assert_eq!(out.json()["ended"], true);
    has!(out.header("set-cookie"), "Max-Age=0");
    let over = ask("GET", "/api/v1/status", &[]).await;
    check_refusal(&over, 401, "unauthorized", "log in again");
}

#[tokio::test]
async fn the_command_prints_a_link_that_works() {
    let daemon = daemon().await;
    let home = daemon.home();
    let run = async |arguments: &[&str]| {
        let mut command = home.command(arguments);
        command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
        let (code, out, err) = home.run(command, "").await;
        assert_eq!(code, 0, "{err}");
        out
    };
    let said: Value = serde_json::from_str(&run(&["ui", "-o", "json"]).await).expect("JSON");
    for url in [
        run(&["ui"]).await,
        run(&["ui", "--print"]).await,
        said["url"].as_str().expect("a link").to_owned(),
    ] {
        let (_, path) = url.trim().split_once("/ui/").expect("a link");
        let answer = send(&daemon, "GET", &format!("/ui/{path}"), &[]).await;
        assert_eq!(answer.status, 303, "{url}");
    }
}

#[tokio::test]
async fn a_login_outlives_the_daemon_unless_it_ended_or_the_key_is_another() {
    let daemon = daemon().await;
    let (key, unused) = (kept_key(&daemon), link(&daemon).await);
    let (kept, ended) = (logged_in(&daemon).await, logged_in(&daemon).await);
    let origin = format!("http://{}", daemon.address());
    let headers = [("cookie", &*ended), ("origin", &*origin)];
    let out = send(&daemon, "POST", "/api/v1/ui/logout", &headers).await;
    assert_eq!(out.status, 200);
    let file = daemon.home().data_dir().join("page-logins.json");
    let mode = fs::metadata(&file).expect("it is there").mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = fs::read_to_string(&file).expect("it is ours");
    let (_, secret) = kept.split_once('=').expect("a pair");
    assert!(!text.contains(secret), "{text}");
    // The cookie has the port in its name.
    let after = |daemon: &TestDaemon, cookie: &str| {
        let (_, secret) = cookie.split_once('=').expect("a pair");
        format!("mcpproxy_page_{}={secret}", daemon.address().port())
    };
    let daemon = TestDaemon::start_in(daemon.shutdown().await).await;
    assert_eq!(kept_key(&daemon), key);
    // A link does not.
    assert_eq!(send(&daemon, "GET", &unused, &[]).await.status, 401);
    for (cookie, expected) in [(&kept, 200), (&ended, 401)] {
        let cookie = after(&daemon, cookie);
        let status = status_with(&daemon, &[("cookie", &cookie)]).await;
        assert_eq!(status, expected);
    }
    let home = daemon.shutdown().await;
    home.write_config(json!({ "api_key": KEY }));
    let daemon = TestDaemon::start_in(home).await;
    let cookie = after(&daemon, &kept);
    assert_eq!(status_with(&daemon, &[("cookie", &cookie)]).await, 401);
}

/// What a way is called, its headers, and how it may be answered.
type Hostile<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [u16]);

/// Whatever the document has is asked, so that a new route cannot be forgotten.
#[tokio::test]
async fn no_route_is_open_to_clients_to_their_tokens_or_to_pages_of_others() {
    let auth = json!({
        "serverAuth": {
            "providers": ["bearer", "forwarded"],
            "bearer": { "tokens": { (TOKEN): { "subject": "ada", "roles": ["operator"] } } },
        },
    });
    let daemon = TestDaemon::builder().config(auth).await;
    let document = daemon.get("/api/v1/openapi.json").await.json();
    let token = json!({ "name": "eve", "calls": "all" });
    let issued = daemon.rest("POST", "/api/v1/tokens", &token).await.json();
    let token = issued["token"].as_str().expect("a token");
    let bearer = format!("Bearer {token}");
    let cookie = logged_in(&daemon).await;
    let cookie = ("cookie", &*cookie);
    let (key, own) = (kept_key(&daemon), format!("http://{}", daemon.address()));
    let other = ("origin", "http://127.0.0.1:3000");
    let of_file = format!("Bearer {TOKEN}");
    let ways: [Hostile; 11] = [
        ("nothing", &[], &[401]),
        (
            "a token of the file",
            &[("authorization", &of_file)],
            &[401],
        ),
        (
            "the key under a strange host",
            &[("x-api-key", &key), ("host", "evil.example")],
            &[403],
        ),
        ("a client's token", &[("authorization", &bearer)], &[401]),
        ("a client's token as a key", &[("x-api-key", token)], &[401]),
        (
            "the key as a token",
            &[("authorization", &format!("Bearer {key}"))],
            &[401],
        ),
        (
            "a forwarded name",
            &[("x-forwarded-user", "operator")],
            &[401],
        ),
        (
            "a cookie that is none",
            &[("cookie", "mcpproxy_page=x"), ("origin", &own)],
            &[401],
        ),
        ("another page", &[cookie, other], &[401, 403]),
        (
            "another site",
            &[cookie, ("origin", &own), ("sec-fetch-site", "cross-site")],
            &[401, 403],
        ),
        (
            "another page with the key",
            &[("x-api-key", &key), ("origin", "http://evil.example")],
            &[403],
        ),
    ];
    let before = fs::read_to_string(daemon.home().config_file()).expect("it is ours");
    let mut asked = 0;
    for (path, methods) in document["paths"].as_object().expect("an object") {
        if path == "/api/v1/openapi.json" {
            continue;
        }
        let written = path.replace("{name}", "eve").replace("{client}", "cursor");
        let written = written.replace("{id}", "1");
        for method in methods.as_object().expect("an object").keys() {
            let method = method.to_uppercase();
            for (way, headers, expected) in ways {
                let answer = send(&daemon, &method, &written, headers).await;
                let status = answer.status;
                assert!(
                    expected.contains(&status),
                    "{method} {path} by {way}: {status} {}",
                    answer.text()
                );
                asked += 1;
            }
        }
    }
    assert!(asked > 600, "{asked}");
    let shown = [("authorization", &*of_file)];
    let answer = send(&daemon, "GET", "/api/v1/servers", &shown).await;
    check_refusal(&answer, 401, "unauthorized", "is not an API key");
    // Nor is an operator's key a client's token, or a link for pages of others.
    let shown = [JSON, BOTH, ("x-api-key", &*key)];
    let ping = http::send(daemon.address(), "POST", "/mcp/all", &shown, PING);
    assert_eq!(ping.await.status, 401);
    let unused = link(&daemon).await;
    let login = send(
        &daemon,
        "GET",
        &unused,
        &[("origin", "http://evil.example")],
    );
    assert_eq!(login.await.status, 403);
    let after = fs::read_to_string(daemon.home().config_file()).expect("it is ours");
    assert_eq!(before, after);
    let tokens = daemon.rest("GET", "/api/v1/tokens", "").await.json();
    assert_eq!(tokens["tokens"][0]["name"], "eve", "{tokens}");
}
