//! Whether the program of each server is found where servers are started.

use std::sync::Arc;

use super::DoctorFinding;
use crate::{
    config::{ServerEntry, Settings, Transport},
    gate,
    process::{BaseEnvironment, Launch},
};

const COMMAND: &str = "server command";

/// Looks for the program of every server that may be used. Starts nothing.
pub(super) fn check(settings: &Settings, base: &BaseEnvironment) -> Vec<DoctorFinding> {
    let mut found = 0;
    let mut findings = Vec::new();
    for entry in usable(settings) {
        let Transport::Stdio(stdio) = &entry.transport else {
            continue;
        };
        match Launch::of(entry, stdio).resolve(base) {
            Ok(_) => found += 1,
            Err(error) => {
                let what = error.to_string();
                let what = entry.secrets.masked(&what);
                findings
                    .push(DoctorFinding::fail(COMMAND, what, error.next_step()).at(&entry.name));
            }
        }
    }
    if found > 0 {
        let what = match found {
            1 => "the program of 1 server is there".to_owned(),
            n => format!("the programs of {n} servers are there"),
        };
        findings.push(DoctorFinding::ok(COMMAND, what));
    }
    findings
}

/// The servers that may be started or contacted: neither switched off nor held.
pub(super) fn usable(settings: &Settings) -> impl Iterator<Item = &Arc<ServerEntry>> {
    let entries = settings.servers.values();
    entries.filter(|entry| gate::standing(entry).is_usable() && entry.may_be_contacted())
}

#[cfg(all(test, unix))]
mod tests {
    use super::check;
    use crate::{
        config::{Environment, Surroundings, parse},
        doctor::DoctorSeverity,
        process::BaseEnvironment,
    };

    #[test]
    fn programs_that_are_missing_are_named_with_their_server_and_what_is_held_is_not_looked_for() {
        let text = r#"{ "mcpServers": {
            "good": { "command": "sh" },
            "absent": { "command": "no-such-program-4711" },
            "moved": { "command": "/no/such/program" },
            "nowhere": { "command": "sh", "cwd": "/no/such/folder" },
            "off": { "command": "no-such-program-4711", "enabled": false },
            "held": { "command": "no-such-program-4711", "quarantined": true },
            "remote": { "url": "http://127.0.0.1:9/mcp" }
        } }"#;
        let surroundings = Surroundings {
            lookup: &|_| None,
            folder: std::path::Path::new("/"),
        };
        let settings = parse(text, &surroundings).expect("it is sound");
        let base = BaseEnvironment::new(&Environment::default(), None);
        let findings = check(&settings, &base);
        let failed = findings
            .iter()
            .filter(|found| found.severity == DoctorSeverity::Fail);
        let failed: Vec<&str> = failed.filter_map(|found| found.place.as_deref()).collect();
        assert_eq!(failed, ["absent", "moved", "nowhere"]);
        let good = findings.last().expect("a finding");
        assert_eq!(good.what, "the program of 1 server is there");
    }
}
