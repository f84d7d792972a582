//! Reading and editing the configuration, everyday and huge.

use std::{fmt::Write, hint::black_box, path::Path};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mcpproxy::config::{Change, Surroundings, edit, parse};
use serde_json::json;

/// A file with comments and as many servers.
fn huge(n_servers: usize) -> String {
    let mut text = "// Our servers.\n{\n  \"mcpServers\": {\n".to_owned();
    for number in 0..n_servers {
        let entry = json!({
            "command": "npx",
            "args": ["-y", format!("@example/server-{number}"), "${HOME:-/tmp}/documents"],
            "env": {"TOKEN": "${TOKEN:-none}", "MODE": "fast"},
            "disabled_tools": ["delete_*"],
            "call_tool_timeout": "5m",
        });
        writeln!(
            text,
            "    // Number {number}.\n    \"server-{number}\": {entry},"
        )
        .expect("memory");
    }
    text + "  },\n}\n"
}

fn configurations(c: &mut Criterion) {
    let everyday = include_str!("../../examples/everyday.jsonc").to_owned();
    let texts = [
        ("everyday", everyday, "time"),
        ("200 servers", huge(200), "server-100"),
    ];
    let mut group = c.benchmark_group("config");
    for (name, text, server) in &texts {
        let surroundings = Surroundings {
            lookup: &|_| None,
            folder: Path::new("/"),
        };
        let change = Change::of_key(server, "enabled", Some(json!(false)));
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(BenchmarkId::new("parse", name), |b| {
            b.iter(|| parse(black_box(text), &surroundings).expect("a good configuration"));
        });
        group.bench_function(BenchmarkId::new("edit", name), |b| {
            b.iter(|| edit(black_box(text), &change).expect("a server that is there"));
        });
    }
    group.finish();
}

criterion_group!(benches, configurations);
criterion_main!(benches);
