use std::{fs, path::Path};

use super::{ServedHere, check};
use crate::{
    clients::ClientPlaces,
    config::{self, Listen, OurAddress, Surroundings, parse},
    doctor::{DoctorFinding, DoctorSeverity},
};

const OURS: &str = r#"{ "mcpServers": {
        "time": { "command": "uvx", "args": ["mcp-server-time"] },
        "docs": { "url": "https://example.com/mcp/" },
        "hub": { "command": "sh", "args": ["hub"], "env": { "TOKEN": "${HUB_TOKEN:-x}" } },
        "gone": { "command": "/no/such", "env": { "TOKEN": "${HUB_TOKEN:-x}" } }
    } }"#;

/// What is found with this file in a home.
fn found(file: &str, text: &str) -> Vec<DoctorFinding> {
    found_in(&[(file, text)])
}

fn found_in(files: &[(&str, &str)]) -> Vec<DoctorFinding> {
    let home = tempfile::tempdir().expect("a temporary folder");
    for (file, text) in files {
        let path = home.path().join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("ours");
        fs::write(&path, text).expect("ours");
    }
    let surroundings = Surroundings {
        lookup: &|_| None,
        folder: Path::new("/"),
    };
    let settings = parse(OURS, &surroundings).expect("it is sound");
    let served = ServedHere {
        us: OurAddress::new(Vec::new(), &Listen::default(), None),
        settings: &settings,
        is_known: true,
        entries: &config::written_entries(OURS).expect("it is sound"),
    };
    let elsewhere = home.path().join("project");
    let findings = check(&ClientPlaces::new(home.path(), &elsewhere), &served);
    for (file, text) in files {
        let now = fs::read_to_string(home.path().join(file));
        assert_eq!(now.expect("it is there"), *text);
    }
    findings
}

#[track_caller]
fn says(findings: &[DoctorFinding], severity: DoctorSeverity, parts: &[&str]) {
    let mut with = findings.iter().filter(|found| found.severity == severity);
    let is_said = with.any(|found| parts.iter().all(|part| found.what.contains(part)));
    assert!(is_said, "no {parts:?} in {findings:#?}");
}

#[test]
fn every_client_that_names_us_is_found_in_its_own_format() {
    for (client, file, text) in [
        (
            "Claude Code",
            ".claude.json",
            r#"{ "mcpServers": { "mcp": { "type": "http", "url": "http://127.0.0.1:8080/mcp" } } }"#,
        ),
        (
            "Claude Code",
            ".claude.json",
            r#"{ "projects": { "/p": { "mcpServers": { "mcp": { "url": "http://localhost:8080/mcp/all" } } } } }"#,
        ),
        (
            "Claude Code",
            "project/.mcp.json",
            r#"{ "mcpServers": { "mcp": { "url": "http://[::1]:8080/mcp" } } }"#,
        ),
        (
            "Claude Desktop",
            ".config/Claude/claude_desktop_config.json",
            r#"{ "mcpServers": { "mcp": { "command": "mcpproxy", "args": ["stdio"] } } }"#,
        ),
        (
            "Claude Desktop",
            "Library/Application Support/Claude/claude_desktop_config.json",
            r#"{ "mcpServers": { "mcp": { "command": "mcpproxy", "args": ["stdio"] } } }"#,
        ),
        (
            "Cursor",
            ".cursor/mcp.json",
            r#"{ "mcpServers": { "mcp": { "command": "npx", "args": ["mcp-remote", "http://127.0.0.1:8080/mcp"] } } }"#,
        ),
        (
            "VS Code",
            ".config/Code/User/mcp.json",
            "{ // comments\n \"servers\": { \"mcp\": { \"type\": \"http\", \"url\": \"http://127.0.0.1:8080/mcp\" }, } }",
        ),
        (
            "Windsurf",
            ".codeium/windsurf/mcp_config.json",
            r#"{ "mcpServers": { "mcp": { "serverUrl": "http://127.0.0.1:8080/mcp" } } }"#,
        ),
        (
            "Gemini CLI",
            ".gemini/settings.json",
            r#"{ "mcpServers": { "mcp": { "httpUrl": "http://127.0.0.1:8080/mcp" } } }"#,
        ),
        (
            "Codex",
            ".codex/config.toml",
            "model = \"x\"\n[mcp_servers.mcp]\nurl = \"http://127.0.0.1:8080/mcp\" # us\n",
        ),
    ] {
        let findings = found(file, text);
        says(&findings, DoctorSeverity::Ok, &[client, "\"mcp\""]);
        assert_eq!(findings.len(), 1, "{findings:#?}");
    }
}

