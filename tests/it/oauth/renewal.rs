//! Tokens that end: they are renewed once for all, without a word, or a person is asked.

use super::{log_in, logged_in, logged_in_before, wait_for_state};
use crate::support::authorization_server::{AuthorizationServer, Habits, Renewal};

#[tokio::test]
async fn a_token_that_ends_is_renewed_before_a_call() {
    // At its end from the beginning.
    let habits = Habits {
        lifetime: Some(0),
        ..Habits::default()
    };
    let server = AuthorizationServer::start(habits).await;
    let (_daemon, client) = logged_in(&server).await;
    client.call("up__echo", "{}").await.result();
    let renewed = server.grants("refresh_token");
    assert!(!renewed.is_empty());
    let fields = &renewed[0].fields;
    assert_eq!(fields["resource"], format!("{}/mcp", server.url()));
    assert!(!fields.contains_key("scope"), "{fields:?}");
    // No request bore a token that had ended: the server refused only what had none.
    let calls = server.asked("/mcp");
    assert!(
        calls
            .iter()
            .all(|call| call.authorization != "Bearer access-hunter2-3"),
        "{calls:?}"
    );
}

#[tokio::test]
async fn two_clients_that_need_one_token_cause_one_renewal() {
    let habits = Habits {
        lifetime: None,
        ..Habits::default()
    };
    let server = AuthorizationServer::start(habits).await;
    let (daemon, first) = logged_in_before(&server).await;
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
    let (daemon, client) = logged_in_before(&server).await;
    server.change(|habits| habits.renewal = Renewal::Refused);
    server.revoke_tokens();
    let refused = client.call("up__echo", "{}").await.failure();
    assert_eq!(refused["code"], "login_required", "{refused}");
    wait_for_state(&daemon, "Authenticating").await;
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
    let (daemon, client) = logged_in_before(&server).await;
    server.change(|habits| habits.renewal = Renewal::Down);
    server.revoke_tokens();
    let failed = client.call("up__echo", "{}").await.failure();
    assert_ne!(failed["code"], "login_required", "{failed}");
    let file = daemon.home().data_dir().join("logins/up.json");
    let kept = std::fs::read_to_string(file).expect("it is kept");
    assert!(kept.contains("refresh-hunter2"));
}
