//! AI clients whose files name us, and what of their own they name besides that we serve, too. Files are read only.

mod entries;
mod files;
mod toml;

use std::path::Path;

use self::entries::ClientEntry;
use super::{DoctorFinding, commands};
use crate::{
    config::{Listen, ServerEntry, Settings, Transport},
    loopback,
};

const CLIENT: &str = "client";

/// How clients reach us, and what they need not name themselves.
pub(super) struct ServedHere<'a> {
    pub(super) listen: Listen,
    /// The ports of a daemon that runs.
    pub(super) ports: Vec<u16>,
    pub(super) settings: &'a Settings,
}

/// Looks into the files of clients in this home and this folder.
pub(super) fn check(home: &Path, folder: &Path, served: &ServedHere<'_>) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    let mut is_named = false;
    for file in files::all(home, folder) {
        match file.read() {
            Ok(None) => (),
            Ok(Some(entries)) => {
                let of_file = served.judge(file.client, &entries);
                is_named |= entries.iter().any(|entry| served.is_us(entry));
                let place = file.path.display();
                findings.extend(of_file.into_iter().map(|finding| finding.at(&place)));
            }
            Err(error) => findings.push(
                DoctorFinding::warn(
                    CLIENT,
                    format!("the file of {} cannot be read: {error}", file.client),
                    "correct it: the client may not read it either",
                )
                .at(file.path.display()),
            ),
        }
    }
    if !is_named {
        let what = "no client that is known names mcpproxy";
        findings.push(DoctorFinding::warn(
            CLIENT,
            what,
            "point a client at it: docs/clients.md has what to write for each",
        ));
    }
    findings
}

impl ServedHere<'_> {
    /// What is to be said of one file.
    fn judge(&self, client: &str, entries: &[ClientEntry]) -> Vec<DoctorFinding> {
        let mut findings = Vec::new();
        let leads = |entry: &&ClientEntry| self.is_us(entry) && entry.missing_program().is_none();
        let ours = entries.iter().find(leads);
        for entry in entries.iter().filter(|entry| self.is_us_elsewhere(entry)) {
            findings.push(DoctorFinding::warn(
                CLIENT,
                format!(
                    "{client} names {:?} at an address where this mcpproxy does not listen",
                    entry.name
                ),
                format!("write {} there, or set `listen`", self.url()),
            ));
        }
        for entry in entries {
            if let Some(program) = entry.missing_program().filter(|_| self.is_us(entry)) {
                let what = format!("{client} starts {program}, which is not there");
                let fix = "write the path of this program there (`which mcpproxy`)";
                findings.push(DoctorFinding::fail(CLIENT, what, fix));
            }
        }
        let Some(ours) = ours else {
            return findings;
        };
        findings.push(DoctorFinding::ok(
            CLIENT,
            format!("{client} names us as {:?}", ours.name),
        ));
        let doubled: Vec<&str> = entries
            .iter()
            .filter(|entry| !self.is_us(entry) && self.serves(entry))
            .map(|entry| entry.name.as_str())
            .collect();
        if !doubled.is_empty() {
            findings.push(DoctorFinding::warn(
                CLIENT,
                format!("{client} has these itself, too, so they run twice and their tools are listed twice: {}", doubled.join(", ")),
                "take them out of that file: they come through mcpproxy",
            ));
        }
        findings
    }

    /// Whether an entry leads to this mcpproxy.
    fn is_us(&self, entry: &ClientEntry) -> bool {
        entry.starts_mcpproxy()
            || entry
                .loopback_port()
                .is_some_and(|port| self.is_our_port(port))
    }

    /// Whether an entry means us and leads nowhere.
    fn is_us_elsewhere(&self, entry: &ClientEntry) -> bool {
        let is_called_so = entry.name.to_lowercase().contains("mcpproxy");
        let elsewhere = entry
            .loopback_port()
            .is_some_and(|port| !self.is_our_port(port));
        is_called_so && elsewhere
    }

    fn is_our_port(&self, port: u16) -> bool {
        if self.ports.is_empty() {
            self.listen.port() == port
        } else {
            self.ports.contains(&port)
        }
    }

    fn url(&self) -> String {
        let port = self.ports.first().copied();
        format!(
            "http://127.0.0.1:{}/mcp",
            port.unwrap_or(self.listen.port())
        )
    }

    /// Whether one of the servers behind us is this one.
    fn serves(&self, entry: &ClientEntry) -> bool {
        commands::usable(self.settings).any(|server| is_same(server, entry))
    }
}

