//! What the scanner takes for a definition of a tool: those of `tests/scanner`, one after the other, so that a time is that of a definition.

use std::{fs, hint::black_box, path::Path};

use criterion::{Criterion, criterion_group, criterion_main};
use mcpproxy::{
    trust::scanner::{Neighbours, Scanner},
    wire::Raw,
};
use serde_json::Value;

/// A file, or a folder of files, and what is measured with it.
const SETS: [(&str, &str); 3] = [
    ("benign.jsonl", "an ordinary definition"),
    (
        "benign_written_without_the_rules.jsonl",
        "an ordinary definition that comes near",
    ),
    ("poisoned", "a poisoned definition"),
];

/// A definition and its server.
struct Tool {
    server: String,
    name: String,
    definition: Raw,
}

/// The definitions of a file, or of every file of a folder.
fn tools(path: &Path) -> Vec<Tool> {
    if path.is_dir() {
        let files = fs::read_dir(path).expect("a folder of the repository");
        let paths = files.map(|file| file.expect("a file").path());
        return paths.flat_map(|path| tools(&path)).collect();
    }
    let text = fs::read_to_string(path).expect("a file of the repository");
    let tool = |line: &str| {
        let line: Value = serde_json::from_str(line).expect("a JSON object");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Tool {
            server: text(&line["server"]),
            name: text(&line["definition"]["name"]),
            definition: Raw::author(&line["definition"]),
        }
    };
    text.lines().map(tool).collect()
}

fn definitions(c: &mut Criterion) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scanner");
    let sets = SETS.map(|(file, name)| (name, tools(&folder.join(file))));
    let all = sets.iter().flat_map(|(_, tools)| tools);
    let neighbours = Neighbours::new(all.map(|tool| (tool.server.as_str(), tool.name.as_str())));
    let mut group = c.benchmark_group("scanner");
    for (name, tools) in &sets {
        let (mut all, mut scanner) = (tools.iter().cycle(), Scanner::default());
        group.bench_function(*name, |b| {
            b.iter(|| {
                let tool = all.next().expect("a file has definitions");
                black_box(scanner.tool(&tool.server, &tool.definition, &neighbours))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, definitions);
criterion_main!(benches);
