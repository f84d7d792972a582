//! Tokens that end: they are renewed once for all, without a word, or a person is asked.

use std::fs;

use super::{log_in, logged_in, row, wait_for_state};
use crate::support::{
    authorization_server::{AuthorizationServer, Habits, Renewal},
    prelude::*,
};

#[tokio::test]
async fn a_token_that_ends_is_renewed_before_a_call() {
    let server = AuthorizationServer::start(Habits::default()).await;
    let (daemon, client) = logged_in(&server).await;
    client.call("up__echo", "{}").await.result();
    let home = daemon.shutdown().await;
    // It came so long ago that it has ended.
    let file = home.data_dir().join("logins/up.json");
    let kept = fs::read_to_string(&file).expect("it is kept");
    let mut kept: Value = serde_json::from_str(&kept).expect("JSON");
    kept["grant"]["received"] = json!(1);
    fs::write(&file, kept.to_string()).expect("it is ours");
    let before = server.asked("/mcp").len();
    let daemon = TestDaemon::start_in(home).await;
    let client = daemon.client_of("up__echo").await;
    client.call("up__echo", "{}").await.result();
    let renewed = server.grants("refresh_token");
    assert_eq!(renewed.len(), 1);
    let fields = &renewed[0].fields;
    assert_eq!(fields["resource"], format!("{}/mcp", server.url()));
    assert!(!fields.contains_key("scope"), "{fields:?}");
    // No request bore the token that had ended.
    let ended = kept["grant"]["access_token"].as_str().expect("a token");
    let ended = format!("Bearer {ended}");
    let calls = server.asked("/mcp").split_off(before);
    assert!(!calls.is_empty());
    assert!(
        calls.iter().all(|call| call.authorization != ended),
        "{calls:?}"
    );
}

#[tokio::test]
async fn tokens_that_end_as_they_come_are_not_renewed_for_each_request() {
    for lifetime in [json!(0), json!("0"), json!(0.5)] {
        let habits = Habits {
            lifetime: Some(lifetime),
            ..Habits::default()
        };
        let server = AuthorizationServer::start(habits).await;
        let (_daemon, client) = logged_in(&server).await;
        for _ in 0..20 {
            client.call("up__echo", "{}").await.result();
        }
        let renewed = server.grants("refresh_token").len();
        assert!(renewed <= 3, "{renewed} renewals for 20 calls");
    }
}

#[tokio::test]
async fn two_clients_that_need_one_token_cause_one_renewal() {
    let habits = Habits {
        lifetime: None,
        ..Habits::default()
    };
    let server = AuthorizationServer::start(habits).await;
    let (daemon, first) = logged_in(&server).await;
    let second = daemon.client("/mcp/all").await;
    server.change(|habits| habits.renewal = Renewal::Waits);
    server.revoke_tokens();
    let releasing = async {
        server.wait_for_grants("refresh_token", 1).await;
        server.release();
    };
    let (one, two, ()) = tokio::join!(
        first.call("up__echo", "{}"),
        second.call("up__echo", "{}"),
        releasing
    );
    assert_eq!(
        (one.text(), two.text()),
        ("done".to_owned(), "done".to_owned())
    );
    assert_eq!(server.grants("refresh_token").len(), 1);
}

#[tokio::test]
async fn a_refused_renewal_asks_a_person() {
    let server = AuthorizationServer::start(Habits::default()).await;
    let (daemon, client) = logged_in(&server).await;
    server.change(|habits| habits.renewal = Renewal::Refused);
    server.revoke_tokens();
    let refused = client.call("up__echo", "{}").await.failure();
    assert_eq!(refused["code"], "login_required", "{refused}");
    let shown = wait_for_state(&daemon, "Authenticating").await;
    has!(shown["last_error"], "its login has ended: ");
    let n_renewals = server.grants("refresh_token").len();
    client.call("up__echo", "{}").await.failure();
    assert_eq!(server.grants("refresh_token").len(), n_renewals);
    server.change(|habits| habits.renewal = Renewal::Works);
    log_in(&daemon).await;
    wait_for_state(&daemon, "Ready").await;
    assert_eq!(client.call("up__echo", "{}").await.text(), "done");
}

#[tokio::test]
async fn an_authorization_server_that_is_down_costs_no_login() {
    let server = AuthorizationServer::start(Habits::default()).await;
    let (daemon, client) = logged_in(&server).await;
    server.change(|habits| habits.renewal = Renewal::Down);
    server.revoke_tokens();
    let failed = client.call("up__echo", "{}").await.failure();
    assert_eq!(failed["code"], "server_unavailable", "{failed}");
    check_trouble(&failed["error"], "answered HTTP 503");
    let shown = row(&daemon, "up").await;
    assert_eq!(shown["state"], "Error", "{shown}");
    check_trouble(&shown["last_error"], "answered HTTP 503");
    let step = shown["next_step"].as_str().expect("a step");
    assert!(step.ends_with("try again later"), "{step}");
    let health = daemon.get("/health").await.json();
    check_trouble(&health["servers"][0]["reason"], "answered HTTP 503");
    let file = daemon.home().data_dir().join("logins/up.json");
    let kept = fs::read_to_string(file).expect("it is kept");
    has!(kept, "refresh-hunter2");
    // Nobody has to ask.
    let n_renewals = server.grants("refresh_token").len();
    server.change(|habits| habits.renewal = Renewal::Works);
    server
        .wait_for_grants("refresh_token", n_renewals + 1)
        .await;
    wait_for_state(&daemon, "Ready").await;
    assert_eq!(client.call("up__echo", "{}").await.text(), "done");
}

/// What is said of a login that does not work for now: why, and when it is renewed.
#[track_caller]
fn check_trouble(text: &Value, why: &str) {
    has!(text, why);
    has!(text, "next attempt in ");
}

#[tokio::test]
async fn a_token_that_came_just_now_is_renewed_when_it_is_refused() {
    let server = AuthorizationServer::start(Habits::default()).await;
    let (daemon, client) = logged_in(&server).await;
    for n in 1..=3 {
        server.revoke_tokens();
        assert_eq!(client.call("up__echo", "{}").await.text(), "done");
        assert_eq!(server.grants("refresh_token").len(), n);
    }
    assert_eq!(row(&daemon, "up").await["state"], "Ready");
}

#[tokio::test]
async fn a_server_that_refuses_every_token_does_not_cause_renewal_upon_renewal() {
    let server = AuthorizationServer::start(Habits::default()).await;
    let (daemon, client) = logged_in(&server).await;
    server.change(|habits| habits.takes_tokens = false);
    let failed = client.call("up__echo", "{}").await.failure();
    assert_eq!(failed["code"], "server_unavailable", "{failed}");
    check_trouble(&failed["error"], "newly issued");
    let shown = row(&daemon, "up").await;
    assert_eq!(shown["state"], "Error", "{shown}");
    check_trouble(&shown["last_error"], "newly issued");
    has!(shown["next_step"], "try again later");
    for _ in 0..6 {
        client.call("up__echo", "{}").await.failure();
    }
    let n_renewals = server.grants("refresh_token").len();
    assert!(n_renewals <= 2, "{n_renewals}");
    // One more when the pause is over, without a call.
    server.change(|habits| habits.takes_tokens = true);
    server
        .wait_for_grants("refresh_token", n_renewals + 1)
        .await;
    wait_for_state(&daemon, "Ready").await;
    assert_eq!(client.call("up__echo", "{}").await.text(), "done");
}
