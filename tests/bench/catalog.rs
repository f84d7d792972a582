//! From the lists that upstreams gave to the lists that clients get, and to what they find.

use std::{collections::BTreeMap, hint::black_box, path::Path, sync::Arc};

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mcpproxy::{
    access::Access,
    activity::Activity,
    authorization::Logins,
    call_context::{CallContext, CallIds},
    catalog::{Catalog, Listing, Matching, Query, ServerCatalog, Snapshot, Writer, saved_listings},
    code_execution::Scripts,
    config::{Keeper, Overrides, RoutingMode, Settings, Surroundings, parse},
    gate::Gate,
    management::Management,
    router::{Router, View},
    runtime::long_work::Stop,
    text::names::ServerName,
    upstream::Upstreams,
    wire::{Id, Outcome, Raw, Request, Revision, method},
};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

const SIZES: [usize; 2] = [50, 2_000];

/// Of the index: what a search may take is said for these.
const INDEXED: [usize; 2] = [1_000, 10_000];

const TOOLS_OF_A_SERVER: usize = 25;

const VERBS: [&str; 8] = [
    "create", "read", "update", "delete", "list", "search", "send", "merge",
];

const THINGS: [&str; 10] = [
    "issue", "branch", "page", "message", "file", "invoice", "ticket", "event", "contact", "table",
];

/// A definition of about a kilobyte, as they usually are.
fn tool(number: usize) -> Raw {
    let verb = VERBS[number % VERBS.len()];
    let thing = THINGS[number / VERBS.len() % THINGS.len()];
    let property = |name: &str| {
        let description = format!("The {name} of the {thing}; see the manual for what is allowed");
        (
            name.to_owned(),
            json!({"type": "string", "description": description}),
        )
    };
    let names = ["owner", "repository", "title", "body", "labels", "state"];
    let properties: Map<String, Value> = names.into_iter().map(property).collect();
    let description = format!("Use this to {verb} the {thing} number {number} of a workspace. ");
    Raw::author(&json!({
        "name": format!("{verb}_{thing}_{number}"),
        "title": format!("{verb} a {thing}"),
        "description": description.repeat(4),
        "inputSchema": {"type": "object", "properties": properties, "required": ["owner", "title"]},
        "annotations": {"readOnlyHint": verb == "read", "destructiveHint": verb == "delete"},
    }))
}

/// The lists of as many servers as it takes.
fn listings(n_tools: usize) -> Vec<(ServerName, Listing)> {
    let listing = |server: usize| Listing {
        initialize: Raw::author(&json!({"capabilities": {"tools": {}}})),
        revision: Revision::NEWEST_LEGACY,
        tools: (0..TOOLS_OF_A_SERVER)
            .map(|tool_of| tool(server * TOOLS_OF_A_SERVER + tool_of))
            .collect(),
        prompts: vec![],
        resources: vec![],
        templates: vec![],
    };
    let name = |server| ServerName::parse(&format!("server-{server}")).expect("a good name");
    (0..n_tools / TOOLS_OF_A_SERVER)
        .map(|server| (name(server), listing(server)))
        .collect()
}

fn ingest(listings: Vec<(ServerName, Listing)>) -> BTreeMap<ServerName, Arc<ServerCatalog>> {
    listings
        .into_iter()
        .map(|(name, listing)| {
            let catalog = ServerCatalog::ingest(&name, "entry", listing);
            (name, Arc::new(catalog))
        })
        .collect()
}

