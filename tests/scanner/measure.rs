//! Counts what the scanner finds in files of tool definitions; `tests/scanner/run` starts it.
//!
//! A line of a file is a definition with its server: `{"server","tool","description","inputSchema"}`, as the retrieval data has them, or
//! `{"family","server","definition","others","why"}`, as `tests/scanner` has them. Of files in a folder `judge` it prints counts alone: whoever
//! has read them cannot judge by them any more.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that prints figures"
)]

use std::{collections::BTreeMap, env, fs, path::Path, process::ExitCode, time::Instant};

use mcpproxy::{
    trust::scanner::{Finding, Neighbours, Scanner, Severity, gravest},
    wire::Raw,
};
use serde_json::{Map, Value, json};

struct Case {
    family: String,
    server: String,
    name: String,
    definition: Raw,
    others: Option<Vec<(String, String)>>,
}

#[derive(Default)]
struct Count {
    all: usize,
    held: usize,
    remarked: usize,
}

fn main() -> ExitCode {
    let mut shows = None;
    let mut files = Vec::new();
    for arg in env::args().skip(1) {
        match arg.as_str() {
            "--found" | "--missed" | "--marks" => shows = Some(arg),
            _ => files.push(arg),
        }
    }
    if files.is_empty() {
        eprintln!("usage: scan_corpus [--found | --missed] FILE.jsonl...");
        return ExitCode::from(2);
    }
    let mut total = Count::default();
    for file in files {
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("{file}: {error}");
                return ExitCode::FAILURE;
            }
        };
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let Some(cases) = lines.map(case).collect::<Option<Vec<_>>>() else {
            eprintln!("{file}: a line is no definition");
            return ExitCode::FAILURE;
        };
        let found = scan(&cases);
        let is_judging = Path::new(&file)
            .parent()
            .is_some_and(|folder| folder.ends_with("judge"));
        println!("{file}");
        let shows = shows.as_deref().filter(|_| !is_judging);
        if shows == Some("--marks") {
            print_marks(&cases, &found);
            continue;
        }
        print(&cases, &found, shows, &mut total);
    }
    println!("all files: {}", line(&total));
    ExitCode::SUCCESS
}

fn case(line: &str) -> Option<Case> {
    let line: Map<String, Value> = serde_json::from_str(line).ok()?;
    let text = |key: &str| line.get(key).and_then(Value::as_str).unwrap_or_default();
    let definition = line.get("definition").cloned().unwrap_or_else(|| {
        json!({"name": line.get("tool"), "description": line.get("description"), "inputSchema": line.get("inputSchema")})
    });
    let pair = |name: &Value| {
        let (server, tool) = name.as_str()?.split_once(':')?;
        Some((server.to_owned(), tool.to_owned()))
    };
    let others = line.get("others").and_then(Value::as_array);
    Some(Case {
        family: text("family").to_owned(),
        server: text("server").to_owned(),
        name: definition.get("name")?.as_str()?.to_owned(),
        definition: Raw::author(&definition),
        others: others.map(|others| others.iter().filter_map(pair).collect()),
    })
}

fn scan(cases: &[Case]) -> Vec<Vec<Finding>> {
    let all = cases
        .iter()
        .map(|case| (case.server.as_str(), case.name.as_str()));
    let all = Neighbours::new(all);
    let own = |case: &Case| {
        let others = case.others.as_ref()?;
        Some(Neighbours::new(
            others
                .iter()
                .map(|(server, tool)| (server.as_str(), tool.as_str())),
        ))
    };
    let own: Vec<_> = cases.iter().map(own).collect();
    let mut scanner = Scanner::default();
    let read = |(case, own): (&Case, &Option<Neighbours>)| {
        let neighbours = own.as_ref().unwrap_or(&all);
        scanner.tool(&case.server, &case.definition, neighbours)
    };
    let start = Instant::now();
    let found: Vec<_> = cases.iter().zip(&own).map(read).collect();
    let each = start.elapsed() / u32::try_from(cases.len().max(1)).unwrap_or(u32::MAX);
    println_time(each.as_micros(), cases);
    found
}

/// What `train.py` learns from: a line for each definition, with its family, its server, how grave the findings are, and its sentences' marks.
fn print_marks(cases: &[Case], found: &[Vec<Finding>]) {
    let scanner = Scanner::default();
    for (case, findings) in cases.iter().zip(found) {
        let findings = findings.iter().filter(|one| one.rule != "orders.likely");
        let gravest = findings.map(|one| one.severity).max();
        let marks = scanner.marks(&case.definition);
        println!("{}", json!([case.family, case.server, gravest, marks]));
    }
}

fn println_time(microseconds: u128, cases: &[Case]) {
    let bytes: usize = cases
        .iter()
        .map(|case| case.definition.as_bytes().len())
        .sum();
    println!(
        "{microseconds} µs for each of {} definitions of {} bytes on average",
        cases.len(),
        bytes / cases.len().max(1)
    );
}

fn print(cases: &[Case], found: &[Vec<Finding>], shows: Option<&str>, total: &mut Count) {
    let mut families: BTreeMap<&str, Count> = BTreeMap::new();
    for (case, findings) in cases.iter().zip(found) {
        let gravest = gravest(findings);
        for sum in [families.entry(&case.family).or_default(), &mut *total] {
            sum.all += 1;
            sum.held += usize::from(gravest == Some(Severity::Hold));
            sum.remarked += usize::from(gravest == Some(Severity::Remark));
        }
        let is_printed = match shows {
            Some("--found") => gravest.is_some(),
            Some(_) => gravest != Some(Severity::Hold),
            None => false,
        };
        if is_printed {
            println!("  {} {}:{}", case.family, case.server, case.name);
            for finding in findings {
                println!(
                    "    {:?} {} {} {}",
                    finding.severity, finding.rule, finding.place, finding.excerpt
                );
            }
        }
    }
    for (family, count) in families {
        println!("  {family:24} {}", line(&count));
    }
}

fn line(count: &Count) -> String {
    let percent = |part: usize| {
        let tenths = part * 10_000 / count.all.max(1);
        format!("{part} ({}.{:02} %)", tenths / 100, tenths % 100)
    };
    let missed = count.all - count.held - count.remarked;
    format!(
        "{} definitions: {} held, {} only remarked upon, {} neither",
        count.all,
        percent(count.held),
        percent(count.remarked),
        percent(missed)
    )
}
