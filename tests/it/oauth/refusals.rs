//! Logins that come to nothing, and permissions that are missing.

use super::{before, begin, begun, log_in, logged_in, progress, row, wait_for_state};
use crate::support::{
    authorization_server::{AuthorizationServer, Habits, Published, Renewal, browse, visit},
    prelude::*,
};

#[tokio::test]
async fn an_address_with_another_state_leaves_the_login_as_it_is() {
    let server = AuthorizationServer::start(Habits::default()).await;
    let daemon = before(&server).await;
    let url = begun(&daemon).await;
    let back = browse(&url).await;
    let (place, _) = back.split_once('?').expect("a query");
    let forged = visit(&format!("{place}?code=code-hunter2-1&state=forged")).await;
    assert_eq!(forged.status, 400);
    assert!(server.grants("authorization_code").is_empty());
    assert_eq!(visit(&format!("{place}/other?code=1")).await.status, 404);
    assert_eq!(visit(&back).await.status, 200);
    wait_for_state(&daemon, "Ready").await;
}

#[tokio::test]
async fn who_does_not_agree_is_not_logged_in() {
    let habits = Habits {
        agrees: false,
        ..Habits::default()
    };
    let server = AuthorizationServer::start(habits).await;
    let daemon = before(&server).await;
    let page = visit(&browse(&begun(&daemon).await).await).await;
    has!(page.text(), "not today");
    has!(page.text(), "(access_denied). The next step is");
    let progress = progress(&daemon).await;
    assert_eq!(progress["state"], "failed", "{progress}");
    wait_for_state(&daemon, "Authenticating").await;
}

#[tokio::test]
async fn a_token_of_another_type_is_no_login() {
    let habits = Habits {
        token_type: "mac",
        ..Habits::default()
    };
    let server = AuthorizationServer::start(habits).await;
    let daemon = before(&server).await;
    visit(&browse(&begun(&daemon).await).await).await;
    let progress = progress(&daemon).await;
    let why = "the authorization server issued a token of the type \"mac\", not \"bearer\"";
    assert_eq!(progress["error"], why, "{progress}");
    has!(progress["step"]["how"], "authorization server's operator");
    check_row(&daemon, why, "authorization server's operator").await;
    let (_, _, text) = daemon.home().cli(&["call", "read", "up:echo"]).await;
    has!(text, "needs a login, and the last login failed: ");
    has!(
        text,
        "next: report this to the authorization server's operator"
    );
}

/// The row gives the reason why no login can work, and this step instead of another login.
async fn check_row(daemon: &TestDaemon, why: &str, step: &str) {
    let shown = wait_for_state(daemon, "Authenticating").await;
    has!(shown["last_error"], why, "{shown}");
    has!(shown["next_step"], step, "{shown}");
}

/// Beginning a login fails, and the error and the row say so, with this step.
async fn check(habits: Habits, said: &str, step: &str) {
    let server = AuthorizationServer::start(habits).await;
    let daemon = before(&server).await;
    let refused = begin(&daemon).await;
    assert_eq!(refused.status, 409, "{}", refused.text());
    let refused = refused.json();
    assert_eq!(refused["code"], "login_required");
    has!(refused["error"], said, "{said}");
    has!(refused["step"]["how"], step);
    check_row(&daemon, said, step).await;
}

#[tokio::test]
async fn what_is_missing_or_wrong_is_said() {
    let habits = Habits::default;
    let closed = Habits {
        registers: false,
        ..habits()
    };
    let nowhere = Habits {
        resource_metadata: Published::Nowhere,
        server_metadata: "/nowhere",
        registers: false,
        ..habits()
    };
    let mute = Habits {
        server_metadata: "/nowhere",
        ..habits()
    };
    let other = Habits {
        issuer: Some("https://elsewhere.example".to_owned()),
        ..habits()
    };
    let by_hand = "`mcpproxy upstream patch up oauth.client_id=ID`";
    let of_a_key =
        "`mcpproxy upstream patch up 'headers.Authorization=Bearer ${keyring:up-Authorization}'`";
    for (habits, said, step) in [
        (
            closed,
            r#"register mcpproxy: "by hand only" (invalid_client_metadata)"#,
            by_hand,
        ),
        (nowhere, "it may need a key in `headers`", of_a_key),
        (
            mute,
            "no usable metadata from its authorization server http",
            of_a_key,
        ),
        (other, "calls itself", of_a_key),
    ] {
        check(habits, said, step).await;
    }
    for [member, value, said, step] in rows(
        r#"
        code_challenge_methods_supported | null | does not list S256 | headers.Authorization
        code_challenge_methods_supported | [] | does not list S256 | headers.Authorization
        code_challenge_methods_supported | ["plain"] | does not list S256 | headers.Authorization
        token_endpoint | null | sent metadata without `token_endpoint` | headers.Authorization
        registration_endpoint | "http://169.254.169.254/register" | neither https | oauth.client_id=ID
        registration_endpoint | "https://169.254.169.254/register" | is private | oauth.client_id=ID
        authorization_endpoint | "javascript:alert(1)" | neither https | server's operator
        authorization_endpoint | "-a" | neither https | server's operator
        token_endpoint | "-a" | neither https | server's operator
        issuer | null | does not name its issuer | headers.Authorization
        authorization_endpoint | "http://accounts.google.com@127.0.0.1:1/" | a user name before its host | server's operator
    "#,
    ) {
        let value: Value = serde_json::from_str(value).expect("JSON");
        let habits = Habits {
            more_metadata: json!({ member: value }),
            ..habits()
        };
        check(habits, said, step).await;
    }
}