#[test]
fn servers_that_a_client_has_beside_us_are_named() {
    let findings = found(
        ".cursor/mcp.json",
        r#"{ "mcpServers": { "mcp": { "url": "http://127.0.0.1:8080/mcp" },
                "clock": { "command": "uvx", "args": ["mcp-server-time"] },
                "zone": { "command": "uvx", "args": ["mcp-server-time"], "env": { "ZONE": "UTC" } },
                "hub": { "command": "sh", "args": ["hub"], "env": { "TOKEN": "sk-secret" } },
                "own": { "command": "uvx", "args": ["other"] }, "pages": { "url": "https://example.com/mcp" } } }"#,
    );
    says(
        &findings,
        DoctorSeverity::Warn,
        &["Cursor", ": clock, hub, pages"],
    );
    assert!(!format!("{findings:?}").contains("sk-secret"));
    let findings = found(
        ".codex/config.toml",
        "[mcp_servers.\"mcp\"]\ncommand = 'mcpproxy'\nargs = [\"stdio\"]\n\n[mcp_servers.hub]\ncommand = \"sh\"\nargs = [\n  \"hub\", # all\n]\n[mcp_servers.hub.env]\nTOKEN = \"http://127.0.0.1:8080\"\n",
    );
    says(&findings, DoctorSeverity::Warn, &["Codex", ": hub"]);
    let fix = findings.last().and_then(|found| found.fix.as_deref());
    assert_eq!(fix, Some("`mcpproxy import codex --move`"), "{findings:#?}");
    // Nor would one be moved whose program is not there, whatever else differs.
    let findings = found(
        ".cursor/mcp.json",
        r#"{ "mcpServers": { "mcp": { "url": "http://127.0.0.1:8080/mcp" }, "gone": { "command": "/no/such", "env": { "TOKEN": "sk" } } } }"#,
    );
    let fix = findings.last().and_then(|found| found.fix.as_deref());
    let expected = "correct gone (no program at \"/no/such\"), then `mcpproxy import cursor --move`; or delete it from that file";
    assert_eq!(fix, Some(expected));
    // Whichever of its files names us.
    let us = r#"{ "mcpServers": { "mcp": { "url": "http://127.0.0.1:8080/mcp" } } }"#;
    let clock =
        r#"{ "mcpServers": { "clock": { "command": "uvx", "args": ["mcp-server-time"] } } }"#;
    let findings = found_in(&[(".claude.json", us), ("project/.mcp.json", clock)]);
    says(&findings, DoctorSeverity::Warn, &["Claude Code", ": clock"]);
    // A client that does not know us runs them for itself.
    let findings = found(".cursor/mcp.json", OURS);
    says(
        &findings,
        DoctorSeverity::Warn,
        &["no known client is connected"],
    );
    assert_eq!(findings.len(), 1, "{findings:#?}");
}

#[test]
fn what_leads_nowhere_and_what_cannot_be_read_is_said() {
    let findings = found(
        ".cursor/mcp.json",
        r#"{ "mcpServers": { "MCPProxy": { "url": "http://127.0.0.1:9999/mcp" } } }"#,
    );
    says(
        &findings,
        DoctorSeverity::Warn,
        &["Cursor", "does not serve"],
    );
    // It names us, only not where we are.
    assert!(
        !format!("{findings:?}").contains("no client"),
        "{findings:#?}"
    );
    let findings = found(
        ".cursor/mcp.json",
        r#"{ "mcpServers": { "mcp": { "command": "/no/such/mcpproxy", "args": ["stdio"] } } }"#,
    );
    says(&findings, DoctorSeverity::Fail, &["/no/such/mcpproxy"]);
    for (rest, why) in [
        (r#"/p/work""#, "/mcp/p/work"),
        (r#"/server/left""#, "/mcp/server/left"),
        (
            r#"", "headers": { "Authorization": "Bearer mcpp_gone" }"#,
            "its token was revoked",
        ),
    ] {
        let us = format!(
            r#"{{ "mcpServers": {{ "mcp": {{ "url": "http://127.0.0.1:8080/mcp{rest} }} }} }}"#
        );
        let findings = found(".cursor/mcp.json", &us);
        says(&findings, DoctorSeverity::Fail, &["Cursor", why]);
    }
    let findings = found(".claude.json", "{");
    says(
        &findings,
        DoctorSeverity::Warn,
        &["Claude Code", "cannot be read"],
    );
    let findings = found(
        ".gemini/settings.json",
        r#"{ "mcpServers": [1, null], "servers": 7 }"#,
    );
    says(
        &findings,
        DoctorSeverity::Warn,
        &["no known client is connected"],
    );
}
