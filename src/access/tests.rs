use std::path::Path;

use http::{HeaderName, HeaderValue};

use super::*;
use crate::config::{self, ANONYMOUS, OPERATOR, Surroundings};

fn settings(text: &str) -> Settings {
    let surroundings = Surroundings {
        lookup: &|_| None,
        folder: Path::new("/"),
    };
    config::parse(text, &surroundings).expect("a configuration")
}

const NETWORK: &str = "127.0.0.1:1";
const ELSEWHERE: &str = "10.0.0.7:1";

fn headers(all: &[(&'static str, &'static str)]) -> HeaderMap {
    let pair = |(name, value): &(&'static str, &'static str)| {
        (
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        )
    };
    all.iter().map(pair).collect()
}

/// Who a request is from: subject and roles, or the refusal.
fn ask(auth: &str, peer: Option<&str>, all: &[(&'static str, &'static str)]) -> String {
    let settings = settings(&format!(r#"{{"serverAuth": {auth}}}"#));
    let peer = peer.map_or(Peer::LocalSocket, |peer| {
        Peer::Network(peer.parse().expect("an address"))
    });
    match Access::default().authenticate(&settings, &headers(all), peer) {
        Ok(caller) => format!("{} {:?}", caller.subject(), caller.roles(&settings)),
        Err(refused) => refused.to_string(),
    }
}

const BEARER: &str = r#"{"provider": "bearer", "bearer": {"tokens":
    {"0123456789abcdef-ada": {"subject": "ada", "roles": ["dev"]}, "0123456789abcdef-bob": "bob"}}}"#;
const FORWARDED: &str = r#"{"provider": "forwarded", "forwarded": {"groups_header": "x-groups"}}"#;

fn both(order: &str) -> String {
    format!(
        r#"{{"providers": {order}, "bearer": {{"tokens": {{"0123456789abcdef-ada": "ada"}}}}}}"#
    )
}

const ADA: (&str, &str) = ("authorization", "Bearer 0123456789abcdef-ada");
const NO_CREDENTIAL: &str = "the request has no token";
const NO_USER: &str = "the request has no user name in x-forwarded-user, and no token";
const NO_BEARER: &str = "the header authorization is not `Bearer TOKEN`";
const UNKNOWN: &str = "the token is unknown";

#[test]
fn the_way_in_tells_the_operator_from_clients() {
    let (access, open) = (Access::default(), Settings::default());
    let network = Peer::Network(([127, 0, 0, 1], 1).into());
    let clients = [network, Peer::LocalSocket].map(|peer| {
        let caller = access.authenticate(&open, &HeaderMap::new(), peer);
        caller.expect("everybody is let in")
    });
    assert_eq!(clients[0], clients[1]);
    assert_eq!(clients[0], access.standard_streams());
    assert_eq!(clients[0].subject(), ANONYMOUS);
    let ask = |peer| access.authenticate_operator(&open, peer, &Method::GET, &HeaderMap::new());
    let (operator, _) = ask(Peer::LocalSocket).expect("the socket is the operator's");
    assert_eq!(operator, access.terminal());
    assert_eq!(operator.subject(), OPERATOR);
    assert!(!operator.is_same_subject(&clients[0]));
    assert_eq!(ask(network), Err(NotAnOperator::NoKey));
}

