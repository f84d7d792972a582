//! Who comes in: tokens, users whom a proxy names, sessions and streams of several subjects, profiles' sessions, limits; and what
//! `access check` says.

mod issued;
mod limits;

use crate::support::prelude::*;

const ADA: &str = "Bearer token-of-ada-0123456789";
const BOB: &str = "Bearer token-of-bob-0123456789";
const BRIDGE: [&str; 5] = [
    "stdio",
    "--endpoint",
    "/mcp/all",
    "--token",
    "token-of-ada-0123456789",
];

/// Two tokens; only ada, as long as she is `dev`, may have `up__wave`.
fn auth() -> Value {
    json!({
        "provider": "bearer",
        "bearer": { "tokens": {
            "token-of-ada-0123456789": { "subject": "ada", "roles": ["dev"] },
            "token-of-bob-0123456789": "bob",
        } },
        "acl": { "default": "allow", "rules": [
            { "roles": ["dev"], "policy": "allow" },
            { "tools": ["up__wave"], "policy": "deny" },
        ] },
    })
}

async fn upstream() -> Upstream {
    let upstream = FakeUpstream::stdio()
        .tool("echo", echo())
        .tool("wave", echo());
    upstream.await
}

fn with(upstream: &Upstream, auth: &Value) -> Builder {
    let builder = TestDaemon::builder().upstream("up", upstream);
    builder.config(json!({ "serverAuth": auth, "profiles": { "p": {} } }))
}

async fn as_subject(daemon: &TestDaemon, path: &str, credential: &str) -> TestClient {
    let client = TestClient::speaking("2025-06-18").showing("authorization", credential);
    client.connect(daemon, path).await
}