fn snapshots(c: &mut Criterion) {
    let mut group = c.benchmark_group("catalog");
    for size in SIZES {
        let listings = listings(size);
        let servers = ingest(listings.clone());
        group.throughput(Throughput::Elements(size as u64));
        group.bench_function(BenchmarkId::new("ingest", size), |b| {
            b.iter_batched(|| listings.clone(), ingest, BatchSize::SmallInput);
        });
        group.bench_function(BenchmarkId::new("snapshot", size), |b| {
            b.iter_batched(
                || servers.clone(),
                |servers| Snapshot::new(1, servers),
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

fn settings(listings: &[(ServerName, Listing)]) -> Settings {
    let entry = |(name, _): &(ServerName, Listing)| (name.to_string(), json!({"command": "x"}));
    let servers: Map<String, Value> = listings.iter().map(entry).collect();
    let surroundings = Surroundings {
        lookup: &|_| None,
        folder: Path::new("/"),
    };
    parse(&json!({"mcpServers": servers}).to_string(), &surroundings).expect("a good configuration")
}

/// `tools/list` of the direct mode: put together anew after a change, and as it stands after that.
fn lists(c: &mut Criterion) {
    let mut group = c.benchmark_group("tools list");
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime");
    let context = CallContext::alone(
        &CallIds::default(),
        Access::default().standard_streams(),
        "tools/list",
    );
    let request = Request {
        id: Id::ours(1),
        method: method::TOOLS_LIST.into(),
        params: None,
    };
    for size in SIZES {
        let folder = tempfile::tempdir().expect("a folder");
        let listings = listings(size);
        for (name, listing) in &listings {
            saved_listings::save(folder.path(), name, "entry", listing).expect("a writable folder");
        }
        let known: Vec<_> = listings
            .iter()
            .map(|(name, _)| (name.clone(), "entry".to_owned()))
            .collect();
        // Its task would write what servers list anew; none does.
        let (catalog, _task) = Catalog::new(folder.path(), &known);
        let settings = settings(&listings);
        let (in_force, watched) = watch::channel(Arc::new(settings.clone()));
        let gate = Gate::new(watched.clone(), catalog.clone());
        let file = folder.path().join("none.json");
        let opened = Keeper::open(
            &file,
            Overrides::default(),
            Arc::new(|_| None),
            Arc::new(|_, _| BTreeMap::new()),
        );
        let (keeper, _) = opened.expect("no file is no fault");
        let management = Management::new(
            keeper,
            catalog.clone(),
            Upstreams::default(),
            folder.path().to_owned(),
            Activity::none(),
            Logins::new(folder.path()),
        );
        let (upstreams, activity) = (Upstreams::default(), Activity::none());
        let scripts = Scripts::run_by(None);
        let router = Router::new(
            watched, gate, catalog, upstreams, activity, management, scripts,
        );
        let list = || {
            let view = View::Mode(RoutingMode::Direct);
            match runtime.block_on(router.request(&context, &view, &request)) {
                Outcome::Result(list) => list,
                Outcome::Error(error) => panic!("{}", error.as_str()),
            }
        };
        let n_listed = list().get("tools").map(|tools| tools.elements().count());
        assert_eq!(n_listed, Some(size), "every tool is offered");
        group.throughput(Throughput::Elements(size as u64));
        group.bench_function(BenchmarkId::new("after a change", size), |b| {
            b.iter_batched(
                || in_force.send_replace(Arc::new(settings.clone())),
                |_| black_box(list()),
                BatchSize::PerIteration,
            );
        });
        group.bench_function(BenchmarkId::new("again", size), |b| {
            b.iter(|| black_box(list()));
        });
    }
    group.finish();
}

/// The index, made from nothing and after one server changed, and what a search in it takes.
fn index(c: &mut Criterion) {
    let mut group = c.benchmark_group("index");
    for size in INDEXED {
        let listings = listings(size);
        let snapshot = Arc::new(Snapshot::new(1, ingest(listings.clone())));
        let mut changed = listings;
        changed[0].1.tools[0] = tool(size);
        let changed = Arc::new(Snapshot::new(2, ingest(changed)));
        group.throughput(Throughput::Elements(size as u64));
        group.sample_size(10);
        group.bench_function(BenchmarkId::new("from nothing", size), |b| {
            b.iter(|| Writer::new().expect("an index").update(snapshot.clone()));
        });
        let mut writer = Writer::new().expect("an index");
        let mut snapshots = [&snapshot, &changed].into_iter().cycle();
        group.bench_function(BenchmarkId::new("one tool changed", size), |b| {
            b.iter(|| writer.update(snapshots.next().expect("a cycle").clone()));
        });
        let (searcher, _) = writer.update(snapshot.clone()).expect("an index");
        group.sample_size(100);
        for text in [
            "invoice",
            "create issue repository",
            "\"delete the table\" server-1",
        ] {
            let name = format!("search {text:?}");
            group.bench_function(BenchmarkId::new(name, size), |b| {
                let stop = Stop::default();
                b.iter(|| {
                    let query = Query::parse(black_box(text), &["server-1"]);
                    let hits = searcher
                        .search(&query, Matching::Any, &stop)
                        .expect("an index");
                    hits.take(15).count()
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, snapshots, lists, index);
criterion_main!(benches);
