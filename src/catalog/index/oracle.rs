//! The same ranking in the plainest way, with a hash map over all tools, as a reference for the index; and properties of the index that
//! hold for any tools.

use std::{collections::BTreeMap, sync::Arc};

use proptest::prelude::*;
use serde_json::json;

use super::{
    IndexChanges, Searcher, Writer, bm25f,
    terms::{QueryTerm, QueryTerms, add_parts, wanted},
    texts::{self, FIELDS},
};
use crate::{
    catalog::{
        Listing, Matching, Query, ServerCatalog, Snapshot,
        thesaurus::similar,
        tokenizer::{Token, TokenKind, tokens_of},
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

/// A tool as the plain way sees it.
struct Plain {
    name: String,
    server: String,
    tokens: [Vec<Token>; FIELDS],
    lengths: [u16; FIELDS],
    is_deprecated: bool,
}

impl Plain {
    fn times(&self, field: usize, term: &str) -> u32 {
        let times = self.tokens[field].iter().filter(|token| token.text == term);
        u32::try_from(times.count()).expect("few")
    }

    fn has(&self, term: &str) -> bool {
        (0..FIELDS).any(|field| self.times(field, term) > 0)
    }
}

/// Every tool's score by plain means, before it is made a share of the most.
fn oracle(snapshot: &Snapshot, query: &str) -> BTreeMap<String, f32> {
    let mut tools = Vec::new();
    for server in snapshot.servers.values() {
        for tool in &server.tools {
            let texts = texts::texts_of(&server.server, tool);
            tools.push(Plain {
                name: format!("{}:{}", server.server, tool.name),
                server: server.server.to_string(),
                lengths: texts::lengths(&texts),
                tokens: texts.each_ref().map(|text| tokens_of(text)),
                is_deprecated: texts::is_deprecated(tool),
            });
        }
    }
    let means = bm25f::Means::of(tools.iter().map(|tool| &tool.lengths));
    let QueryTerms {
        mut terms,
        required,
        ..
    } = wanted(query);
    let is_long = terms.iter().filter(|term| term.is_whole()).count() >= bm25f::LONG;
    let having = |term: &str| {
        let fields = tools
            .iter()
            .flat_map(|tool| (0..FIELDS).map(move |field| (tool, field)));
        let having = fields
            .filter(|(tool, field)| tool.times(*field, term) > 0)
            .count();
        Ok::<_, std::convert::Infallible>(having as u64)
    };
    add_parts(&mut terms, having).expect("it does not fail");
    let weight = |term: &str, tool: &Plain| -> f32 {
        let of_field = |field| means.weigh(field, tool.lengths[field], tool.times(field, term));
        (0..FIELDS).map(of_field).sum()
    };
    let with_similar = |term: &QueryTerm, tool: &Plain| -> f32 {
        let others = similar(&term.text).iter().filter(|_| term.is_whole());
        let others = others.filter(|(other, _)| terms.iter().all(|term| term.text != *other));
        let others: f32 = others
            .map(|(other, share)| share * weight(other, tool))
            .sum();
        weight(&term.text, tool) + others
    };
    let mut scores = BTreeMap::new();
    for tool in &tools {
        let (mut score, mut own, mut in_name, mut covered) = (0.0, 0.0, 0, 0);
        for term in &terms {
            let itself = tools.iter().filter(|tool| tool.has(&term.text)).count();
            let at_all = tools
                .iter()
                .filter(|tool| with_similar(term, tool) > 0.0)
                .count();
            if itself == 0 && !term.is_whole() {
                continue;
            }
            let having = if itself == 0 { at_all } else { itself };
            let of_server: Vec<&Plain> = tools
                .iter()
                .filter(|other| other.server == tool.server)
                .collect();
            let of_all: f32 = of_server.iter().map(|tool| with_similar(term, tool)).sum();
            let mean = of_all / bm25f::count(of_server.len());
            let carried = if is_long { bm25f::CARRIED * mean } else { 0.0 };
            let factor = term.weight() * bm25f::rarity(having, tools.len());
            own += with_similar(term, tool);
            score += factor * bm25f::saturated(with_similar(term, tool) + carried);
            in_name += tool.times(texts::NAME, &term.text);
            if tool.has(&term.text) {
                covered |= term.covers_itself();
            }
        }
        let merits = bm25f::Merits {
            has_all: covered == required,
            in_name: (
                u16::try_from(in_name).expect("few"),
                tool.lengths[texts::NAME],
            ),
            is_deprecated: tool.is_deprecated,
        };
        if own > 0.0 {
            scores.insert(tool.name.clone(), score * merits.factor());
        }
    }
    scores
}

const WORDS: &[&str] = &[
    "create",
    "list",
    "issue",
    "file",
    "read",
    "user2",
    "the",
    "of",
    "page",
    "searching",
    "make",
    "document",
    "folder",
    "搜索",
    "件",
    "filepage",
    "deprecated",
];

prop_compose! {
    fn texts_from(most: usize)(picked in prop::collection::vec(prop::sample::select(WORDS), 0..most)) -> String {
        picked.join(" ")
    }
}

prop_compose! {
    fn tool()(server in "[ab]", name in texts_from(3), number in 0..99, description in texts_from(12), parameter in texts_from(3))
        -> (String, String, String, String) {
        (server, format!("{}_{number}", name.replace(' ', "_")), description, parameter)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_index_ranks_as_plain_arithmetic_does(
        states in prop::collection::vec(prop::collection::vec(tool(), 0..12), 1..4),
        query in prop::collection::vec(prop::sample::select(WORDS).prop_filter("ranks", |w| !["the", "of"].contains(w)), 1..14),
    ) {
        let query = query.join(" ");
        let mut writer = Writer::new().expect("memory does not fail");
        // The same writer goes through several states, so deleted and changed tools must leave no trace.
        for state in &states {
            let tools: Vec<_> = state.iter().map(|t| (&*t.0, &*t.1, &*t.2, &*t.3)).collect();
            let (searcher, _) = index(&mut writer, &tools);
            let expected = oracle(searcher.snapshot(), &query);
            let found = search(&searcher, &query, Matching::Any);
            prop_assert_eq!(found.len(), expected.len());
            let shares = |name: &str| expected.get(name).copied();
            let most = found.first().and_then(|(name, score)| Some(shares(name)? / score)).unwrap_or(1.0);
            for (name, score) in &found {
                let wanted = shares(name).expect("the plain way finds it too") / most;
                prop_assert!((score - wanted).abs() < 1e-4, "{name} has {score}, not {wanted}");
                prop_assert!(0.0 < *score && *score <= 1.0);
            }
            prop_assert!(found.is_sorted_by(|a, b| a.1 >= b.1));
        }
    }
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
