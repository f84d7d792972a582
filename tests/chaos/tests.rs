//! The parts of a run that need no daemon: its plan, and its judge.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    judge::{Call, End, Journals, Outcome, Trouble, end_of, judge},
    plan::{Plan, Transport},
};

#[test]
fn a_seed_is_a_plan() {
    let time = Duration::from_mins(1);
    let text = |seed| format!("{:?}", Plan::draw(seed, time));
    assert_eq!(text(1), text(1));
    assert_ne!(text(1), text(2));
    let plan = Plan::draw(1, time);
    assert_eq!(plan.servers.len(), 20);
    for transport in [Transport::Stdio, Transport::Http, Transport::Sse] {
        let of_it = plan
            .servers
            .iter()
            .filter(|server| server.transport == transport);
        assert!(of_it.clone().any(|server| server.touched));
        assert!(of_it.clone().any(|server| !server.touched), "{transport:?}");
    }
    for (server, faults) in plan.servers.iter().zip(&plan.faults) {
        assert_eq!(server.touched, !faults.is_empty(), "{}", server.name);
    }
    let n_faults: usize = plan.faults.iter().map(Vec::len).sum();
    assert!(n_faults > 50, "{n_faults}");
    assert!((1..20).any(|seed| !Plan::draw(seed, time).kills.is_empty()));
}

#[test]
fn an_end_is_ones_own_or_names_the_server() {
    let check = |outcome: Outcome, expected: &str| {
        let end = end_of("pipe-1", "t", 3, outcome);
        let text = format!("{end:?}");
        assert!(text.starts_with(expected), "{text}");
    };
    let answer = |frame: Value| Outcome::Answer(json!({"result": frame}));
    let own = |token: &str, more: &str| {
        let content = json!([{"text": "x"}, {"text": more}]);
        answer(json!({"content": content, "structuredContent": {"token": token}}))
    };
    check(own("t", "xxx"), "Done");
    check(own("u", "xxx"), r#"Wrong("the answer of another call"#);
    check(own("t", "xx"), r#"Wrong("2 of 3 characters came"#);
    check(Outcome::Nothing, "Wrong");
    check(Outcome::Disconnected("x".into()), "Disconnected");
    let failure = json!({"error": "pipe-1 is down", "code": "server_unavailable"}).to_string();
    let failed = json!({"isError": true, "content": [{"text": failure}]});
    check(answer(failed), r#"Failed { code: "server_unavailable""#);
    let nameless = json!({"isError": true, "content": [{"text": "no"}]});
    check(answer(nameless), "Wrong");
    let error = json!({"error": {"code": -32602, "message": "no pipe-1__t"}});
    check(Outcome::Answer(error), r#"Failed { code: "-32602""#);
    let lost = json!({"error": {"code": 1, "message": "mcpproxy ended", "data": {"code": "connection_lost"}}});
    check(Outcome::Answer(lost), "Disconnected");
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn call(token: &str, began: u64, end: End) -> Call {
    Call {
        token: token.to_owned(),
        client: "client".to_owned(),
        server: "pipe-1".to_owned(),
        tool: "look",
        began: seconds(began),
        ended: seconds(began + 1),
        end,
    }
}

fn trouble(server: Option<&str>, began: u64, ended: u64) -> Trouble {
    Trouble {
        server: server.map(str::to_owned),
        tool: None,
        what: "x".to_owned(),
        harmless: false,
        began: seconds(began),
        ended: Some(seconds(ended)),
    }
}

fn failed() -> End {
    End::Failed {
        code: "connection_lost".to_owned(),
        text: String::new(),
    }
}

/// What is wrong with these calls, the last of which is a good one at 100 s.
fn wrong(calls: &[Call], troubles: &[Trouble], executed: &[(&str, &str)]) -> Vec<String> {
    let mut journals = Journals::new();
    let last = [("pipe-1", "last")];
    for (server, token) in executed.iter().chain(&last) {
        let journal = journals.entry((*server).to_owned()).or_default();
        journal.push((*token).to_owned());
    }
    let mut calls = calls.to_vec();
    calls.push(call("last", 100, End::Done));
    let (_, violations) = judge(&calls, troubles, &journals);
    violations.into_iter().map(|found| found.what).collect()
}

#[test]
fn calls_run_once_and_where_they_were_sent() {
    let calls = [call("a", 1, End::Done)];
    let check = |executed: &[(&str, &str)], expected: &[&str]| {
        assert_eq!(wrong(&calls, &[], executed), expected);
    };
    check(&[("pipe-1", "a")], &[]);
    check(&[], &["answered without being executed"]);
    let twice = [("pipe-1", "a"), ("pipe-1", "a")];
    check(&twice, &["executed twice: by pipe-1 and by pipe-1"]);
    let elsewhere = [("pipe-1", "a"), ("web-1", "a")];
    check(
        &elsewhere,
        &[
            "executed twice: by pipe-1 and by web-1",
            "executed by web-1, and sent to pipe-1",
        ],
    );
    let nobody = [("pipe-1", "a"), ("pipe-1", "b")];
    check(&nobody, &["pipe-1 executed \"b\", which nobody sent"]);
}

#[test]
fn a_call_may_fail_of_what_befell_its_server_only() {
    let undeserved = ["failed without a fault of its server"];
    let check = |calls: &[Call], trouble: Trouble, executed: &[(&str, &str)], expected: &[&str]| {
        assert_eq!(wrong(calls, &[trouble], executed), expected);
    };
    let own = || trouble(Some("pipe-1"), 10, 20);
    check(&[call("a", 5, failed())], own(), &[], &undeserved);
    check(&[call("a", 9, failed())], own(), &[], &[]);
    check(&[call("a", 20, failed())], own(), &[], &[]);
    check(&[call("a", 30, failed())], own(), &[], &[]);
    let good = [call("a", 22, End::Done), call("b", 30, failed())];
    check(&good, own(), &[("pipe-1", "a")], &undeserved);
    let other = trouble(Some("web-1"), 10, 20);
    check(&[call("a", 15, failed())], other, &[], &undeserved);
    let harmless = Trouble {
        harmless: true,
        ..own()
    };
    check(&[call("a", 15, failed())], harmless, &[], &undeserved);
    let of_a_tool = Trouble {
        tool: Some("work"),
        ..own()
    };
    check(&[call("a", 15, failed())], of_a_tool, &[], &undeserved);
    let unended = Trouble {
        ended: None,
        ..own()
    };
    check(&[], unended, &[], &["never came to an end: x"]);
    let everyone = || trouble(None, 10, 20);
    check(&[call("a", 15, failed())], everyone(), &[], &[]);
    check(&[call("a", 21, failed())], everyone(), &[], &undeserved);
    let lost = |began| call("a", began, End::Disconnected("x".to_owned()));
    check(&[lost(22)], everyone(), &[], &[]);
    check(
        &[lost(15)],
        own(),
        &[],
        &["lost the daemon, which was there: x"],
    );
    let held = End::Failed {
        code: "tool_held".to_owned(),
        text: String::new(),
    };
    check(
        &[call("a", 15, held)],
        own(),
        &[("pipe-1", "a")],
        &["executed, and answered with tool_held"],
    );
}
