//! Which servers run in containers, and with which command line.

use super::{check_fault, minutes, read, server};
use crate::config::{Named, Settings, Transport};

/// The command line of a server with this entry, from `docker` on; nothing without a container.
#[track_caller]
fn line(settings: &Settings, name: &str) -> Option<String> {
    assert_eq!(settings.broken, []);
    let Transport::Stdio(stdio) = &settings.servers[name].transport else {
        return None;
    };
    let named = Named {
        name: "N".to_owned(),
        label: "L".to_owned(),
    };
    let variables: Vec<&str> = stdio.env.keys().map(String::as_str).collect();
    let isolation = stdio.isolation.as_ref()?;
    Some(
        isolation
            .run_arguments(&named, &variables, &stdio.args)
            .join(" "),
    )
}

#[track_caller]
fn check(entry: &str, expected: Option<&str>) {
    let settings = read(&format!("{{\"mcpServers\": {{\"s\": {entry}}}}}"));
    let expected = expected.map(|rest| format!("run --rm -i --name N --label L {rest}"));
    assert_eq!(line(&settings, "s"), expected, "{entry}");
}

#[test]
fn the_command_line_follows_the_entry() {
    check(
        r#"{"command": "npx", "args": ["-y", "some-mcp-server"], "isolation": {"enabled": true, "image": "node:22"}}"#,
        Some("node:22 npx -y some-mcp-server"),
    );
    check(
        r#"{"command": "/opt/x", "env": {"A": "1", "B": "${TOKEN}"}, "isolation": {"enabled": true, "image": "i",
            "network_mode": "none", "extra_args": ["-v", "/data:/data:ro"], "working_dir": "/data"}}"#,
        Some("--network none --workdir /data -e A -e B -v /data:/data:ro i /opt/x"),
    );
    check(
        r#"{"command": "npx", "isolation": {"enabled": false, "image": "i"}}"#,
        None,
    );
    check(r#"{"command": "npx", "isolation": {}}"#, None);
    check(r#"{"command": "npx"}"#, None);
    // What says how to isolate, and not whether, means that.
    check(
        r#"{"command": "x", "isolation": {"image": "i"}}"#,
        Some("i x"),
    );
}

#[test]
fn the_image_follows_the_command() {
    for (command, expected) in [
        ("npx", "node:20 npx"),
        ("/usr/local/bin/node", "node:20 node"),
        ("uvx", "ghcr.io/astral-sh/uv:python3.12-bookworm-slim uvx"),
        ("python3", "python:3.12 python3"),
        ("npx.cmd", "node:20 npx"),
    ] {
        let entry = format!(r#"{{"command": "{command}", "isolation": {{"enabled": true}}}}"#);
        check(&entry, Some(expected));
    }
    check_fault(
        r#"{"command": "github-mcp", "isolation": {"enabled": true}}"#,
        "`isolation.image` is needed: mcpproxy has no image for the command \"github-mcp\"",
    );
}

#[test]
fn docker_isolation_is_the_default_of_all_stdio_servers() {
    let settings = read(
        r#"{"docker_isolation": {"enabled": true, "default_images": {"npx": "mine:1", "own": "own:2"}, "network_mode": "none",
                "memory_limit": "512m", "cpu_limit": "1.0", "extra_args": ["--read-only"]},
            "mcpServers": {"a": {"command": "npx"}, "b": {"url": "http://h"},
                "c": {"command": "x", "isolation": {"enabled": false}},
                "d": {"command": "own", "isolation": {"network_mode": "bridge", "extra_args": ["--init"]}},
                "e": {"command": "docker", "args": ["run"]}, "f": {"command": "uvx", "isolation": {}}}}"#,
    );
    let limits = "--read-only --memory 512m --cpus 1.0";
    let run = "run --rm -i --name N --label L --network";
    let line = |name| line(&settings, name).unwrap_or_default();
    assert_eq!(line("a"), format!("{run} none {limits} mine:1 npx"));
    assert_eq!(line("d"), format!("{run} bridge {limits} --init own:2 own"));
    let uv = "ghcr.io/astral-sh/uv:python3.12-bookworm-slim";
    assert_eq!(line("f"), format!("{run} none {limits} {uv} uvx"));
    assert_eq!(["b", "c", "e"].map(line), ["", "", ""]);
}