fn is_same(server: &ServerEntry, entry: &ClientEntry) -> bool {
    match &server.transport {
        Transport::Stdio(stdio) => {
            entry.command.as_ref() == Some(&stdio.command) && entry.args == stdio.args
        }
        Transport::Remote(remote) => {
            let plain = |url: &str| url.trim_end_matches('/').to_owned();
            entry.url.as_deref().map(plain) == Some(plain(&remote.url))
        }
    }
}

/// The port of an address on this machine.
fn loopback_port(url: &str) -> Option<u16> {
    let rest = url.strip_prefix("http://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = rest.get(..end)?;
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (authority, 80),
    };
    loopback::is_loopback(host).then_some(port)
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::{ServedHere, check, loopback_port};
    use crate::{
        config::{Listen, Surroundings, parse},
        doctor::{DoctorFinding, DoctorSeverity},
    };

    const OURS: &str = r#"{ "mcpServers": {
        "time": { "command": "uvx", "args": ["mcp-server-time"] },
        "docs": { "url": "https://example.com/mcp/" }
    } }"#;

    /// What is found with this file in a home.
    fn found(file: &str, text: &str) -> Vec<DoctorFinding> {
        let home = tempfile::tempdir().expect("a temporary folder");
        let path = home.path().join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("ours");
        fs::write(&path, text).expect("ours");
        let surroundings = Surroundings {
            lookup: &|_| None,
            folder: Path::new("/"),
        };
        let settings = parse(OURS, &surroundings).expect("it is sound");
        let served = ServedHere {
            listen: Listen::default(),
            ports: Vec::new(),
            settings: &settings,
        };
        let elsewhere = home.path().join("project");
        let findings = check(home.path(), &elsewhere, &served);
        assert_eq!(fs::read_to_string(&path).expect("it is there"), text);
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
                "clock": { "command": "uvx", "args": ["mcp-server-time"], "env": { "KEY": "sk-secret" } },
                "own": { "command": "uvx", "args": ["other"] }, "pages": { "url": "https://example.com/mcp" } } }"#,
        );
        says(&findings, DoctorSeverity::Warn, &["Cursor", "clock, pages"]);
        assert!(!format!("{findings:?}").contains("sk-secret"));
        let findings = found(
            ".codex/config.toml",
            "[mcp_servers.\"mcp\"]\ncommand = 'mcpproxy'\nargs = [\"stdio\"]\n\n[mcp_servers.clock]\ncommand = \"uvx\"\nargs = [\n  \"mcp-server-time\", # time\n]\n[mcp_servers.clock.env]\nurl = \"http://127.0.0.1:8080\"\n",
        );
        says(&findings, DoctorSeverity::Warn, &["Codex", "clock"]);
        // A client that does not know us runs them for itself.
        let findings = found(".cursor/mcp.json", OURS);
        says(&findings, DoctorSeverity::Warn, &["no client"]);
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
            &["Cursor", "does not listen"],
        );
        let findings = found(
            ".cursor/mcp.json",
            r#"{ "mcpServers": { "mcp": { "command": "/no/such/mcpproxy", "args": ["stdio"] } } }"#,
        );
        says(&findings, DoctorSeverity::Fail, &["/no/such/mcpproxy"]);
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
        says(&findings, DoctorSeverity::Warn, &["no client"]);
    }

    #[test]
    fn ports_of_this_machine_are_read_out_of_addresses() {
        assert_eq!(loopback_port("http://127.0.0.1:8080/mcp"), Some(8080));
        assert_eq!(loopback_port("http://[::1]:1?x"), Some(1));
        assert_eq!(loopback_port("http://localhost"), Some(80));
        for other in [
            "http://example.com:8080/mcp",
            "https://127.0.0.1",
            "",
            "http://:x",
        ] {
            assert_eq!(loopback_port(other), None, "{other}");
        }
    }
}