#[test]
fn a_token_says_who_it_is() {
    let check = |peer, all: &[_], expected: &str| assert_eq!(ask(BEARER, peer, all), expected);
    for peer in [Some(NETWORK), Some(ELSEWHERE), None] {
        check(peer, &[ADA], r#"ada ["dev"]"#);
        check(
            peer,
            &[("authorization", "bearer 0123456789abcdef-bob")],
            "bob []",
        );
        check(
            peer,
            &[("authorization", "Bearer 0123456789abcdef-ad")],
            UNKNOWN,
        );
        check(
            peer,
            &[("authorization", "Bearer")],
            "the header authorization has no token",
        );
    }
    check(Some(NETWORK), &[], NO_CREDENTIAL);
    for peer in [Some(NETWORK), None] {
        check(peer, &[("authorization", "Basic YTpi")], NO_BEARER);
    }
    check(Some(NETWORK), &[("x-forwarded-user", "ada")], NO_CREDENTIAL);
    // Who may open the socket need not say who it is.
    check(None, &[], "anonymous []");
}

#[test]
fn what_is_shown_has_to_be_a_good_token_also_where_none_is_needed() {
    let (access, open) = (Access::default(), Settings::default());
    for written in [
        "Basic YTpi",
        "mcpproxy_abc",
        "Token mcpproxy_abc",
        "Bearer:mcpproxy_abc",
        "Bearer\tmcpproxy_abc",
        "Bearer mcpproxy_abc",
    ] {
        for peer in [Peer::Network(([127, 0, 0, 1], 1).into()), Peer::LocalSocket] {
            let shown = headers(&[("authorization", written)]);
            let caller = access.authenticate(&open, &shown, peer);
            assert!(caller.is_err(), "{written}");
        }
    }
}

#[test]
fn a_proxy_is_believed_if_it_is_trusted() {
    let check = |peer, all: &[_], expected: &str| assert_eq!(ask(FORWARDED, peer, all), expected);
    let ada = ("x-forwarded-user", "ada");
    check(Some(NETWORK), &[ada], "ada []");
    check(
        Some(NETWORK),
        &[ada, ("x-groups", "dev, ops")],
        r#"ada ["dev", "ops"]"#,
    );
    check(Some("[::1]:1"), &[ada], "ada []");
    check(Some(ELSEWHERE), &[ada], NO_CREDENTIAL);
    check(Some(NETWORK), &[], NO_USER);
    // A token that is shown has to be known, whatever else would do.
    check(Some(NETWORK), &[ADA], UNKNOWN);
    check(
        Some(NETWORK),
        &[("x-forwarded-user", "operator")],
        "the header x-forwarded-user names a caller reserved by mcpproxy",
    );
    // What the proxy was shown is its business.
    check(
        Some(NETWORK),
        &[ada, ("authorization", "Basic YTpi")],
        "ada []",
    );
    // The local socket is no proxy's.
    check(None, &[ada], "anonymous []");
    let named = r#"{"provider": "forwarded", "forwarded": {"header": "X-User", "trusted_proxies": ["10.0.0.0/8"]}}"#;
    assert_eq!(ask(named, Some(ELSEWHERE), &[("x-user", "ada")]), "ada []");
    assert_eq!(
        ask(named, Some(NETWORK), &[("x-user", "ada")]),
        NO_CREDENTIAL
    );
}

#[test]
fn providers_are_asked_in_their_order() {
    let user = ("x-forwarded-user", "bob");
    let unknown = ("authorization", "Bearer of-the-proxy");
    let revoked = ("authorization", "Bearer mcpp_0123456789abcdef");
    for (order, all, expected) in [
        (r#"["bearer", "forwarded"]"#, &[ADA, user][..], "ada []"),
        (r#"["forwarded", "bearer"]"#, &[ADA, user], "bob []"),
        (r#"["bearer", "forwarded"]"#, &[user], "bob []"),
        (r#"["forwarded", "bearer"]"#, &[ADA], "ada []"),
        (r#"["bearer", "forwarded"]"#, &[unknown, user], "bob []"),
        (r#"["bearer", "forwarded"]"#, &[unknown], UNKNOWN),
        (r#"["bearer", "forwarded"]"#, &[revoked, user], UNKNOWN),
        (r#"["forwarded", "bearer"]"#, &[revoked, user], UNKNOWN),
        (r#"["bearer", "forwarded"]"#, &[], NO_USER),
    ] {
        assert_eq!(
            ask(&both(order), Some(NETWORK), all),
            expected,
            "{order} {all:?}"
        );
    }
}

#[test]
fn what_was_shown_counts_as_long_as_the_settings_say_so() {
    let first = settings(&format!(r#"{{"serverAuth": {BEARER}}}"#));
    let access = Access::default();
    let network = Peer::Network(NETWORK.parse().expect("an address"));
    let ada = access.authenticate(&first, &headers(&[ADA]), network);
    let ada = ada.expect("a token that is known");
    let open = access.authenticate(&Settings::default(), &HeaderMap::new(), network);
    let open = open.expect("nobody is asked");
    let forwarding = settings(&format!(r#"{{"serverAuth": {FORWARDED}}}"#));
    let user = headers(&[("x-forwarded-user", "eve")]);
    let eve = access
        .authenticate(&forwarding, &user, network)
        .expect("a user");
    let other = |tokens: &str| {
        let auth = format!(
            r#"{{"serverAuth": {{"provider": "bearer", "bearer": {{"tokens": {tokens}}}}}}}"#
        );
        settings(&auth)
    };
    let with_role = other(r#"{"0123456789abcdef-ada": {"subject": "ada", "roles": ["ops"]}}"#);
    assert!(ada.is_current(&first) && ada.is_current(&with_role));
    assert_eq!(ada.roles(&with_role), ["ops"]);
    for gone in [
        other(r#"{"0123456789abcdef-eve": "ada"}"#),
        other(r#"{"0123456789abcdef-ada": "eve"}"#),
        settings(&format!(r#"{{"serverAuth": {FORWARDED}}}"#)),
        Settings::default(),
    ] {
        assert!(!ada.is_current(&gone), "{gone:?}");
        assert!(ada.roles(&gone).is_empty() || gone.server_auth.is_some());
    }
    assert!(open.is_current(&Settings::default()) && !open.is_current(&first));
    assert!(eve.is_current(&forwarding) && !eve.is_current(&first));
    assert!(access.standard_streams().is_current(&first));
}

#[tokio::test]
async fn a_withdrawn_token_is_noticed() {
    let first = settings(&format!(r#"{{"serverAuth": {BEARER}}}"#));
    let (keeper, receiver) = watch::channel(Arc::new(first));
    let (access, _task) = Access::new(receiver, None, None);
    let network = Peer::Network(NETWORK.parse().expect("an address"));
    let ada = {
        let settings = access.settings();
        let ada = access.authenticate(&settings, &headers(&[ADA]), network);
        ada.expect("a token that is known")
    };
    let mut noticed = Box::pin(access.withdrawn(&ada));
    assert!(futures_util::FutureExt::now_or_never(&mut noticed).is_none());
    keeper.send_replace(Arc::new(Settings::default()));
    noticed.await;
}
