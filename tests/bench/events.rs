//! A mebibyte of Server-Sent Events, as it comes from a socket.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mcpproxy::link::remote::sse::Parser;

const SIZE: usize = 1 << 20;

/// What one read of a socket brings.
const CHUNK: usize = 16 << 10;

/// Reads all of a stream; how many events there were.
fn read(stream: &[u8]) -> usize {
    let mut parser = Parser::new(64 << 20);
    let mut n_events = 0;
    for chunk in stream.chunks(CHUNK) {
        parser.feed(black_box(chunk));
        while let Some(event) = parser.next_event().expect("events of a good size") {
            black_box(event);
            n_events += 1;
        }
    }
    n_events
}

fn streams(c: &mut Criterion) {
    let small = "event: message\nid: 17\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n";
    let line = format!("data: {}\n", "x".repeat(74));
    let streams = [
        ("one event", format!("data: {}\n\n", "x".repeat(SIZE))),
        (
            "one event of many lines",
            line.repeat(SIZE / line.len()) + "\n",
        ),
        ("many events", small.repeat(SIZE / small.len())),
    ];
    let mut group = c.benchmark_group("events");
    for (name, stream) in &streams {
        group.throughput(Throughput::Bytes(stream.len() as u64));
        group.bench_function(*name, |b| b.iter(|| read(stream.as_bytes())));
    }
    group.finish();
}

criterion_group!(benches, streams);
criterion_main!(benches);
