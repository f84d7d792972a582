//! How a login comes about: where the authorization server is found, and as whom we come.

use super::{before, begin, begun, log_in, logged_in, progress, row, wait_for_state};
use crate::support::{
    authorization_server::{AuthorizationServer, Habits, Iss, Published, browse, visit},
    prelude::*,
};

#[tokio::test]
async fn a_server_that_wants_a_login_says_so_everywhere_and_harms_nobody() {
    let server = AuthorizationServer::start(Habits::default()).await;
    let other = FakeUpstream::http().tool("echo", echo()).await;
    let daemon = before(&server).upstream("other", &other).await;
    let row = wait_for_state(&daemon, "Authenticating").await;
    has!(row["next_step"], "mcpproxy upstream login up");
    let status = daemon.rest("GET", "/api/v1/status", "").await.json();
    assert_eq!(status["servers"]["authenticating"], 1, "{status}");
    let health = daemon.get("/health").await.json();
    assert_eq!(health["servers"][0]["name"], "up", "{health}");
    let client = daemon.client("/mcp").await;
    let found = client.call("retrieve_tools", r#"{"query":"echo"}"#).await;
    has!(found.text(), "because a login is needed: up");
    for _ in 0..5 {
        let called = client
            .call("call_tool_read", r#"{"name":"up:echo","args":{}}"#)
            .await;
        let failure = called.failure();
        let hint = failure["hint"].as_str().unwrap_or_default();
        lacks!(hint, "mcpproxy", "{failure}");
    }
    // It is not asked again and again.
    assert!(
        server.asked("/mcp").len() <= 4,
        "{:?}",
        server.asked("/mcp")
    );
    for arguments in [
        json!({"operation": "list"}),
        json!({"operation": "restart", "name": "up"}),
    ] {
        let arguments = arguments.to_string();
        let answer = client.call("upstream_servers", &arguments).await.text();
        has!(answer, "Ask the user to log in to");
        lacks!(answer, "mcpproxy upstream");
        lacks!(answer, "tail_log");
    }
    let all = daemon.client_of("other__echo").await;
    all.call("other__echo", r#"{"n":1}"#).await.result();
}

#[tokio::test]
async fn one_registers_and_calls_work() {
    let server = AuthorizationServer::start(Habits::default()).await;
    let (daemon, client) = logged_in(&server).await;
    assert_eq!(client.call("up__echo", "{}").await.text(), "done");
    assert_eq!(row(&daemon, "up").await["state"], "Ready");
    let registered = &server.asked("/register")[0];
    has!(registered.body, "http://127.0.0.1:");
    let asked = &server.asked("/authorize")[0].fields;
    assert_eq!(asked["code_challenge_method"], "S256");
    assert_eq!(asked["resource"], format!("{}/mcp", server.url()));
    let exchanged = &server.grants("authorization_code")[0].fields;
    assert_eq!(exchanged["resource"], format!("{}/mcp", server.url()));
    assert!(exchanged["code_verifier"].len() >= 43);
    // A second login is as the same client, at the same address.
    log_in(&daemon).await;
    assert_eq!(server.asked("/register").len(), 1);
}

/// A login with these habits and this configuration works.
async fn check(habits: Habits, oauth: Value) -> AuthorizationServer {
    let server = AuthorizationServer::start(habits).await;
    let entry = server.entry_with(&oauth);
    let daemon = TestDaemon::builder().entry("up", entry).await;
    log_in(&daemon).await;
    let _client = daemon.client_of("up__echo").await;
    server
}

#[tokio::test]
async fn metadata_is_found_where_it_may_be() {
    let found = |resource_metadata, server_metadata| Habits {
        resource_metadata,
        server_metadata,
        ..Habits::default()
    };
    let usual = Habits::default().server_metadata;
    for habits in [
        found(Published::WellKnown, usual),
        found(Published::Nowhere, usual),
        found(
            Habits::default().resource_metadata,
            "/.well-known/openid-configuration",
        ),
        // By the custom of 2025-03-26, with no metadata at all.
        found(Published::Nowhere, "/nowhere"),
    ] {
        check(habits, json!({})).await;
    }
}

#[tokio::test]
async fn a_client_that_was_registered_by_hand_is_used() {
    let habits = Habits {
        registers: false,
        ..Habits::default()
    };
    let oauth = json!({
        "client_id": "mine", "client_secret": "hunter2-by-hand", "scopes": ["a", "b"],
        "redirect_uri": "http://localhost/back", "extra_params": {"audience": "x y"},
    });
    let server = check(habits, oauth).await;
    assert!(server.asked("/register").is_empty());
    let asked = &server.asked("/authorize")[0].fields;
    assert_eq!(
        (asked["client_id"].as_str(), asked["scope"].as_str()),
        ("mine", "a b")
    );
    assert_eq!(asked["audience"], "x y");
    assert!(
        asked["redirect_uri"].starts_with("http://localhost:"),
        "{asked:?}"
    );
    let exchanged = &server.grants("authorization_code")[0];
    assert!(
        exchanged.authorization.starts_with("Basic "),
        "{exchanged:?}"
    );
    assert_eq!(exchanged.fields["audience"], "x y");
}

#[tokio::test]
async fn a_document_describes_us_where_such_are_read() {
    let document = "https://example.com/mcpproxy.json";
    let reads = json!({"client_id_metadata_document_supported": true});
    let habits = Habits {
        more_metadata: reads,
        ..Habits::default()
    };
    let server = check(habits, json!({"client_id": document})).await;
    assert_eq!(server.asked("/authorize")[0].fields["client_id"], document);
    assert!(server.asked("/register").is_empty());
    // Where they are not, one registers.
    let server = check(Habits::default(), json!({"client_id": document})).await;
    assert!(server.asked("/authorize")[0].fields["client_id"].starts_with("client-"));
}

#[tokio::test]
async fn a_secret_of_the_registration_is_used() {
    let habits = Habits {
        client_secret: Some("hunter2-registered"),
        more_metadata: json!({"token_endpoint_auth_methods_supported": ["client_secret_post"]}),
        ..Habits::default()
    };
    let server = check(habits, json!({})).await;
    let exchanged = &server.grants("authorization_code")[0].fields;
    assert_eq!(exchanged["client_secret"], "hunter2-registered");
}

#[tokio::test]
async fn the_issuer_of_the_answer_is_held_against_the_one_that_was_asked() {
    let says = json!({"authorization_response_iss_parameter_supported": true});
    let right = Habits {
        iss: Iss::Right,
        more_metadata: says.clone(),
        ..Habits::default()
    };
    check(right, json!({})).await;
    for iss in [Iss::Wrong, Iss::Absent] {
        let habits = Habits {
            iss,
            more_metadata: says.clone(),
            ..Habits::default()
        };
        let server = AuthorizationServer::start(habits).await;
        let daemon = before(&server).await;
        let back = browse(&begun(&daemon).await).await;
        assert_eq!(visit(&back).await.status, 400);
        assert_eq!(progress(&daemon).await["state"], "failed");
        assert!(server.grants("authorization_code").is_empty());
    }
}

#[tokio::test]
async fn a_login_that_is_begun_again_has_the_port_of_the_one_before() {
    let server = AuthorizationServer::start(Habits::default()).await;
    let daemon = before(&server).await;
    let (first, second) = (begin(&daemon).await.json(), begin(&daemon).await.json());
    assert_eq!(first["redirect_uri"], second["redirect_uri"], "{second}");
    assert_eq!(server.asked("/register").len(), 1);
}

#[tokio::test]
async fn a_pasted_address_ends_a_login() {
    let server = AuthorizationServer::start(Habits::default()).await;
    let oauth = json!({"redirect_uri": "https://elsewhere.example/back"});
    let daemon = TestDaemon::builder()
        .entry("up", server.entry_with(&oauth))
        .await;
    let begun = begin(&daemon).await.json();
    assert_eq!(begun["listens"], false);
    let back = browse(begun["url"].as_str().expect("an address")).await;
    let paste = async |address: &str| {
        let body = json!({"redirect_url": address});
        daemon.rest("POST", "/api/v1/servers/up/login", &body).await
    };
    let wrong = paste("https://elsewhere.example/back?code=x&state=y").await;
    assert_eq!(wrong.status, 409, "{}", wrong.text());
    has!(wrong.text(), "no login to up was completed");
    has!(
        wrong.json()["step"]["how"],
        "address of the login's last page"
    );
    assert_eq!(paste("nonsense").await.status, 409);
    // Its code works once; the outcome remains.
    for _ in 0..2 {
        assert_eq!(paste(&back).await.json(), json!({"state": "done"}));
    }
    let other = paste(&format!("{back}&error=access_denied")).await;
    has!(
        other.text(),
        "another address was already given for this login"
    );
    assert_eq!(server.grants("authorization_code").len(), 1);
    wait_for_state(&daemon, "Ready").await;
}

#[tokio::test]
async fn of_many_authorization_servers_a_few_are_asked() {
    let habits = Habits {
        servers: 2_000,
        server_metadata: "/nowhere",
        ..Habits::default()
    };
    let server = AuthorizationServer::start(habits).await;
    let daemon = before(&server).await;
    let refused = begin(&daemon).await;
    assert_ne!(refused.status, 200);
    let said = refused.text();
    has!(said, "tried only the first 5");
    let asked: usize = (1..2_000)
        .map(|n| {
            ["oauth-authorization-server", "openid-configuration"]
                .map(|what| {
                    server
                        .asked(&format!("/.well-known/{what}/absent/{n}"))
                        .len()
                })
                .iter()
                .sum::<usize>()
        })
        .sum();
    assert!((5..=10).contains(&asked), "{asked}");
}

#[tokio::test]
async fn a_server_that_names_no_authorization_server_fails_before_the_browser() {
    let habits = Habits {
        servers: 0,
        ..Habits::default()
    };
    let server = AuthorizationServer::start(habits).await;
    let daemon = before(&server).await;
    let refused = begin(&daemon).await;
    assert_ne!(refused.status, 200);
    let said = refused.text();
    has!(said, "`authorization_servers` is empty");
    assert!(server.asked("/register").is_empty());
}
