//! Bad days, seeded: twenty servers, twenty clients, and faults. What must hold of every call holds all the same (docs/testing.md).
//! `tests/chaos/run seeds` builds and runs it; `cargo test` does neither.

#![cfg(target_os = "linux")]
#![allow(
    unreachable_pub,
    reason = "one binary, nothing is reached from outside"
)]

mod bad_days;
mod checks;
mod clients;
mod daemon;
mod faults;
mod judge;
mod plan;
mod run;
mod servers;
#[expect(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "most of it is for tests/it"
)]
#[path = "../it/support/mod.rs"]
mod support;
mod test_language;
mod tests;

use std::time::Duration;

use judge::Violation;
use plan::Plan;
use run::Report;

/// The variables that say which run it is.
const SEED: &str = "MCPPROXY_CHAOS_SEED";
const SECONDS: &str = "MCPPROXY_CHAOS_SECONDS";

fn given(name: &str, otherwise: u64) -> u64 {
    let text = std::env::var(name).ok();
    let number = text.map(|text| text.parse());
    number.map_or(otherwise, |read| read.expect("a number"))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: tests/chaos/run seeds"]
async fn one_seed() {
    let (seed, seconds) = (given(SEED, 1), given(SECONDS, 60));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let plan = Plan::draw(seed, Duration::from_secs(seconds));
    let n_faults: usize = plan.faults.iter().map(Vec::len).sum();
    let n_kills = plan.kills.len();
    say(&format!(
        "seed {seed}, {seconds} s: {n_faults} faults, the daemon is killed {n_kills} times"
    ));
    let report = match run::run(plan, folder.path()).await {
        Ok(report) => report,
        Err(why) => panic!("seed {seed}: {why}; its files: {}", folder.keep().display()),
    };
    say(&format!("seed {seed}: {}", report.tally));
    let (before, after) = (report.before, report.after);
    say(&format!("seed {seed}: {before:?}, and then {after:?}"));
    if report.violations.is_empty() {
        return;
    }
    for violation in report.violations.iter().take(20) {
        say(&told(seed, violation, &report));
    }
    panic!(
        "seed {seed}: {} violations; its files: {}",
        report.violations.len(),
        folder.keep().display()
    );
}

/// Prints a line.
fn say(text: &str) {
    use std::io::Write;
    // Nobody may be reading.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// A violation, with what befell its server before.
fn told(seed: u64, violation: &Violation, report: &Report) -> String {
    let mut lines = vec![format!(
        "seed {seed}, at {:?}: {}",
        violation.at, violation.what
    )];
    if let Some(call) = &violation.call {
        lines.push(format!(
            "  {} called {} of {} with token {} at {:?}, until {:?}: {:?}",
            call.client, call.tool, call.server, call.token, call.began, call.ended, call.end
        ));
    }
    let before = report.history.iter().filter(|trouble| {
        trouble.began <= violation.at
            && (trouble.server.is_none() || trouble.server == violation.server)
    });
    lines.extend(before.map(|trouble| {
        let server = trouble.server.as_deref().unwrap_or("all");
        let ended = trouble.ended.unwrap_or_default();
        format!(
            "  {:?} to {ended:?}, {server}: {}",
            trouble.began, trouble.what
        )
    }));
    lines.join("\n")
}
