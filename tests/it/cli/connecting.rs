//! `mcpproxy connect`: our entry in the file of every client that can be connected, put in and taken out again.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use super::{
    Place,
    importing::{FILES, furnished},
};
use crate::support::prelude::*;

const CLIENTS: [&str; 20] = [
    "claude-code",
    "claude-desktop",
    "cursor",
    "vscode",
    "windsurf",
    "codex",
    "gemini-cli",
    "zed",
    "goose",
    "opencode",
    "cline",
    "roo-code",
    "continue",
    "lm-studio",
    "copilot-cli",
    "kiro",
    "junie",
    "warp",
    "amp",
    "qwen-code",
];

/// A home with a file of a client in which we are not.
fn with_file_of(client: &str) -> (Place, PathBuf, String) {
    let place = furnished(&[client]);
    let file = FILES.iter().find(|file| file.0 == client).expect("a file");
    let path = place.folder().join(file.1);
    let text = fs::read_to_string(&path).expect("it is there");
    // Two of the files name us already, at places that do not count here.
    let text = text.replace(
        "\"mcpproxy\": { \"command\": \"/usr/local/bin/mcpproxy\"",
        "\"other\": { \"command\": \"/usr/bin/other\"",
    );
    fs::write(&path, &text).expect("ours");
    fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("ours");
    // At the usual address another test's daemon may answer, and then we do not.
    let listen = json!({ "listen": http::free_address() });
    fs::write(place.config_file(), listen.to_string()).expect("ours");
    (place, path, text)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("it is there")
}

/// The copies beside a file.
fn copies(path: &Path) -> usize {
    let folder = path.parent().expect("a folder");
    let entries = fs::read_dir(folder).expect("it is there").flatten();
    let is_copy = |name: String| name.contains(".before-mcpproxy-");
    entries
        .filter(|entry| is_copy(entry.file_name().to_string_lossy().into_owned()))
        .count()
}

#[test]
fn every_client_is_connected_and_its_file_stays_what_it_was() {
    for client in CLIENTS {
        let (place, path, before) = with_file_of(client);
        let dry = place.run(&["connect", client, "--dry-run"]).ended(0);
        dry.shows(&["+", "mcpproxy"]).says(&["nothing was written"]);
        assert_eq!(read(&path), before, "{client}");

        let ran = place.run(&["connect", client]).ended(0);
        ran.says(&["as \"mcpproxy\"", "--undo", "restart the client"]);
        let after = read(&path);
        // Nothing but lines that were added, and commas.
        let plain = |line: &str| line.trim_end().trim_end_matches(',').to_owned();
        let lines: Vec<String> = after.lines().map(plain).collect();
        for line in before.lines().map(plain) {
            assert!(lines.contains(&line), "{client}: no {line:?} in {after}");
        }
        let mode = fs::metadata(&path).expect("it is there").mode() & 0o777;
        assert_eq!((mode, copies(&path)), (0o640, 1), "{client}");

        let again = place
            .run(&["connect", client, "-o", "json"])
            .ended(0)
            .json();
        assert_eq!(
            again["clients"][0]["outcome"], "already_connected",
            "{client}"
        );
        assert_eq!(read(&path), after, "{client}");
        let listed = place.run(&["connect", "-o", "json"]).ended(0).json();
        let rows = listed["clients"].as_array().expect("rows");
        let row = rows
            .iter()
            .find(|row| row["client"] == client)
            .expect("a row");
        is_like!(row, { "connected": true, "name": "mcpproxy" });
        // What is ours is never taken over.
        let imported = place
            .run(&["import", client, "--dry-run", "-o", "json"])
            .ended(0)
            .json();
        let servers = imported["servers"].as_array().expect("servers");
        let ours = servers
            .iter()
            .find(|server| server["written_name"] == "mcpproxy");
        assert_eq!(ours.expect("our entry")["outcome"], "ourselves", "{client}");

        place
            .run(&["connect", client, "--undo"])
            .ended(0)
            .says(&["removed \"mcpproxy\" from"]);
        assert_eq!((read(&path), copies(&path)), (before, 0), "{client}");
        place
            .run(&["connect", client, "--undo"])
            .ended(1)
            .says(&["mcpproxy is not in "]);
    }
}

