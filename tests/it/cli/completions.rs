//! Completion scripts: every shell can read its own, and bash completes commands and names of servers with it.

use std::{path::Path, process::Command};

use super::{Place, skipped};
use crate::support::prelude::*;

const SERVERS: &str = r#"{ "mcpServers": { "github": { "command": "x" }, "gitlab": { "url": "http://127.0.0.1:9/mcp" }, "time": { "command": 7 } } }"#;

/// What bash offers for a line, the last word of which is not finished.
fn offered(place: &Place, line: &[&str]) -> Vec<String> {
    let script = place.run(&["completions", "bash"]).ended(0).stdout;
    let program = env!("CARGO_BIN_EXE_mcpproxy");
    let words: Vec<String> = line.iter().map(|word| format!("'{word}'")).collect();
    let (last, before) = (words.len() - 1, words.len() - 2);
    let asked = format!(
        "mcpproxy() {{ '{program}' \"$@\"; }}\n{script}\nCOMP_WORDS=({all})\nCOMP_CWORD={last}\n_mcpproxy mcpproxy {cur} {prev}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        all = words.join(" "),
        cur = words[last],
        prev = words[before],
    );
    // It is longer than an argument may be.
    let file = place.folder().join("asked.sh");
    std::fs::write(&file, asked).expect("the folder is ours");
    let ran = Command::new("bash")
        .args(["--norc", "--noprofile"])
        .arg(&file)
        .env("MCPPROXY_CONFIG", place.config_file())
        .env("HOME", place.folder())
        .output()
        .expect("bash runs");
    let offered = String::from_utf8(ran.stdout).expect("text");
    offered.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_and_names_of_servers() {
    if !is_there("bash") {
        return;
    }
    let place = Place::configured(SERVERS);
    assert_eq!(offered(&place, &["mcpproxy", "nonsen"]), [] as [&str; 0]);
    assert_eq!(offered(&place, &["mcpproxy", "upst"]), ["upstream"]);
    assert_eq!(
        offered(&place, &["mcpproxy", "upstream", "show", "git"]),
        ["github", "gitlab"]
    );
    assert_eq!(
        offered(&place, &["mcpproxy", "upstream", "remove", "t"]),
        ["time"]
    );
    assert_eq!(
        offered(&place, &["mcpproxy", "tools", "list", "--server", "gith"]),
        ["github"]
    );
    // A new server has a new name.
    assert_eq!(
        offered(&place, &["mcpproxy", "upstream", "add", "git"]),
        [] as [&str; 0]
    );
}

#[test]
fn every_shell_can_read_its_script() {
    let place = Place::configured(SERVERS);
    for (shell, check) in [
        ("bash", &["-n"][..]),
        ("zsh", &["-n"]),
        ("fish", &["--no-execute"]),
        ("elvish", &["-compileonly"]),
        ("powershell", &[]),
    ] {
        let script = place.run(&["completions", shell]).ended(0).stdout;
        has!(script, "upstream", "{shell}");
        lacks!(script, "MCPPROXY-SERVERS", "{shell}");
        if check.is_empty() || !is_there(shell) {
            continue;
        }
        let file = place.folder().join(format!("script.{shell}"));
        std::fs::write(&file, script).expect("ours");
        let read = Command::new(shell).args(check).arg(&file).output();
        let read = read.expect("it runs");
        assert!(
            read.status.success() && read.stderr.is_empty(),
            "{shell}: {read:?}"
        );
    }
}

fn is_there(shell: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there = std::env::split_paths(&path).any(|folder| Path::new(&folder).join(shell).is_file());
    if !there {
        skipped(&format!("there is no {shell} on this machine"));
    }
    there
}
