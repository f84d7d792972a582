//! Every way in leaves one record of each request, and one of each call that it causes, with the right parent.

use super::{
    house,
    ways::{House, Outcome, THINGS, WAYS, Way},
};
use crate::support::prelude::*;

/// What was recorded of calls since this record, the oldest first; and the last record of all.
async fn since(house: &House, last: &mut u64) -> Vec<Value> {
    let query = format!("kind=call&limit=1000&after={last}");
    let records = house.daemon.home().activity(&query).await;
    if let Some(newest) = records.last() {
        *last = newest["id"].as_u64().expect("a number");
    }
    records
}

/// Where a call of this way comes in.
fn endpoint(way: Way, server: &str) -> String {
    match way {
        Way::Native | Way::NativeModern => format!("/mcp/server/{server}"),
        Way::Rest | Way::Cli => "/api/v1/call".to_owned(),
        Way::ScriptRest => "/api/v1/code".to_owned(),
        _ => "/mcp/all".to_owned(),
    }
}

#[tokio::test]
async fn every_way_in_leaves_one_record_of_each_call() {
    let house = house().await;
    let mut last = 0;
    for way in WAYS {
        for (server, tool) in [
            ("free", "echo"),
            ("held", "echo"),
            ("off", "echo"),
            ("wrong", "echo"),
            ("part", "echo"),
        ] {
            since(&house, &mut last).await;
            let outcome = house.call(way, server, tool).await;
            let records = since(&house, &mut last).await;
            // To know the effect of a tool `call_tool` has to know its server, and calls nothing where there is none.
            let is_script = matches!(way, Way::Script | Way::ScriptBatch | Way::ScriptRest);
            let is_proxy = matches!(way, Way::ProxyOffered | Way::ProxyNamed);
            let is_built_in =
                is_script || is_proxy || matches!(way, Way::Variant(_) | Way::CallTool);
            if way == Way::CallTool && server == "wrong" {
                assert_eq!(records.len(), 1, "{records:?}");
                assert_eq!(records[0]["code"], "server_misconfigured");
                continue;
            }
            assert_eq!(
                records.len(),
                1 + usize::from(is_built_in),
                "{way:?} {server}: {records:?}"
            );
            let call = &records[0];
            is_like!(call, { "server": server, "tool": tool }, "{way:?}");
            assert_eq!(call["method"], "tools/call");
            match outcome {
                Outcome::Passed => assert_eq!(call["outcome"], "ok"),
                Outcome::Refused(code) => assert_eq!(call["code"], *code, "{call}"),
            }
            let caller = if matches!(way, Way::Rest | Way::Cli | Way::ScriptRest) {
                "operator"
            } else {
                "anonymous"
            };
            assert_eq!(call["caller"], caller);
            let outermost = &records[records.len() - 1];
            assert_eq!(outermost["parent"], Value::Null, "{outermost}");
            assert_eq!(outermost["endpoint"], endpoint(way, server), "{way:?}");
            if is_built_in {
                assert_eq!(call["parent"], outermost["call"], "{call}");
                assert_eq!(outermost["server"], Value::Null);
                let name = outermost["tool"].as_str().expect("a name");
                let expected = if is_script {
                    "code_execution"
                } else if is_proxy {
                    "proxy"
                } else {
                    "call_tool"
                };
                assert!(name.starts_with(expected), "{name}");
                // A script that was told why goes on.
                let code = if is_script {
                    &Value::Null
                } else {
                    &call["code"]
                };
                assert_eq!(&outermost["code"], code, "{outermost}");
            }
        }
    }
}

#[tokio::test]
async fn so_do_prompts_resources_completions_and_subscriptions() {
    let house = house().await;
    let mut last = 0;
    for thing in THINGS {
        for server in ["free", "held"] {
            since(&house, &mut last).await;
            let outcomes = house.ask(thing, server).await;
            let records = since(&house, &mut last).await;
            assert_eq!(records.len(), 2, "{thing:?} of {server}: {records:?}");
            for (record, outcome) in records.iter().zip(outcomes) {
                is_like!(record, { "server": server, "parent": null });
                match outcome {
                    Outcome::Passed => assert_eq!(record["outcome"], "ok", "{record}"),
                    Outcome::Refused(code) => assert_eq!(record["code"], *code, "{record}"),
                }
            }
        }
    }
}
