//! Properties of the index that hold for any tools.

mod oracle;

use std::{collections::BTreeMap, sync::Arc};

use serde_json::json;

use super::{IndexChanges, Searcher, Writer};
use crate::{
    catalog::{
        Listing, Matching, Query, ServerCatalog, Snapshot,
        tokenizer::{TokenKind, tokens_of},
    },
    runtime::long_work::Stop,
    text::names::ServerName,
    wire::{Raw, Revision},
};

/// `(server, tool, description, parameter)`.
type Tools<'a> = &'a [(&'a str, &'a str, &'a str, &'a str)];

fn snapshot(tools: Tools<'_>) -> Arc<Snapshot> {
    let mut definitions: BTreeMap<&str, Vec<Raw>> = BTreeMap::new();
    for (server, name, description, parameter) in tools {
        let schema = json!({ "properties": { *parameter: { "description": "what it is" } } });
        let definition = json!({ "name": name, "description": description, "inputSchema": schema });
        definitions
            .entry(server)
            .or_default()
            .push(Raw::author(&definition));
    }
    let ingested = definitions.into_iter().map(|(server, tools)| {
        let server = ServerName::parse(server).expect("a name");
        let listing = Listing {
            initialize: Raw::empty_object(),
            revision: Revision::NEWEST_LEGACY,
            tools,
            prompts: vec![],
            resources: vec![],
            templates: vec![],
        };
        (
            server.clone(),
            Arc::new(ServerCatalog::ingest(&server, "e", listing)),
        )
    });
    Arc::new(Snapshot::new(1, ingested.collect()))
}

fn index(writer: &mut Writer, tools: Tools<'_>) -> (Searcher, IndexChanges) {
    writer
        .update(snapshot(tools))
        .expect("memory does not fail")
}

fn indexed(tools: Tools<'_>) -> Searcher {
    index(&mut Writer::new().expect("memory does not fail"), tools).0
}

fn search(searcher: &Searcher, query: &str, matching: Matching) -> Vec<(String, f32)> {
    let snapshot = searcher.snapshot();
    let servers: Vec<&str> = snapshot.servers.keys().map(ServerName::as_str).collect();
    let query = Query::parse(query, &servers);
    let attempts = query.attempts(matching).into_iter().map(|query| {
        let hits = searcher
            .search(&query, matching, &Stop::default())
            .expect("memory does not fail");
        hits.map(|hit| {
            (
                format!("{}:{}", hit.server.server, hit.tool().name),
                hit.score,
            )
        })
        .collect()
    });
    attempts
        .into_iter()
        .find(|hits: &Vec<_>| !hits.is_empty())
        .unwrap_or_default()
}

fn names(searcher: &Searcher, query: &str) -> Vec<String> {
    search(searcher, query, Matching::Any)
        .into_iter()
        .map(|(name, _)| name)
        .collect()
}

const SOME: Tools<'static> = &[
    ("files", "read_file", "Reads a file from the disk.", "path"),
    (
        "files",
        "write_file",
        "Writes text to a file. Creates the file where it is missing.",
        "path",
    ),
    (
        "github",
        "create_issue",
        "Creates an issue in a repository.",
        "title",
    ),
    (
        "github",
        "list_issues",
        "Lists the issues of a repository.",
        "state",
    ),
    ("time", "getCurrentTime", "Says what time it is.", "zone"),
];

#[test]
fn only_tools_that_changed_are_indexed_again() {
    let mut writer = Writer::new().expect("memory does not fail");
    let mut check = |tools: Tools<'_>, indexed, removed| {
        assert_eq!(
            index(&mut writer, tools).1,
            IndexChanges { indexed, removed }
        );
    };
    check(SOME, 5, 0);
    check(SOME, 0, 0);
    check(&SOME[..3], 0, 2);
    let mut changed = SOME.to_vec();
    changed[0].2 = "Reads.";
    check(&changed, 3, 0);
    check(&[], 0, 5);
}

