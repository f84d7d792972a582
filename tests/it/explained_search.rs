//! Why a tool has its score, for the operator who asks: what its words add by their fields, summed up, is the score.

use crate::support::prelude::*;

const TOOLS: [&str; 3] = [
    r#"{"name":"create_issue","description":"Creates an issue in a repository.","inputSchema":{"type":"object","properties":{"title":{"type":"string"}}}}"#,
    r#"{"name":"list_issues","description":"Lists the issues of a repository.","inputSchema":{}}"#,
    r#"{"name":"deleteRepo","description":"Deletes a repository.","inputSchema":{}}"#,
];

fn share(of: &Value, field: &str) -> f64 {
    of[field].as_f64().expect("a share")
}

#[tokio::test]
async fn a_score_is_explained_to_the_operator_who_asks() {
    let upstream = FakeUpstream::stdio();
    let upstream = TOOLS
        .iter()
        .fold(upstream, |upstream, tool| upstream.raw_tool(tool, echo()))
        .await;
    let daemon = TestDaemon::builder().upstream("forge", &upstream).await;
    let path = "/api/v1/tools?q=create%20forge%20issues%20deleteRepo%20tallest";
    let found = async || {
        let answer = daemon
            .rest("GET", &format!("{path}&explain=true"), "")
            .await;
        let answer = answer.json();
        (answer["tools"].as_array()?.len() == TOOLS.len()).then_some(answer)
    };
    let answer = until_async("the tools are indexed", found).await;
    for tool in answer["tools"].as_array().expect("tools") {
        let words = tool["why"]["words"].as_array().expect("words").iter();
        let sum: f64 = words
            .flat_map(|word| {
                ["name", "description", "parameters", "server"].map(|field| share(word, field))
            })
            .sum();
        let score = tool["score"].as_f64().expect("a score");
        assert!((sum - score).abs() < 0.002, "{sum} is not {score}: {tool}");
    }
    let tools = answer["tools"].as_array().expect("tools");
    let creates = |tool: &&Value| tool["name"] == "forge:create_issue";
    let first = tools.iter().find(creates).expect("it is found");
    let of = |word: &str| {
        let mut words = first["why"]["words"].as_array().expect("words").iter();
        let found = words.find(|one| one["word"] == word);
        found.unwrap_or_else(|| panic!("no {word}: {first}"))
    };
    assert_eq!(of("create")["has"], true);
    assert!(share(of("create"), "name") > share(of("create"), "description"));
    assert!(share(of("forge"), "server") > 0.0);
    assert_eq!(of("tallest")["has"], false);
    assert_eq!(answer["listed"]["tools"], TOOLS.len());
    // Nobody gets it who does not ask.
    let plain = daemon.rest("GET", path, "").await.json();
    assert_eq!(
        (plain.get("listed"), plain["tools"][0].get("why")),
        (None, None)
    );
    let wrong = daemon
        .rest("GET", &format!("{path}&explain=often"), "")
        .await;
    assert_eq!(
        (wrong.status, &wrong.json()["code"]),
        (400, &json!("invalid_arguments"))
    );
}
