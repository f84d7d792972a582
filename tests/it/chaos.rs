//! Bad days, seeded: twenty servers, twenty clients, and faults. What must hold of every call holds all the same (docs/testing.md).
//! `tests/chaos/run seeds` starts it; `cargo test` tries its parts only.

mod clients;
mod daemon;
mod faults;
mod judge;
mod plan;
mod random;
mod run;
mod servers;
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
    println!("seed {seed}, {seconds} s: {n_faults} faults, the daemon is killed {n_kills} times");
    let report = match run::run(plan, folder.path()).await {
        Ok(report) => report,
        Err(why) => panic!("seed {seed}: {why}; its files: {}", folder.keep().display()),
    };
    println!("seed {seed}: {}", report.tally);
    println!(
        "seed {seed}: {:?}, and then {:?}",
        report.before, report.after
    );
    if report.violations.is_empty() {
        return;
    }
    for violation in report.violations.iter().take(20) {
        println!("{}", told(seed, violation, &report));
    }
    let count = report.violations.len();
    panic!(
        "seed {seed}: {count} violations; its files: {}",
        folder.keep().display()
    );
}

/// A violation, with what befell its server before.
fn told(seed: u64, violation: &Violation, report: &Report) -> String {
    let mut text = format!("seed {seed}, at {:?}: {}", violation.at, violation.what);
    if let Some(server) = &violation.server {
        text += &format!("\n  server {server}");
    }
    if let Some(call) = &violation.call {
        text += &format!(
            "\n  {} called {} of {} with token {} at {:?}, until {:?}: {:?}",
            call.client, call.tool, call.server, call.token, call.began, call.ended, call.end
        );
    }
    let concerned = report
        .history
        .iter()
        .filter(|trouble| trouble.server.is_none() || trouble.server == violation.server);
    for trouble in concerned.filter(|trouble| trouble.began <= violation.at) {
        let server = trouble.server.as_deref().unwrap_or("all");
        text += &format!(
            "\n  {:?} to {:?}, {server}: {}",
            trouble.began, trouble.ended, trouble.what
        );
    }
    text
}