/// The program in a shell in which no file can grow beyond so many blocks of 512 bytes: a disk that is full.
fn with_full_disk(place: &Place, blocks: usize, arguments: &[&str]) -> super::Ran {
    let program = place.command();
    let mut shell = std::process::Command::new("sh");
    shell
        .arg("-c")
        .arg(format!("ulimit -f {blocks}; exec \"$@\""))
        .arg("sh")
        .arg(program.get_program())
        .args(program.get_args())
        .args(arguments)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", place.folder())
        .current_dir(place.folder())
        .stdin(fs::File::open(place.config_file()).expect("it is there"));
    super::Ran::of(shell.output().expect("a shell"))
}

#[test]
fn a_full_disk_leaves_a_file_as_it_was_and_nothing_beside_it() {
    let (place, path, before) = with_file_of("cursor");
    let comment = "x".repeat((8 << 10) - before.len() - "\n// \n".len());
    let before = format!("{before}\n// {comment}\n");
    fs::write(&path, &before).expect("ours");
    // First the copy of what was there does not fit, then it does, and the new one is longer.
    for blocks in [1, 16] {
        with_full_disk(&place, blocks, &["connect", "cursor"])
            .ended(1)
            .says(&["failed to write", "next: have the system allow larger"]);
        assert_eq!(read(&path), before, "{blocks} blocks");
        let folder = fs::read_dir(path.parent().expect("a folder")).expect("it is there");
        let names = folder.flatten().map(|entry| entry.file_name());
        assert_eq!(names.collect::<Vec<_>>(), ["mcp.json"], "{blocks} blocks");
    }
    let step = "next: have the system allow larger files (`ulimit -f`)";
    let add = ["upstream", "add", "a", "--", "true"];
    with_full_disk(&place, 0, &add).ended(1).says(&[step]);
    with_full_disk(&place, 0, &["secret", "set", "a"])
        .ended(1)
        .says(&[step]);
}

#[test]
fn what_a_client_needs_for_long_calls_is_written_and_a_persons_choice_stays() {
    let check = |client: &str, written: &str, chosen: &str| {
        let place = Place::new();
        let connected = place
            .run(&["connect", client, "-o", "json"])
            .ended(0)
            .json();
        let path = PathBuf::from(connected["clients"][0]["file"].as_str().expect("a path"));
        let text = read(&path);
        has!(text, written, "{client}");
        fs::write(&path, text.replace(written, chosen)).expect("ours");
        place
            .run(&["connect", client, "--endpoint", "/mcp/all"])
            .ended(0);
        let text = read(&path);
        has!(text, chosen, "{client}");
        has!(text, "/mcp/all", "{client}");
    };
    check("codex", "tool_timeout_sec = 300", "tool_timeout_sec = 30");
    check(
        "claude-code",
        "\"alwaysLoad\": true",
        "\"alwaysLoad\": false",
    );
}

#[test]
fn a_file_that_is_not_there_is_made_and_taken_away() {
    for client in CLIENTS {
        let place = Place::new();
        let connected = place
            .run(&["connect", client, "-o", "json"])
            .ended(0)
            .json();
        let done = &connected["clients"][0];
        assert_eq!(done["outcome"], "connected", "{connected:#}");
        let path = PathBuf::from(done["file"].as_str().expect("a path"));
        let mode = fs::metadata(&path).expect("it is there").mode() & 0o777;
        assert_eq!(mode, 0o600, "{client}");
        assert!(path.starts_with(place.folder()), "{}", path.display());
        place.run(&["connect", client, "--undo"]).ended(0);
        assert!(!path.exists(), "{client}: {}", read(&path));
    }
}