#[tokio::test]
async fn there_is_nothing_to_log_in_to_at_some_servers() {
    let open = FakeUpstream::http().tool("echo", echo()).await;
    let daemon = TestDaemon::builder()
        .entry("open", open.entry())
        .entry("program", json!({"command": "true"}))
        .entry("keyed", json!({"url": "http://127.0.0.1:1/mcp", "headers": {"Authorization": "Bearer hunter2-x"}}))
        .entry("agents", json!({"url": "http://127.0.0.1:1/mcp", "quarantined": true, "changed_by": "agent"}))
        .await;
    // A person may always log out.
    for (name, login, logout) in [
        ("open", 400, 200),
        ("program", 400, 400),
        ("keyed", 400, 400),
        ("agents", 403, 200),
        ("nobody", 404, 404),
    ] {
        for (verb, status) in [("login", login), ("logout", logout)] {
            let path = format!("/api/v1/servers/{name}/{verb}");
            let refused = daemon.rest("POST", &path, "").await;
            assert_eq!(refused.status, status, "{name}: {}", refused.text());
        }
    }
}

#[tokio::test]
async fn more_permissions_are_asked_for_when_a_call_needs_them() {
    let server = AuthorizationServer::start(Habits::default()).await;
    let (daemon, client) = logged_in(&server).await;
    let refused = client.call("up__write", "{}").await.failure();
    assert_eq!(refused["code"], "login_required", "{refused}");
    has!(refused["error"], "write", "{refused}");
    // Nothing else suffers.
    assert_eq!(client.call("up__echo", "{}").await.text(), "done");
    let shown = row(&daemon, "up").await;
    assert_eq!(shown["state"], "Ready");
    has!(shown["next_step"], "upstream login up", "{shown}");
    log_in(&daemon).await;
    assert_eq!(server.asked("/authorize")[1].fields["scope"], "basic write");
    assert_eq!(client.call("up__write", "{}").await.text(), "done");
    assert!(row(&daemon, "up").await["last_error"].is_null());
    // Nothing that was granted is lost by logging in again, also when the login has ended meanwhile.
    server.change(|habits| habits.challenge_scopes = Some("base"));
    log_in(&daemon).await;
    assert_eq!(server.asked("/authorize")[2].fields["scope"], "basic write");
    server.change(|habits| habits.renewal = Renewal::Refused);
    server.revoke_tokens();
    client.call("up__echo", "{}").await.failure();
    wait_for_state(&daemon, "Authenticating").await;
    server.change(|habits| habits.renewal = Renewal::Works);
    log_in(&daemon).await;
    let asked = &server.asked("/authorize")[3].fields["scope"];
    assert_eq!(asked, "basic write base");
    assert_eq!(client.call("up__write", "{}").await.text(), "done");
}

#[tokio::test]
async fn what_cannot_be_logged_in_to_has_next_steps_for_people() {
    let unset =
        json!({"url": "http://127.0.0.1:1/mcp", "headers": {"X-Key": "${MCPPROXY_TEST_UNSET}"}});
    let daemon = TestDaemon::builder().entry("unset", unset).await;
    for (name, step) in [
        ("nobody", "`mcpproxy upstream list`"),
        ("unset", "`export MCPPROXY_TEST_UNSET=VALUE`"),
    ] {
        for verb in ["login", "logout"] {
            let (code, _, text) = daemon.home().cli(&["upstream", verb, name]).await;
            assert!(code != 0 && text.contains(step), "{text}");
        }
    }
}
