//! How often the search has the right tools among its first results, over the public corpora of `tests/retrieval/data`: as often as it was
//! measured, at least. With `RETRIEVAL_OUT=FOLDER` the rankings are written there, one file a task.

use std::{collections::BTreeMap, env, fs, path::PathBuf, sync::Arc, thread};

use mcpproxy::{
    catalog::{Listing, Matching, Query, Searcher, ServerCatalog, Snapshot, Writer},
    runtime::long_work::Stop,
    text::names::ServerName,
    wire::{Raw, Revision},
};
use serde_json::Map;

use crate::support::prelude::*;

/// Results that count.
const FIRST: usize = 5;

/// Each task and the least recall among the first results: what was measured when the ranking was last changed, less three queries.
const FLOORS: [(&str, f64); 5] = [
    ("livemcp_agent", 0.69),
    ("livemcp_agent_short", 0.62),
    ("livemcp_tasks", 0.485),
    ("stabletoolbench", 0.765),
    ("metatool", 0.65),
];

/// The least mean of the five.
const MEAN: f64 = 0.65;

fn file(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/retrieval/data");
    fs::read_to_string(folder.join(name)).expect("a file of the repository")
}

fn lines(name: &str) -> Vec<Value> {
    let read = |line| serde_json::from_str(line).expect("a JSON object");
    file(name).lines().map(read).collect()
}

fn searcher(tools: &str) -> Searcher {
    let mut definitions: BTreeMap<String, Vec<Raw>> = BTreeMap::new();
    for tool in lines(tools) {
        let server = tool["server"].as_str().expect("a name").to_owned();
        let definition = json!({
            "name": tool["tool"],
            "description": tool["description"],
            "inputSchema": tool["inputSchema"],
        });
        let of_server = definitions.entry(server).or_default();
        of_server.push(Raw::author(&definition));
    }
    let servers = definitions.into_iter().map(|(server, tools)| {
        let server = ServerName::parse(&server).expect("a name");
        let listing = Listing {
            initialize: Raw::author(&json!({})),
            revision: Revision::NEWEST_LEGACY,
            tools,
            prompts: vec![],
            resources: vec![],
            templates: vec![],
        };
        let catalog = ServerCatalog::ingest(&server, "entry", listing);
        (server, Arc::new(catalog))
    });
    let snapshot = Arc::new(Snapshot::new(1, servers.collect()));
    let mut writer = Writer::new().expect("memory does not fail");
    writer.update(snapshot).expect("memory does not fail").0
}

fn ranked(searcher: &Searcher, query: &str) -> Vec<String> {
    let servers = searcher.snapshot().servers.keys();
    let servers: Vec<&str> = servers.map(ServerName::as_str).collect();
    for attempt in Query::parse(query, &servers).attempts(Matching::Any) {
        let hits = searcher.search(&attempt, Matching::Any, &Stop::default());
        let hits = hits.expect("memory does not fail");
        if hits.len() > 0 {
            let name =
                |hit: mcpproxy::catalog::Hit| format!("{}:{}", hit.server.server, hit.tool().name);
            return hits.take(15).map(name).collect();
        }
    }
    Vec::new()
}

/// The share of what should be found that is among the first.
fn recall(query: &Value, ranked: &[String]) -> f64 {
    let names =
        |value: &Value| -> Vec<String> { serde_json::from_value(value.clone()).expect("names") };
    let groups: Vec<Vec<String>> = match query["groups"].as_array() {
        Some(groups) => groups.iter().map(names).collect(),
        None => names(&query["gold"])
            .into_iter()
            .map(|name| vec![name])
            .collect(),
    };
    let first = &ranked[..ranked.len().min(FIRST)];
    let is_met = |group: &&Vec<String>| group.iter().any(|name| first.contains(name));
    let met = groups.iter().filter(is_met).count();
    ratio(met, groups.len())
}

#[expect(clippy::cast_precision_loss, reason = "counts of queries")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

/// The mean recall of a task's queries.
fn measured(task: &str, searcher: &Searcher, queries: &str) -> f64 {
    let (mut sum, mut rows) = (0.0, Vec::new());
    let queries = lines(queries);
    for query in &queries {
        let ranked = ranked(searcher, query["query"].as_str().expect("a text"));
        sum += recall(query, &ranked);
        rows.push(json!({ "id": query["id"], "ranked": ranked }).to_string());
    }
    if let Some(folder) = env::var_os("RETRIEVAL_OUT") {
        let path = PathBuf::from(folder).join(format!("{task}.jsonl"));
        fs::write(path, rows.join("\n") + "\n").expect("a writable folder");
    }
    sum * ratio(1, queries.len())
}

#[test]
fn the_right_tools_are_among_the_first_as_often_as_they_were() {
    let tasks: Map<String, Value> = serde_json::from_str(&file("tasks.json")).expect("JSON");
    let mut by_corpus: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for (task, files) in &tasks {
        let task = task.as_str();
        let name = |key: &str| files[key].as_str().expect("a name");
        let of_corpus = by_corpus.entry(name("corpus")).or_default();
        of_corpus.push((task, name("queries")));
    }
    let found: BTreeMap<&str, f64> = thread::scope(|scope| {
        let mut running = Vec::new();
        for (corpus, tasks) in &by_corpus {
            running.push(scope.spawn(move || {
                let searcher = searcher(corpus);
                let tasks = tasks.iter();
                let recall =
                    tasks.map(|(task, queries)| (*task, measured(task, &searcher, queries)));
                recall.collect::<Vec<_>>()
            }));
        }
        let ended = running.into_iter().map(|one| one.join().expect("no panic"));
        ended.flatten().collect()
    });
    let mean = found.values().sum::<f64>() * ratio(1, found.len());
    let floors = FLOORS.iter().map(|(task, floor)| (found[task], *floor));
    let is_good = floors
        .chain([(mean, MEAN)])
        .all(|(found, floor)| floor <= found);
    assert!(is_good, "recall fell: {found:.3?}, on average {mean:.3}");
}
