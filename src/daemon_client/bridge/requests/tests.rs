use super::*;

fn line(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn ask(requests: &mut PendingRequests, text: &str, turn: LineTurn) {
    match ClientLine::read(&line(text)) {
        ClientLine::Requests(noted) => requests.note(noted, &line(text), turn),
        other => panic!("{text} is a request, not {other:?}"),
    }
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"a": 1}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":"1","method":"tools/list"}"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{}}"#;

const CANCELLED: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;

#[test]
fn requests_are_open_until_they_are_answered_or_withdrawn() {
    let mut requests = PendingRequests::default();
    let listening = r#"{"jsonrpc":"2.0","id":3,"method":"subscriptions/listen","params":{}}"#;
    for text in [LIST, CALL, listening] {
        ask(&mut requests, text, LineTurn::First);
    }
    requests.answered(&line(r#"{"jsonrpc":"2.0","id":"1","result":{}}"#));
    assert!(requests.any_open());
    match ClientLine::read(&line(CANCELLED)) {
        ClientLine::WantsNoAnswer(Some(id)) => requests.withdrawn(&id),
        other => panic!("it withdraws a request, not {other:?}"),
    }
    assert!(!requests.any_open(), "a stream has no end of its own");
    ask(&mut requests, &format!("[{CALL}]"), LineTurn::First);
    assert!(requests.any_open());
    requests.answered(&line(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#));
    assert!(!requests.any_open(), "no batches here");
}

#[test]
fn what_a_line_wants_is_seen() {
    let check = |text: &str, expected: &str| {
        let found = match ClientLine::read(&line(text)) {
            ClientLine::Requests(requests) => {
                let ids: Vec<&str> = requests
                    .iter()
                    .map(|requests| requests.id.as_str())
                    .collect();
                format!("asks {}", ids.join(" "))
            }
            ClientLine::WantsNoAnswer(None) => "remark".to_owned(),
            ClientLine::WantsNoAnswer(Some(id)) => format!("withdraws {}", id.as_str()),
            ClientLine::Malformed(frame) => String::from_utf8(frame.to_vec()).expect("text"),
        };
        assert!(found.starts_with(expected), "{text}: {found}");
    };
    check(LIST, "asks \"1\"");
    check(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#, "remark");
    check(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "remark");
    check(CANCELLED, "withdraws 2");
    check(&format!("[{LIST},{CALL},7]"), "asks \"1\" 2");
    check("[7]", "asks");
    let error = |code: i64| format!(r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":{code},"#);
    check("nonsense", &error(-32700));
    check("{\"id\":1}", &error(-32600));
    check(r#"{"jsonrpc":"2.0","method":"tools/call"}"#, "remark");
}

#[test]
fn a_lost_daemon_fails_what_may_have_been_done_and_asks_the_rest_once_more() {
    let mut requests = PendingRequests::default();
    for text in [INITIALIZE, LIST, CALL] {
        ask(&mut requests, text, LineTurn::First);
    }
    let lost = requests.lose();
    assert_eq!(
        lost.failed,
        [Id::from_raw(&Raw::author(&2)).expect("an id")]
    );
    let mut again = lost.again;
    again.sort();
    assert_eq!(again, [line(LIST), line(INITIALIZE)]);
    for text in [INITIALIZE, LIST] {
        ask(&mut requests, text, LineTurn::Again);
    }
    let lost = requests.lose();
    assert_eq!((lost.failed.len(), lost.again.len()), (2, 0));
}

#[test]
fn answers_settle_requests_and_an_opening_that_succeeded_can_be_replayed() {
    let mut requests = PendingRequests::default();
    for text in [INITIALIZE, LIST, CALL] {
        ask(&mut requests, text, LineTurn::First);
    }
    assert!(requests.replay().is_none());
    for answer in [
        r#"{"jsonrpc":"2.0","id":0,"result":{"id":9}}"#,
        r#"{"id": "1", "error": {"code": 1, "message": ""}, "jsonrpc": "2.0"}"#,
        r#"{"jsonrpc":"2.0","method":"x","params":{"id":2,"result":2}}"#,
    ] {
        assert!(requests.answered(&line(answer)), "{answer}");
    }
    let replay = requests.replay().expect("it has opened");
    assert!(replay[0].ends_with(br#""method":"initialize","params":{"a": 1}}"#));
    assert!(!requests.answered(&line(
        r#"{"jsonrpc":"2.0","id":"mcpproxy:replayed","result":{}}"#
    )));
    assert_eq!(requests.lose().failed.len(), 1);
}

#[test]
fn what_the_client_wants_to_be_told_is_replayed_as_far_as_it_was_agreed_to() {
    let mut requests = PendingRequests::default();
    let request = |id: u8, name: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{name}","params":{params}}}"#)
    };
    let succeeds = |id: u8| line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    ask(&mut requests, INITIALIZE, LineTurn::First);
    requests.answered(&succeeds(0));
    for (id, name, params) in [
        (1, "resources/subscribe", r#"{"uri":"a://1"}"#),
        (2, "resources/subscribe", r#"{"uri":"a://2"}"#),
        (3, "resources/subscribe", r#"{"uri":"a://3"}"#),
        (4, "logging/setLevel", r#"{"level":"debug"}"#),
        (5, "logging/setLevel", r#"{"level":"error"}"#),
        (6, "resources/unsubscribe", r#"{"uri":"a://1"}"#),
    ] {
        ask(&mut requests, &request(id, name, params), LineTurn::First);
        if id != 3 {
            requests.answered(&succeeds(id));
        }
    }
    let refused = r#"{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":""}}"#;
    requests.answered(&line(refused));
    let replay = requests.replay().expect("it has opened");
    let rest: Vec<&str> = replay[2..]
        .iter()
        .map(|line| str::from_utf8(line).expect("text"))
        .collect();
    assert_eq!(rest.len(), 2, "{rest:?}");
    assert!(rest[0].ends_with(r#""method":"logging/setLevel","params":{"level":"error"}}"#));
    assert!(rest[1].contains(r#""uri":"a://2""#));
}

#[test]
fn a_refused_opening_is_not_replayed() {
    let mut requests = PendingRequests::default();
    ask(&mut requests, INITIALIZE, LineTurn::First);
    let refused = r#"{"jsonrpc":"2.0","id":0,"error":{"code":1,"message":",\"result\":"}}"#;
    assert!(requests.answered(&line(refused)));
    assert!(requests.replay().is_none());
    assert_eq!(requests.lose().failed, []);
}