async fn send(
    daemon: &TestDaemon,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> HttpAnswer {
    let body = if method == "POST" { PING } else { "" };
    let headers = [headers, &[JSON, BOTH]].concat();
    http::send(daemon.address(), method, path, &headers, body).await
}

#[tokio::test]
async fn who_shows_no_token_that_is_known_stays_outside() {
    let upstream = upstream().await;
    let daemon = with(&upstream, &auth()).await;
    let endpoints = [
        "/mcp",
        "/mcp/all",
        "/mcp/call",
        "/mcp/server/up",
        "/mcp/server/none",
        "/mcp/p/p",
        "/sse",
        "/mcp/all/sse",
        "/mcp/nothing",
    ];
    let session = ("mcp-session-id", "00000000-0000-0000-0000-000000000000");
    for path in endpoints {
        for method in ["GET", "POST", "DELETE"] {
            for (headers, challenge) in [
                (&[session][..], r#"Bearer realm="mcpproxy""#),
                (&[], r#"Bearer realm="mcpproxy""#),
                (
                    &[("authorization", "Basic YTpi")],
                    r#"Bearer realm="mcpproxy""#,
                ),
                (
                    &[("authorization", "Bearer token-of-eve")],
                    r#"Bearer realm="mcpproxy", error="invalid_token""#,
                ),
                (
                    &[("authorization", "Bearer ")],
                    r#"Bearer realm="mcpproxy", error="invalid_request""#,
                ),
                (&[("x-forwarded-user", "ada")], r#"Bearer realm="mcpproxy""#),
            ] {
                let answer = send(&daemon, method, path, headers).await;
                assert_eq!(answer.status, 401, "{method} {path} {headers:?}");
                assert_eq!(answer.header("www-authenticate"), challenge);
                let body = answer.json();
                is_like!(body, { "jsonrpc": "2.0", "id": null });
                assert_eq!(body["error"]["data"]["code"], "unauthorized", "{body}");
                lacks!(answer.text(), "token-of", "{body}");
            }
        }
    }
    let modern = ModernClient::new(&daemon, "/mcp/all")
        .request("tools/list", "{}")
        .await;
    assert_eq!(modern.status, 401);
    for path in ["/mcp", "/mcp/all", "/mcp/server/up", "/mcp/p/p"] {
        let answer = send(&daemon, "POST", path, &[("authorization", ADA)]).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    }
    // Whoever only looks, or probes for OAuth, is told what it needs to see.
    for (path, status) in [
        ("/health", 200),
        ("/healthz", 200),
        ("/", 200),
        ("/.well-known/oauth-protected-resource", 404),
        ("/.well-known/oauth-protected-resource/mcp", 404),
        ("/mcp/.well-known/openid-configuration", 404),
        ("/register", 404),
    ] {
        let answer = send(&daemon, "GET", path, &[]).await;
        assert_eq!(
            (answer.status, answer.header("www-authenticate")),
            (status, ""),
            "{path}"
        );
    }
    let status = daemon.rest("GET", "/api/v1/status", "").await;
    assert_eq!(status.status, 200);
    assert!(upstream.received("tools/call").is_empty());
}

#[tokio::test]
async fn a_token_says_who_it_is_in_both_eras_and_over_every_transport() {
    let upstream = upstream().await;
    let daemon = with(&upstream, &auth()).await;
    let ada = as_subject(&daemon, "/mcp/all", ADA).await;
    ada.wait_for_tool("up__wave").await;
    ada.call("up__wave", "{}").await.result();
    let bob = as_subject(&daemon, "/mcp/all", BOB).await;
    assert_eq!(bob.tool_names().await, ["up__echo"]);
    assert_eq!(
        bob.call("up__wave", "{}").await.failure()["code"],
        "access_denied"
    );
    let modern =
        |credential| ModernClient::new(&daemon, "/mcp/all").showing("authorization", credential);
    assert_eq!(modern(ADA).tool_names().await, ["up__echo", "up__wave"]);
    assert_eq!(modern(BOB).tool_names().await, ["up__echo"]);
    for (credential, expected) in [(ADA, 2), (BOB, 1)] {
        let sse = TestClient::speaking("2024-11-05").over_sse();
        let sse = sse
            .showing("authorization", credential)
            .connect(&daemon, "/mcp/all/sse")
            .await;
        assert_eq!(sse.tool_names().await.len(), expected, "{credential}");
        let called = sse.call("up__wave", "{}").await.frame;
        assert_eq!(called.contains("access_denied"), expected == 1, "{called}");
    }
    // A bridge shows its token; without one it is nobody in particular.
    for (arguments, expected) in [(&BRIDGE[..], 2), (&BRIDGE[..3], 1)] {
        let mut pipe = PipeClient::start(daemon.home(), arguments);
        pipe.open().await;
        assert_eq!(pipe.tool_names().await.len(), expected, "{arguments:?}");
    }
    let mut command = program(daemon.home(), &BRIDGE[..3]);
    command.env("MCPPROXY_TOKEN", "token-of-ada-0123456789");
    let mut pipe = PipeClient::start_command(command);
    pipe.open().await;
    assert_eq!(pipe.tool_names().await.len(), 2);
    let mut wrong = PipeClient::start(daemon.home(), &["stdio", "--token", "wrong"]);
    let refused = wrong.request("initialize", "{}").await.error_value();
    has!(refused.to_string(), "token is unknown", "{refused}");
    has!(refused.to_string(), "$MCPPROXY_TOKEN", "{refused}");
}

#[tokio::test]
async fn a_proxy_names_its_users_if_it_is_trusted() {
    let upstream = upstream().await;
    let auth = |proxies: &str| {
        json!({
            "provider": "forwarded",
            "forwarded": { "header": "X-User", "groups_header": "X-Groups", "trusted_proxies": [proxies] },
            "acl": { "default": "deny", "rules": [{ "subjects": ["*@example.com"], "roles": ["dev"], "policy": "allow" }] },
        })
    };
    let daemon = with(&upstream, &auth("127.0.0.1")).await;
    let user = |name, groups| {
        let client = ModernClient::new(&daemon, "/mcp/all");
        client.showing("x-user", name).showing("x-groups", groups)
    };
    user("ada@example.com", "qa,dev")
        .wait_for_tool("up__echo")
        .await;
    user("ada@example.com", "dev")
        .call("up__echo", "{}")
        .await
        .result();
    for (name, groups) in [("ada@example.org", "dev"), ("ada@example.com", "qa")] {
        let failure = user(name, groups).call("up__echo", "{}").await.failure();
        assert_eq!(failure["code"], "access_denied", "{name} {groups}");
    }
    for headers in [
        &[][..],
        &[("x-user", "")],
        &[("x-user", "ada@example.com"), ("x-user", "eve@example.com")],
        &[("x-user", "ada@example.com, eve@example.com")],
        &[("x-user", "ada\tb")],
        &[("x-user", "operator")],
        &[
            ("x-user", "ada@example.com"),
            ("x-groups", "qa"),
            ("x-groups", "dev"),
        ],
        &[("authorization", ADA)],
    ] {
        let answer = send(&daemon, "POST", "/mcp/all", headers).await;
        assert_eq!(answer.status, 401, "{headers:?}");
    }
    // The same headers from an address that is not trusted.
    daemon
        .home()
        .write_config(with(&upstream, &auth("192.0.2.1")).text());
    until_async("the proxy to lose its trust", async || {
        let answer = send(
            &daemon,
            "POST",
            "/mcp/all",
            &[("x-user", "ada@example.com")],
        )
        .await;
        (answer.status == 401).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_session_of_another_subject_is_not_found() {
    let upstream = upstream().await;
    let daemon = with(&upstream, &auth()).await;
    let ada = as_subject(&daemon, "/mcp/all", ADA).await;
    let id = ("mcp-session-id", ada.session());
    for method in ["POST", "GET", "DELETE"] {
        let revision = ("mcp-protocol-version", "2025-06-18");
        let answer = send(
            &daemon,
            method,
            "/mcp/all",
            &[("authorization", BOB), id, revision],
        )
        .await;
        assert_eq!(answer.status, 404, "{method}");
        let answer = send(&daemon, method, "/mcp/all", &[id, revision]).await;
        assert_eq!(answer.status, 401, "{method} of nobody");
    }
    assert_eq!(ada.request("ping", "{}").await.result(), "{}");
    let sse = TestClient::speaking("2024-11-05")
        .over_sse()
        .showing("authorization", ADA);
    let sse = sse.connect(&daemon, "/mcp/all/sse").await;
    for (headers, status) in [(&[("authorization", BOB)][..], 404), (&[], 401)] {
        assert_eq!(
            send(&daemon, "POST", sse.path(), headers).await.status,
            status
        );
    }
    // A session belongs to the endpoint of its profile.
    let profiled = as_subject(&daemon, "/mcp/p/p", ADA).await;
    let id = ("mcp-session-id", profiled.session());
    let answer = send(&daemon, "POST", "/mcp", &[("authorization", ADA), id]).await;
    assert_eq!(answer.status, 404);
}

#[tokio::test]
async fn roles_are_those_of_the_settings_in_force() {
    let upstream = upstream().await;
    let daemon = with(&upstream, &auth()).await;
    let ada = as_subject(&daemon, "/mcp/all", ADA).await;
    ada.wait_for_tool("up__wave").await;
    let mut stream = ada.listen().await;
    let mut pipe = PipeClient::start(daemon.home(), &BRIDGE);
    pipe.open().await;
    pipe.wait_for_tool("up__wave").await;
    let mut demoted = auth();
    demoted["bearer"]["tokens"]["token-of-ada-0123456789"] = "ada".into();
    daemon.home().write_config(with(&upstream, &demoted).text());
    // The list of this client changed, and it hears of that.
    stream.next_frame("notifications/tools/list_changed").await;
    pipe.notice("notifications/tools/list_changed").await;
    assert_eq!(ada.tool_names().await, ["up__echo"]);
    assert_eq!(pipe.tool_names().await, ["up__echo"]);
    assert_eq!(
        ada.call("up__wave", "{}").await.failure()["code"],
        "access_denied"
    );
    let text = pipe.call("up__wave", "{}").await.text();
    has!(text, "access_denied");
}

/// A stream of each kind, of somebody who shows this.
struct Streams {
    legacy: EventStream,
    modern: EventStream,
    sse: http::OpenAnswer,
}

impl Streams {
    async fn open(daemon: &TestDaemon, client: &TestClient, credential: &str) -> Self {
        let modern = ModernClient::new(daemon, "/mcp/all").showing("authorization", credential);
        let headers = [
            ("accept", "text/event-stream"),
            ("authorization", credential),
        ];
        Self {
            legacy: client.listen().await,
            modern: modern.listen(r#"{"toolsListChanged":true}"#).await,
            sse: http::open(daemon.address(), "GET", "/mcp/all/sse", &headers, "").await,
        }
    }

    async fn end(mut self) {
        within("the streams to end", async {
            while self.legacy.next().await.is_some() {}
            while self.modern.next().await.is_some() {}
            while self.sse.next().await.is_some() {}
        })
        .await;
    }
}

/// Whoever shows this is nobody any more.
async fn is_seen_off(daemon: &TestDaemon, client: &TestClient, credential: &str) {
    for method in ["POST", "GET", "DELETE"] {
        let shown = [
            ("authorization", credential),
            ("mcp-session-id", client.session()),
        ];
        let answer = send(daemon, method, "/mcp/all", &shown).await;
        assert_eq!(answer.status, 401, "{method}");
    }
}

#[tokio::test]
async fn a_token_that_is_withdrawn_ends_everything_at_once() {
    let upstream = upstream().await;
    let daemon = with(&upstream, &auth()).await;
    let ada = as_subject(&daemon, "/mcp/all", ADA).await;
    let bob = as_subject(&daemon, "/mcp/all", BOB).await;
    let mut bobs = bob.listen().await;
    let streams = Streams::open(&daemon, &ada, ADA).await;
    let mut pipe = PipeClient::start(daemon.home(), &BRIDGE);
    pipe.open().await;
    let mut withdrawn = auth();
    let tokens = withdrawn["bearer"]["tokens"]
        .as_object_mut()
        .expect("tokens");
    tokens.remove("token-of-ada-0123456789");
    daemon
        .home()
        .write_config(with(&upstream, &withdrawn).text());
    streams.end().await;
    is_seen_off(&daemon, &ada, ADA).await;
    let refused = until_async("the bridge to be seen off", async || {
        let answer = pipe.request("tools/list", "{}").await;
        answer.frame.contains("\"error\"").then_some(answer.frame)
    })
    .await;
    assert!(
        refused.contains("token is unknown") || refused.contains("connection_lost"),
        "{refused}"
    );
    let refused = pipe
        .request("tools/list", "{}")
        .await
        .error_value()
        .to_string();
    has!(refused, "token is unknown");
    // Others are not concerned.
    assert_eq!(bob.request("ping", "{}").await.result(), "{}");
    bob.call("up__echo", "{}").await.result();
    let tools = ["echo", "new"].map(|name| (plain_tool(name), echo()));
    upstream.offer(&tools).await;
    bobs.next_frame("notifications/tools/list_changed").await;
}

#[tokio::test]
async fn access_control_that_is_broken_lets_nobody_in() {
    let upstream = upstream().await;
    let daemon = with(&upstream, &auth()).await;
    let mut broken = auth();
    broken["acl"]["rules"][0]["rolls"] = json!([]);
    daemon.home().write_config(with(&upstream, &broken).text());
    until_async("the mistake to be seen", async || {
        let status = daemon.rest("GET", "/api/v1/status", "").await;
        status.text().contains("rolls").then_some(())
    })
    .await;
    // The last good rules hold.
    assert_eq!(send(&daemon, "POST", "/mcp", &[]).await.status, 401);
    let bob = as_subject(&daemon, "/mcp/all", BOB).await;
    assert_eq!(
        bob.call("up__wave", "{}").await.failure()["code"],
        "access_denied"
    );
    // And nothing starts with it.
    let home = with(&upstream, &broken).home();
    let output = within(
        "the daemon to give up",
        program(&home, &["serve", "--listen", "127.0.0.1:0"]).output(),
    );
    let output = output.await.expect("it runs");
    assert_eq!(output.status.code(), Some(1));
}