#[test]
fn a_changed_tool_is_found_by_its_new_words_only() {
    let mut writer = Writer::new().expect("memory does not fail");
    index(&mut writer, SOME);
    for round in 0..20 {
        let description = format!("Fetches round{round} rubber ducks.");
        let mut tools = SOME.to_vec();
        tools[0].2 = &description;
        let (searcher, _) = index(&mut writer, &tools);
        assert_eq!(
            names(&searcher, &format!("round{round}")),
            ["files:read_file"]
        );
        assert_eq!(names(&searcher, "disk"), [""; 0]);
        assert_eq!(names(&searcher, "repository").len(), 2);
    }
}

#[test]
fn a_tool_with_all_the_words_comes_before_comparable_others() {
    let tools: Tools<'_> = &[
        ("s", "a", "apple", ""),
        ("s", "b", "apple banana", ""),
        ("s", "c", "banana", ""),
        ("s", "d", "other", ""),
    ];
    assert_eq!(names(&indexed(tools), "apple banana")[0], "s:b");
}

#[test]
fn all_means_all_but_common_words() {
    let searcher = indexed(SOME);
    let check = |query: &str, expected: &[&str]| {
        let found: Vec<String> = search(&searcher, query, Matching::All)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(found, expected, "{query:?}");
    };
    check("create an issue", &["github:create_issue"]);
    check("creating issues in GitHub", &["github:create_issue"]);
    check("file issue", &[]);
    check("current time", &["time:getCurrentTime"]);
}

#[test]
fn phrases_are_exact() {
    let searcher = indexed(SOME);
    let check = |query: &str, expected: &[&str]| {
        let found: Vec<String> = search(&searcher, query, Matching::All)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(found, expected, "{query:?}");
    };
    check("\"create issue\"", &["github:create_issue"]);
    check("\"an issue in\"", &["github:create_issue"]);
    check("\"issue create\"", &[]);
    check("\"creating issue\"", &[]);
    check("\"file\" \"reads a\"", &["files:read_file"]);
    check("\"what time\"", &["time:getCurrentTime"]);
    // Where some of the words are enough, nothing is left unfound for the sake of a phrase.
    assert_eq!(
        names(&searcher, "\"create issue\""),
        ["github:create_issue"]
    );
    assert_eq!(
        names(&searcher, "\"creating issue\"")[0],
        "github:create_issue"
    );
}

#[test]
fn filters_narrow_to_a_server_and_to_beginnings_of_names() {
    let searcher = indexed(SOME);
    let check =
        |query: &str, expected: &[&str]| assert_eq!(names(&searcher, query), expected, "{query:?}");
    check("github:create", &["github:create_issue"]);
    check("github:", &["github:create_issue", "github:list_issues"]);
    check("files:write file", &["files:write_file"]);
    check("github: file", &[]);
    // Nothing begins so; it is a word then.
    check(
        "github:issue",
        &["github:create_issue", "github:list_issues"],
    );
    check(
        "nobody:create",
        &["github:create_issue", "files:write_file"],
    );
}

#[test]
fn odd_queries_are_no_trouble() {
    let searcher = indexed(SOME);
    for query in [
        "",
        "   ",
        "\"",
        "\"\"",
        ":",
        "*",
        "a:b:c",
        "AND OR NOT ( [ ~ ^ \\",
        "\u{0}",
        "github:\"",
        "of the",
        &"x ".repeat(9999),
    ] {
        search(&searcher, query, Matching::Any);
        search(&searcher, query, Matching::All);
    }
    // Only common words: they have to do.
    assert_eq!(
        names(&searcher, "what it is").first().map(String::as_str),
        Some("time:getCurrentTime")
    );
    assert!(names(&Searcher::default(), "file").is_empty());
}

