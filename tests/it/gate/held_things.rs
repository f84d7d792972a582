//! What nobody has approved is refused on every way in, listed nowhere, and no agent reads its text.

use super::proxied;
use super::ways::{
    House, LISTED, Outcome, Thing, WAYS, all_listed, names, refused, server, suspicious,
};
use crate::support::prelude::*;

#[tokio::test]
async fn what_nobody_approved_is_refused_on_every_way_in_and_listed_nowhere() {
    let servers = [
        ("swap".to_owned(), server("swap")),
        ("fish".to_owned(), suspicious("fish")),
    ];
    let house = House::of(servers.into(), &json!({}), json!({})).await;
    let changed = plain_tool("echo").replace("The tool", "The secretword tool");
    let offered = [(changed, echo()), (plain_tool("wave"), echo())];
    house.server("swap").offer(&offered).await;
    until_async("the change to be held", async || {
        let listed = house.all.tool_names().await;
        (!listed.contains(&"swap__echo".to_owned())).then_some(())
    })
    .await;
    for way in WAYS {
        for (server, code) in [("swap", "tool_changed"), ("fish", "tool_held")] {
            assert_eq!(house.call(way, server, "wave").await, Outcome::Passed);
            let outcome = house.call(way, server, "echo").await;
            assert_eq!(outcome, refused(code), "{way:?} to {server}");
        }
    }
    proxied::check(&house, &LISTED, "fish", &refused("tool_held")).await;
    proxied::check(&house, &LISTED, "swap", &Outcome::Passed).await;
    let info = house.proxied("info", "tool", "swap__echo").await;
    assert_eq!(Outcome::of(&info), refused("tool_changed"));
    let by_name = house.proxied("call", "resource", "fish:n").await;
    assert_eq!(Outcome::of(&by_name), refused("tool_held"));
    let expected = [
        &["fish__wave", "swap__wave"][..],
        &["swap__greet"],
        &["lib://swap"],
        &["page://swap/{n}"],
    ];
    assert_eq!(all_listed(&house.all).await, expected);
    assert_eq!(proxied::listed(&house.all).await, expected.concat());
    let of_fish = [&["wave"][..], &[], &[], &[]];
    assert_eq!(all_listed(house.native("fish")).await, of_fish);
    for thing in LISTED {
        let outcomes = house.ask(thing, "fish").await;
        let expected = [refused("tool_held"), refused("tool_held")];
        assert_eq!(outcomes, expected, "{thing:?}");
        // A server is told once of two who want the same updates.
        if thing != Thing::SubscriptionOfResource {
            let outcomes = house.ask(thing, "swap").await;
            assert_eq!(outcomes, [Outcome::Passed, Outcome::Passed], "{thing:?}");
        }
    }
    let modern = ModernClient::new(&house.daemon, "/mcp/all");
    assert_eq!(modern.tool_names().await, ["fish__wave", "swap__wave"]);
}

#[tokio::test]
async fn no_answer_to_an_agent_has_the_text_of_what_is_held() {
    let servers = [
        ("fish".to_owned(), suspicious("fish")),
        ("held".to_owned(), suspicious("held")),
    ];
    let house = House::of(servers.into(), &json!({}), json!({})).await;
    house
        .edit(&[("held", json!({ "quarantined": true }))])
        .await;
    for [tool, arguments] in rows(
        r#"
        retrieve_tools | {"query":"echo"}
        retrieve_tools | {"query":"fish:echo"}
        describe_tool | {"names":["fish:echo","held:echo","fish:ech"]}
        quarantine_security | {"operation":"list"}
        call_tool_read | {"name":"fish:echo"}
        call_tool_read | {"name":"held:echo","args":{"a":1}}
        call_tool_read | {"name":"fish:eco"}
        fish__echo | {}
        held__echo | {}
        fish__eco | {}
        proxy | {"action":"list","type":"tool"}
        proxy | {"action":"list","type":"prompt"}
        proxy | {"action":"list","type":"resource"}
        proxy | {"action":"info","type":"tool","path":"fish__echo"}
        proxy | {"action":"info","type":"tool","path":"held:echo"}
        proxy | {"action":"call","type":"tool","path":"fish:echo"}
        proxy | {"action":"info","type":"prompt","path":"fish__greet"}
        proxy | {"action":"info","type":"resource","path":"lib://held"}
    "#,
    ) {
        let said = house.all.call(tool, arguments).await.frame;
        lacks!(said, "secretword", "{tool} {arguments}");
    }
    // Findings have their spans escaped, and no more of the text than that.
    for server in ["fish", "held"] {
        let arguments = json!({ "operation": "inspect", "name": server });
        let said = house.all.call("quarantine_security", &arguments).await;
        lacks!(said.frame, "secretword");
        let found = said.value()["structuredContent"].clone();
        assert!(
            !found["findings"].as_array().expect("a list").is_empty(),
            "{found}"
        );
    }
    // Who searches for the words of a held text does not learn that they are there.
    for query in [
        "secretword",
        "\"secretword tool\"",
        "\"the secretword tool\" house",
        "fish: secretword",
    ] {
        let arguments = json!({ "query": query });
        let said = house.all.call("retrieve_tools", &arguments).await.value();
        let found = &said["structuredContent"];
        assert!(!names(found).contains(&"fish:echo"), "{query}: {said}");
        let notice = found["notice"].as_str().unwrap_or_default();
        lacks!(notice, "is held", "{query}: {said}");
    }
    for query in ["echo", "fish:echo"] {
        let arguments = json!({ "query": query });
        let said = house.all.call("retrieve_tools", &arguments).await.value();
        has!(said["structuredContent"]["notice"], "is held", "{query}");
    }
}
