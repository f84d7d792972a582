use http::header;

use super::*;

const KEY: &str = "a-key-that-is-written-down";

fn ask(
    operators: &Operators,
    settings: &Settings,
    headers: &[(&HeaderName, &str)],
) -> Result<Pass, NotAnOperator> {
    let mut all = HeaderMap::new();
    all.insert(header::HOST, HeaderValue::from_static("127.0.0.1:8080"));
    for (name, value) in headers {
        all.append(*name, HeaderValue::from_str(value).expect("a header value"));
    }
    let mut answers = ["127.0.0.1:9", "192.0.2.7:9"].map(|address| {
        let peer = Peer::Network(address.parse().expect("an address"));
        operators.authenticate(settings, peer, &Method::GET, &all)
    });
    assert_eq!(answers[0], answers[1], "the address says nothing");
    let local = operators.authenticate(settings, Peer::LocalSocket, &Method::POST, &all);
    assert_eq!(local, Ok(OperatorPass(Pass::LocalSocket)));
    std::mem::replace(&mut answers[0], Err(NotAnOperator::NoKey)).map(|pass| pass.0)
}

#[test]
fn the_key_of_the_settings_counts_or_else_the_kept_one() {
    let kept = Secret::new("kept-key");
    let operators = Operators::new(Some(&kept), None);
    let (open, mut written) = (Settings::default(), Settings::default());
    written.api_key = Some(Secret::new(KEY));
    let check = |settings: &Settings, key: &str, is_right: bool| {
        let expected = if is_right {
            Ok(Pass::Key(TokenHash::of(key)))
        } else {
            Err(NotAnOperator::WrongKey)
        };
        assert_eq!(ask(&operators, settings, &[(&API_KEY, key)]), expected);
    };
    check(&open, "kept-key", true);
    check(&open, KEY, false);
    check(&written, KEY, true);
    check(&written, "kept-key", false);
    check(&written, "", false);
    let twice = [(&API_KEY, KEY), (&API_KEY, KEY)];
    assert_eq!(
        ask(&operators, &written, &twice),
        Err(NotAnOperator::WrongKey)
    );
    // No key at all opens nothing.
    let none = Operators::default();
    let shown = ask(&none, &open, &[(&API_KEY, "")]);
    assert_eq!(shown, Err(NotAnOperator::WrongKey));
    assert_eq!(ask(&none, &open, &[]), Err(NotAnOperator::NoKey));
}

#[test]
fn what_a_client_shows_is_no_key() {
    let operators = Operators::new(Some(&Secret::new(KEY)), None);
    let settings = Settings::default();
    for headers in [
        (header::AUTHORIZATION, format!("Bearer {KEY}")),
        (
            HeaderName::from_static("x-forwarded-user"),
            "operator".to_owned(),
        ),
        (header::COOKIE, format!("mcpproxy_page={KEY}")),
    ] {
        let asked = ask(&operators, &settings, &[(&headers.0, &headers.1)]);
        assert_eq!(asked, Err(NotAnOperator::NoKey), "{headers:?}");
    }
}

#[test]
fn a_session_counts_where_it_comes_from_the_page() {
    let operators = Operators::default();
    let settings = Settings::default();
    let link = operators.new_link().expect("there are random bytes");
    let mut at = HeaderMap::new();
    at.insert(header::HOST, HeaderValue::from_static("127.0.0.1:8080"));
    let set = operators.log_in(link.reveal(), &settings, &at);
    let set = set.expect("there are random bytes").expect("a new link");
    let cookie = set.to_str().expect("text").split(';').next().expect("it");
    let session = ask(&operators, &settings, &[(&header::COOKIE, cookie)]);
    let Ok(Pass::Page(_)) = session else {
        panic!("{session:?}");
    };
    let foreign = [
        (&header::COOKIE, cookie),
        (&header::ORIGIN, "http://127.0.0.1:3000"),
    ];
    assert_eq!(
        ask(&operators, &settings, &foreign),
        Err(NotAnOperator::OtherOrigin)
    );
    let pass = OperatorPass(session.expect("it is open"));
    assert!(operators.log_out(pass, &at).is_some());
    assert_eq!(
        ask(&operators, &settings, &[(&header::COOKIE, cookie)]),
        Err(NotAnOperator::SessionOver)
    );
    let key = OperatorPass(Pass::Key(TokenHash::of(KEY)));
    assert!(operators.log_out(key, &at).is_none());
}