#[test]
fn what_cannot_be_isolated_as_asked_disables_the_entry() {
    for (entry, expected) in [
        (
            r#"{"command": "docker", "args": ["run", "x"], "isolation": {"enabled": true, "image": "i"}}"#,
            "runs a container itself",
        ),
        (
            r#"{"command": "x", "isolation": {"enabled": true, "image": "i", "network_mod": "none"}}"#,
            "did you mean `network_mode`",
        ),
        (
            r#"{"command": "x", "isolation": {"enabled": true, "image": "i", "extra_args": ["--name=x"]}}"#,
            "`isolation.extra_args` must not contain \"--name\"",
        ),
        (
            r#"{"command": "x", "isolation": {"image": "i", "extra_args": ["-dit"]}}"#,
            "`isolation.extra_args` must not contain \"-dit\"",
        ),
        (
            r#"{"command": "x", "isolation": {"image": "i", "extra_args": ["evil/image"]}}"#,
            "would be taken for the image",
        ),
        (
            r#"{"command": "x", "isolation": {"image": "i"}, "env": {"*": "1"}}"#,
            "`env.*` cannot be passed to a container",
        ),
        (
            r#"{"command": "x", "isolation": {"image": "i"}, "env": {"-x": "1"}}"#,
            "`env.-x` cannot be passed to a container",
        ),
        (
            r#"{"command": "x", "env": {"A\nB": "1"}}"#,
            "`env.A\\nB` cannot be an environment variable",
        ),
        (
            r#"{"command": "x", "env": {"A=B": "1"}}"#,
            "`env.A=B` cannot be an environment variable",
        ),
        (
            r#"{"command": "x", "isolation": {"enabled": true, "image": "--privileged"}}"#,
            "`isolation.image` is not the name of an image",
        ),
        (
            r#"{"command": "x", "isolation": {"enabled": true, "image": "a\u0000"}}"#,
            "NUL",
        ),
    ] {
        check_fault(entry, expected);
    }
}

#[test]
fn a_container_gets_time_for_downloads_and_no_folder_of_this_machine() {
    let settings = read(
        r#"{"mcpServers": {"s": {"command": "npx", "cwd": "/here", "isolation": {"enabled": true}}}}"#,
    );
    let entry = &settings.servers["s"];
    assert_eq!(
        (entry.init_timeout, entry.first_init_timeout),
        (minutes(5), minutes(5))
    );
    assert_eq!(settings.warnings.len(), 1, "{:?}", settings.warnings);
    assert!(
        settings.warnings[0]
            .text
            .contains("`cwd` has no effect on a server in a container")
    );
    let shown = entry.shown();
    assert_eq!(shown["isolation"]["image"], "node:20");
    assert_eq!(shown.get("cwd"), None);
}

#[test]
fn every_part_of_the_isolation_needs_another_connection_and_hides_its_secrets() {
    let entry = |isolation: &str| {
        server(&format!(
            r#"{{"command": "npx", "isolation": {{"enabled": true, {isolation}}}}}"#
        ))
    };
    let base = entry(r#""image": "i""#).fingerprint;
    for other in [
        r#""image": "j""#,
        r#""image": "i", "network_mode": "none""#,
        r#""image": "i", "extra_args": ["--init"]"#,
        r#""image": "i", "working_dir": "/w""#,
    ] {
        assert_ne!(entry(other).fingerprint, base, "{other}");
    }
    assert_ne!(server(r#"{"command": "npx"}"#).fingerprint, base);
    let secret = entry(r#""image": "i", "extra_args": ["-e", "A=${TOKEN}"]"#);
    let (shown, debugged) = (secret.shown().to_string(), format!("{secret:?}"));
    assert!(shown.contains("A=***"), "{shown}");
    assert!(!shown.contains("s3cret") && !debugged.contains("s3cret"));
    assert_eq!(secret.secrets.redacted("s3cret-value"), "***");
}
