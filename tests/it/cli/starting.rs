//! Which file a daemon starts with: one that was named has to be there, the usual one need not.

use std::{path::Path, process::Command};

use super::{Place, Ran, serving::Serving};

/// The program in an own home, with these variables.
fn at_home(place: &Place, variables: &[(&str, &Path)], arguments: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcpproxy"));
    command
        .env_clear()
        .env("HOME", place.folder())
        .envs(variables.iter().copied())
        .args(arguments);
    Ran::of(command.output().expect("the program runs"))
}

#[test]
fn a_daemon_does_not_start_without_the_file_that_was_named() {
    let place = Place::new();
    let missing = place.folder().join("typo.json");
    let file = missing.to_str().expect("a path");
    let serves: [&[&str]; 3] = [
        &["serve", "--port", "0"],
        &["serve", "--demo", "--port", "0"],
        &["serve", "--background=start"],
    ];
    for serve in serves {
        let by_flag = [serve, &["--config", file]].concat();
        for (by, ran) in [
            ("--config", at_home(&place, &[], &by_flag)),
            (
                "$MCPPROXY_CONFIG",
                at_home(&place, &[("MCPPROXY_CONFIG", &missing)], serve),
            ),
            (
                "$MCP_CONFIG_PATH",
                at_home(&place, &[("MCP_CONFIG_PATH", &missing)], serve),
            ),
        ] {
            ran.ended(1)
                .says(&["there is no file", file, by, "next step: correct the name"]);
        }
    }
    // These make the file, and a daemon starts with it.
    let add = ["upstream", "add", "x", "--config", file, "--", "true"];
    at_home(&place, &[], &add).ended(0);
    let mut serve = Command::new(env!("CARGO_BIN_EXE_mcpproxy"));
    serve
        .env_clear()
        .env("HOME", place.folder())
        .args(["serve", "--port", "0", "--config", file]);
    drop(Serving::start_as(serve));
}

#[test]
fn a_daemon_starts_without_the_usual_file_also_where_that_is_named() {
    let place = Place::new();
    let at = at_home(&place, &[], &["config", "path", "-o", "json"]).json();
    let usual = at["config_file"].as_str().expect("a path").to_owned();
    assert!(!Path::new(&usual).exists());
    let more: [&[&str]; 3] = [&[], &["--demo"], &["--config", &usual]];
    for more in more {
        let mut serve = Command::new(env!("CARGO_BIN_EXE_mcpproxy"));
        serve
            .env_clear()
            .env("HOME", place.folder())
            .args(["serve", "--port", "0"])
            .args(more);
        drop(Serving::start_as(serve));
    }
}

/// A daemon that does not start says why, and on a line of its own what to do about it.
#[test]
fn what_keeps_a_daemon_from_starting_is_said_with_a_next_step() {
    let other = Place::new();
    let address = super::doctor::free_address();
    let _daemon = Serving::start_with(&other, &["--listen", &address]);
    let check = |place: &Place, options: &[&str], code: i32, parts: &[&str]| {
        place.home.existing_config_file();
        let ran = place.run(&[&["serve"], options].concat()).ended(code);
        let lines: Vec<&str> = ran.stderr.lines().collect();
        let steps = lines.iter().filter(|line| line.starts_with("next step: "));
        assert_eq!(steps.count(), 1, "{options:?}: {}", ran.stderr);
        ran.says(parts).does_not_say(&["os error"]);
    };
    // Another daemon of ours, by its name.
    check(
        &Place::new(),
        &["--listen", &address],
        1,
        &[
            "the port is taken by mcpproxy, process ",
            "which is mcpproxy ",
            "next step: end that program, or choose another port with --port",
        ],
    );
    check(
        &other,
        &["--port", "0"],
        1,
        &["another daemon (pid ", "next step: connect to that one"],
    );
    let place = Place::new();
    check(&place, &["--listen", "nowhere"], 2, &["nowhere"]);
    check(&place, &["--listen", "0.0.0.0:0"], 1, &["--insecure"]);
    check(
        &place,
        &[
            "--log-level",
            "info",
            "--locked",
            "none.json",
            "--port",
            "0",
        ],
        1,
        &["the lock file"],
    );
    std::fs::write(place.config_file(), "{ \"listen\": 1 }").expect("ours");
    check(&place, &[], 1, &["`listen`", "next step: correct the file"]);
}