#[test]
fn words_of_scripts_without_blanks_are_found() {
    let tools: Tools<'_> = &[
        ("s", "search", "使用必应搜索指定的关键词", ""),
        ("s", "fetch", "获取对应网页的内容", ""),
    ];
    let searcher = indexed(tools);
    assert_eq!(names(&searcher, "搜索网络")[0], "s:search");
    assert_eq!(names(&searcher, "网页")[0], "s:fetch");
    assert_eq!(names(&searcher, "\"关键词\""), ["s:search"]);
    let all: Vec<_> = search(&searcher, "网页内容", Matching::All);
    assert!(all.is_empty(), "{all:?}");
}

#[test]
fn the_kinds_of_tokens_are_told_apart() {
    let required: Vec<TokenKind> = tokens_of("GitHub user2 搜索 the")
        .into_iter()
        .map(|t| t.kind)
        .filter(|k| k.is_required())
        .collect();
    assert_eq!(
        required,
        [
            TokenKind::Word,
            TokenKind::Word,
            TokenKind::Word,
            TokenKind::Pair
        ]
    );
}

#[test]
fn similar_words_find_but_count_less() {
    let tools: Tools<'_> = &[
        ("s", "fetch_page", "", ""),
        ("s", "get_page", "", ""),
        ("s", "ring_bell", "", ""),
    ];
    let searcher = indexed(tools);
    assert_eq!(names(&searcher, "fetch"), ["s:fetch_page", "s:get_page"]);
    assert_eq!(names(&searcher, "obtain").len(), 2);
    let all = search(&searcher, "fetch page", Matching::All);
    assert_eq!(all.len(), 1, "{all:?}");
}

#[test]
fn words_are_found_however_they_are_glued() {
    let tools: Tools<'_> = &[
        ("s", "fetch_page", "", ""),
        ("s", "websearch", "", ""),
        ("s", "ring_bell", "", ""),
    ];
    let searcher = indexed(tools);
    assert_eq!(names(&searcher, "ringbell"), ["s:ring_bell"]);
    assert_eq!(names(&searcher, "web search"), ["s:websearch"]);
    assert_eq!(
        names(&searcher, "ringfence"),
        [""; 0],
        "half of it is something else"
    );
    let all = search(&searcher, "ringbell", Matching::All);
    assert!(all.is_empty(), "{all:?}");
}

#[test]
fn everyday_words_of_other_languages_find_english_tools() {
    let searcher = indexed(SOME);
    assert_eq!(names(&searcher, "Datei lesen")[0], "files:read_file");
    assert_eq!(names(&searcher, "crear archivo")[0], "files:write_file");
    assert_eq!(names(&searcher, "读取文件")[0], "files:read_file");
}

#[test]
fn a_tool_that_calls_itself_deprecated_comes_after_comparable_others() {
    let tools: Tools<'_> = &[
        ("s", "send_mail", "(Deprecated) Sends a mail.", ""),
        (
            "s",
            "send_mail_2",
            "Sends a mail, and warns of deprecated addresses.",
            "",
        ),
        ("s", "send_mail_3", "DEPRECATED: Sends a mail.", ""),
    ];
    assert_eq!(names(&indexed(tools), "send mail")[0], "s:send_mail_2");
}

#[test]
fn a_long_request_rather_finds_tools_of_the_server_that_it_is_about() {
    let tools: Tools<'_> = &[
        ("a", "quote", "Says the price.", ""),
        ("b", "quote", "Says the price.", ""),
        (
            "b",
            "forecast",
            "Weather of the coming days: rain, wind, sun and clouds.",
            "",
        ),
    ];
    let searcher = indexed(tools);
    let request = "rain wind sun clouds coming days weather price umbrella";
    let place = |name: &str| {
        names(&searcher, request)
            .iter()
            .position(|found| found == name)
    };
    assert!(place("b:quote") < place("a:quote"));
    assert_eq!(names(&searcher, "price"), ["a:quote", "b:quote"]);
}
