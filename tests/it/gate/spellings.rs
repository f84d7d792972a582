//! Names that are spelt otherwise, or are there twice, lead to no tool that is refused.

use super::{
    house,
    ways::{House, Outcome, refused, server},
};
use crate::support::prelude::*;

#[tokio::test]
async fn no_spelling_reaches_a_refused_tool() {
    let house = house().await;
    let native = house.native("part");
    // A name that appears twice is no name, and where many servers are one without its server is nobody's.
    for (open, hidden, client, code) in [
        ("wave", "echo", native, "tool_disabled"),
        ("part__wave", "part__echo", &house.all, "tool_disabled"),
        ("part__wave", "echo", &house.all, "-32602"),
    ] {
        let both = [
            format!(r#"{{"name":"{open}","name":"{hidden}"}}"#),
            format!(r#"{{"name":"{hidden}","name":"{open}"}}"#),
            format!(r#"{{"name":"{open}","n\u0061me":"{hidden}"}}"#),
            format!(r#"{{"n\u0061me":"{hidden}","name":"{open}"}}"#),
        ];
        let alone = [
            (format!(r#"{{"name":"{open}"}}"#), Outcome::Passed),
            (format!(r#"{{"name":"{hidden}"}}"#), refused(code)),
        ];
        let both = both.map(|params| (params, refused("-32602")));
        for (params, expected) in alone.into_iter().chain(both) {
            for method in ["tools/call", "tools\\/call", "t\\u006fols/call"] {
                let outcome = Outcome::of(&client.request(method, &params).await);
                assert_eq!(outcome, expected, "{method} {params}");
            }
        }
    }
    let calls = house.server("part").received("tools/call");
    assert_eq!(calls.len(), 9, "as many as passed");
    for call in calls {
        has!(call, "wave");
        lacks!(call, "echo");
    }
}

/// None of these names passes at `up`, by itself or through a built-in tool.
async fn none_passes(house: &House, spellings: &[&str], code: &str) {
    for name in spellings {
        let own = format!(r#"{{"name":"{name}"}}"#);
        let named = format!(r#"{{"name":"call_tool_write","arguments":{{"name":"up:{name}"}}}}"#);
        for (client, params) in [(house.native("up"), own), (&house.all, named)] {
            let outcome = Outcome::of(&client.request("tools/call", &params).await);
            assert_eq!(outcome, refused(code), "{params}");
        }
    }
}

#[tokio::test]
async fn where_new_tools_are_allowed_no_spelling_passes_for_one() {
    let servers = [("up".to_owned(), server("up"))].into();
    let house = House::of(servers, &json!({}), json!({})).await;
    let entry = json!({ "disabled_tools": ["echo"], "tool_changes": "allow" });
    house.edit(&[("up", entry)]).await;
    let spellings = [
        "echo", "ECHO", "Echo", " echo", "echo ", "echo\\n", "e-cho", "e_c h.o",
    ];
    none_passes(&house, &spellings, "tool_disabled").await;
    let other = house
        .native("up")
        .request("tools/call", r#"{"name":"brand_new"}"#);
    other.await;
    let calls = house.server("up").received("tools/call");
    assert_eq!(
        calls.len(),
        1,
        "what is new is the server's to answer: {calls:?}"
    );
}

#[tokio::test]
async fn where_new_tools_are_allowed_no_spelling_of_a_denied_one_passes() {
    let rules =
        json!({ "default": "allow", "rules": [{ "tools": ["up:echo"], "policy": "deny" }] });
    let servers = [("up".to_owned(), server("up"))].into();
    let acl = json!({ "serverAuth": { "acl": rules } });
    let house = House::of(servers, &json!({ "tool_changes": "allow" }), acl).await;
    let spellings = "echo ECHO e-cho %65cho %2565cho ｅｃｈｏ \\u0435cho e\\u0441ho echo\\u200b 𝐞𝐜𝐡𝐨 écho echo%00 \
                     something\\u200bnew löschen";
    let spellings: Vec<&str> = spellings.split(' ').collect();
    none_passes(&house, &spellings, "access_denied").await;
    assert_eq!(house.server("up").received("tools/call").len(), 0);
    for name in ["brand_new", "w%61ve"] {
        let params = format!(r#"{{"name":"{name}"}}"#);
        house.native("up").request("tools/call", &params).await;
    }
    let calls = house.server("up").received("tools/call");
    assert_eq!(
        calls.len(),
        2,
        "what is new is the server's to answer: {calls:?}"
    );
}
