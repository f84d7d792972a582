//! What a call costs in frames: reading it, editing its params, and passing its answer back, small and large.

use std::hint::black_box;

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mcpproxy::wire::{Edit, Id, Message, Raw, parse_client, splice};
use serde_json::json;

/// Bytes of text in a payload, and what to call it.
const SIZES: [(&str, usize); 3] = [("100 B", 100), ("10 KiB", 10 << 10), ("1 MiB", 1 << 20)];

/// Text with what has to be escaped now and then.
fn text(size: usize) -> String {
    "{\"line\": \"some \\ text, caf\u{e9}\"}\n"
        .chars()
        .cycle()
        .take(size)
        .collect()
}

fn answers(c: &mut Criterion) {
    let mut group = c.benchmark_group("answer");
    for (name, size) in SIZES {
        let frame = Bytes::from(
            json!({
                "jsonrpc": "2.0",
                "id": "p17",
                "result": {"content": [{"type": "text", "text": text(size)}], "isError": false},
            })
            .to_string(),
        );
        let id = Id::ours(4);
        group.throughput(Throughput::Bytes(frame.len() as u64));
        group.bench_function(BenchmarkId::new("parse", name), |b| {
            b.iter(|| Message::parse(black_box(&frame)).expect("a response"));
        });
        group.bench_function(BenchmarkId::new("parse and pass back", name), |b| {
            b.iter(|| match Message::parse(black_box(&frame)) {
                Ok(Message::Response(response)) => response.frame_for(&id),
                other => panic!("not a response: {other:?}"),
            });
        });
    }
    group.finish();
}

fn calls(c: &mut Criterion) {
    let mut group = c.benchmark_group("call");
    for (name, size) in SIZES {
        let params = json!({
            "name": "files__write",
            "arguments": {"path": "/tmp/x", "text": text(size)},
            "_meta": {"progressToken": 7},
        });
        let call = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params});
        let frame = Bytes::from(call.to_string());
        let params = Raw::author(&params);
        let token = [("progressToken", Edit::Set(Raw::author(&"p17")))];
        let edits = [
            ("name", Edit::Set(Raw::author(&"write"))),
            ("_meta", Edit::Within(&token)),
        ];
        group.throughput(Throughput::Bytes(frame.len() as u64));
        group.bench_function(BenchmarkId::new("parse", name), |b| {
            b.iter(|| parse_client(black_box(&frame)).expect("a request"));
        });
        group.bench_function(BenchmarkId::new("splice", name), |b| {
            b.iter(|| splice(black_box(&params), &edits).expect("an object"));
        });
    }
    group.finish();
}

criterion_group!(benches, answers, calls);
criterion_main!(benches);
