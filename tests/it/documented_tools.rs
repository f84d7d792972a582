//! The page on our own tools names all of them, and pages name all that they take.

use std::collections::BTreeSet;

use crate::support::prelude::*;

const PAGE: &str = include_str!("../../docs/built-in-tools.md");

/// Where arguments of single tools stand that have a page of their own.
const PAGES: &[&str] = &[
    PAGE,
    include_str!("../../docs/code.md"),
    include_str!("../../docs/configuration.md"),
    include_str!("../../docs/large-results.md"),
    include_str!("../../docs/managing.md"),
    include_str!("../../docs/proxy.md"),
];

#[tokio::test]
async fn every_tool_of_ours_and_each_argument_stands_on_a_page() {
    let daemon = TestDaemon::builder()
        .config(json!({
            "enable_code_execution": true,
            "legacy_call_tool": true,
            "tool_response_limit": 1000,
        }))
        .await;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words: BTreeSet<&str> = PAGES
        .iter()
        .flat_map(|page| page.split(|c| !is_word(c)))
        .collect();
    let mut found = BTreeSet::new();
    let mut missing = Vec::new();
    for path in ["/mcp", "/mcp/code", "/mcp/proxy"] {
        let client = daemon.client(path).await;
        let list = client.request("tools/list", "{}").await;
        let list: Value = serde_json::from_str(list.result()).expect("JSON");
        for tool in list["tools"].as_array().expect("tools") {
            let name = tool["name"].as_str().expect("a name");
            found.insert(name.to_owned());
            if !PAGE.contains(&format!("`{name}`")) {
                missing.push(name.to_owned());
            }
            let arguments = tool["inputSchema"]["properties"].as_object();
            let arguments = arguments.expect("an object").keys();
            let unknown = arguments.filter(|argument| !words.contains(argument.as_str()));
            missing.extend(unknown.map(|argument| format!("{name}: {argument}")));
        }
    }
    assert_eq!(missing, [] as [String; 0]);
    assert_eq!(found.len(), 11, "{found:?}");
}
