use std::{path::Path, sync::Arc};

use serde_json::json;

use super::*;
use crate::{
    access::Access,
    catalog::{Listing, ServerCatalog, Snapshot},
    config::{self, Surroundings},
    text::names::ServerName,
    wire::{Raw, Revision},
};

fn listing(name: &str) -> (ServerName, Arc<ServerCatalog>) {
    let server = ServerName::parse(name).expect("a name");
    let listing = Listing {
        initialize: Raw::empty_object(),
        revision: Revision::NEWEST_LEGACY,
        tools: vec![],
        prompts: vec![],
        resources: vec![Raw::author(&json!({ "uri": "doc://plan", "name": "x" }))],
        templates: vec![Raw::author(
            &json!({ "uriTemplate": "page://{n}", "name": "t" }),
        )],
    };
    let known = ServerCatalog::ingest(&server, "e", listing);
    (server, Arc::new(known))
}

#[test]
fn what_denies_an_offered_uri_denies_the_resource() {
    let snapshot = Snapshot::new(1, [listing("docs"), listing("files")].into());
    let check = |rules: &str, server: &str, uri: &str, expected: bool| {
        let text = format!(
            r#"{{"mcpServers": {{"docs": {{"command": "c"}}, "files": {{"command": "c"}}}},
                    "serverAuth": {{"acl": {{"default": "allow", "rules": [{rules}]}}}}}}"#
        );
        let surroundings = Surroundings {
            lookup: &|_| None,
            folder: Path::new("/"),
        };
        let settings = config::parse(&text, &surroundings).expect("a configuration");
        let caller = Access::imagined("ada", Vec::new());
        let rules_now = Rules::new(&settings, &snapshot);
        let allowed = rules_now.allows(&caller, server, &Target::resource(uri));
        assert_eq!(allowed, expected, "{rules} {server} {uri}");
    };
    let offered = r#"{"resources": ["doc://files/*", "page://files/*"], "policy": "deny"}"#;
    check(offered, "files", "doc://plan", false);
    check(offered, "files", "page://{n}", false);
    check(offered, "files", "page://7", false);
    check(offered, "docs", "doc://plan", true);
    check(offered, "docs", "page://7", true);
    let own = r#"{"resources": ["files__doc://plan"], "policy": "deny"}"#;
    check(own, "files", "doc://plan", false);
    check(own, "docs", "doc://plan", true);
    let first = r#"{"resources": ["files__doc://plan"], "policy": "allow"}"#;
    check(&format!("{first}, {offered}"), "files", "doc://plan", true);
    check(&format!("{offered}, {first}"), "files", "doc://plan", false);
}
