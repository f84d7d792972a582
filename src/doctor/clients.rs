//! AI clients whose files name us, and what of their own they name besides that we serve, too. Files are read only.

use std::path::Path;

use serde_json::Value;

use super::{DoctorFinding, servers};
use crate::{
    clients::{
        self, Client, ClientFile, ClientPlaces, ClientServer, FoundFile, FoundOutcome, FoundServer,
        SecretNames, plan,
    },
    config::{OurAddress, Settings},
};

const CLIENT: &str = "client";

/// How clients reach us, and what they need not name themselves.
pub(super) struct ServedHere<'a> {
    /// Those of a daemon that runs, or would run.
    pub(super) us: OurAddress,
    pub(super) settings: &'a Settings,
    /// The entries of our configuration, as they are written.
    pub(super) entries: &'a [(String, Value)],
}

/// Looks into the files of clients in these places.
pub(super) fn check(places: &ClientPlaces, served: &ServedHere<'_>) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    let mut is_named = false;
    for file in places.files() {
        let Some(client) = file.client.filter(|client| client.can_connect()) else {
            continue;
        };
        match file.read() {
            Ok(None) => (),
            Ok(Some(found)) => {
                is_named |= found
                    .servers
                    .iter()
                    .any(|entry| served.us.is_us(entry) || served.us.is_us_elsewhere(entry));
                let place = file.path.display().to_string();
                let mut of_file = served.judge(client, &file, &found.servers);
                of_file.extend(served.doubled(file, found));
                findings.extend(of_file.into_iter().map(|finding| finding.at(&place)));
            }
            Err(error) => findings.push(
                DoctorFinding::warn(
                    CLIENT,
                    format!("the file of {} cannot be read: {error}", client.name()),
                    "correct it; the client may be unable to read it, too",
                )
                .at(file.path.display()),
            ),
        }
    }
    if !is_named {
        let what = "no known client is connected";
        findings.push(DoctorFinding::warn(CLIENT, what, "`mcpproxy connect`"));
    }
    findings
}

impl ServedHere<'_> {
    /// What is to be said of one file.
    fn judge(&self, of: Client, file: &ClientFile, entries: &[ClientServer]) -> Vec<DoctorFinding> {
        let (client, mut findings) = (of.name(), Vec::new());
        let leads =
            |entry: &&ClientServer| self.us.is_us(entry) && missing_program(entry).is_none();
        let ours = entries.iter().find(leads);
        for entry in entries
            .iter()
            .filter(|entry| self.us.is_us_elsewhere(entry))
        {
            findings.push(DoctorFinding::warn(
                CLIENT,
                format!(
                    "{client} names {:?} at an address where this mcpproxy does not listen",
                    entry.name
                ),
                match file.project() {
                    None => format!("`mcpproxy connect {}`", of.id()),
                    Some(folder) => {
                        let folder = folder.display();
                        format!("`mcpproxy connect {} --project` in {folder}", of.id())
                    }
                },
            ));
        }
        for entry in entries {
            if let Some(program) = missing_program(entry).filter(|_| self.us.is_us(entry)) {
                let what = format!("{client} starts {program}, which does not exist");
                let fix = "write the path of this program there (`which mcpproxy`)";
                findings.push(DoctorFinding::fail(CLIENT, what, fix));
            }
        }
        let Some(ours) = ours else {
            return findings;
        };
        let needs_token = self.settings.requires_credentials() && ours.command().is_none();
        findings.push(if needs_token && !ours.shows_token() {
            let what = format!("{client} sends no token, so mcpproxy refuses it (HTTP 401)");
            let fix = format!("`mcpproxy connect {} --token`", of.id());
            DoctorFinding::fail(CLIENT, what, fix)
        } else {
            DoctorFinding::ok(CLIENT, format!("{client} is connected as {:?}", ours.name))
        });
        findings
    }

    /// What a file that names us has itself, too, as import decides it.
    fn doubled(&self, file: ClientFile, found: FoundFile) -> Option<DoctorFinding> {
        let client = found.client.name();
        let leads = |entry: &ClientServer| self.us.is_us(entry) && missing_program(entry).is_none();
        if !found.servers.iter().any(leads) {
            return None;
        }
        let of = found.client;
        let mut planned = plan(
            &[(file, found)],
            self.entries,
            &self.us,
            SecretNames::none(),
        );
        clients::check_starts(&mut planned);
        let is_used =
            |name: &str| servers::usable(self.settings).any(|server| server.name.as_str() == name);
        let doubled = planned.iter().filter(|server| {
            let same = server.name.as_deref();
            let same = same.filter(|_| server.outcome == FoundOutcome::Same);
            same.is_some_and(|name| {
                let mut differing = server.differing.iter();
                is_used(name) && differing.all(|key| self.is_reference(name, key))
            })
        });
        let doubled: Vec<&FoundServer> = doubled.collect();
        let mut stays = doubled.iter();
        let stays = stays.find_map(|server| Some((*server, server.why_it_stays()?)));
        let moves = format!("`mcpproxy import {} --move`", of.id());
        let fix = match stays {
            None => moves,
            Some((one, why)) if one.differing.is_empty() => {
                format!("correct {} ({why}), then {moves}", one.written_name)
            }
            Some(_) => "remove them from that file".to_owned(),
        };
        let doubled: Vec<&str> = doubled.iter().map(|server| &*server.written_name).collect();
        (!doubled.is_empty()).then(|| {
            DoctorFinding::warn(
                CLIENT,
                format!(
                    "{client} starts these a second time: {}",
                    doubled.join(", ")
                ),
                fix,
            )
        })
    }

    /// Whether a value of a server behind us is kept elsewhere: it may well be the one that stands in a client's file.
    fn is_reference(&self, server: &str, key: &str) -> bool {
        let mut entries = self.entries.iter();
        let entry = entries.find(|(name, _)| name == server);
        ["env", "headers"].iter().any(|values| {
            let values = entry.and_then(|(_, entry)| entry.get(values)?.as_object());
            let mut values = values.into_iter().flatten();
            values.any(|(name, value)| {
                let is_meant = name.eq_ignore_ascii_case(key);
                is_meant && value.as_str().is_some_and(|value| value.contains("${"))
            })
        })
    }
}

/// The program, where it is given by its whole path and is not there.
fn missing_program(entry: &ClientServer) -> Option<&str> {
    let command = entry.command()?;
    let path = Path::new(command);
    (path.is_absolute() && !path.exists()).then_some(command)
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::{ServedHere, check};
    use crate::{
        clients::ClientPlaces,
        config::{self, OurAddress, Surroundings, parse},
        doctor::{DoctorFinding, DoctorSeverity},
    };

    const OURS: &str = r#"{ "mcpServers": {
        "time": { "command": "uvx", "args": ["mcp-server-time"] },
        "docs": { "url": "https://example.com/mcp/" },
        "hub": { "command": "uvx", "args": ["hub"], "env": { "TOKEN": "${HUB_TOKEN:-x}" } }
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
            us: OurAddress {
                ports: vec![8080],
                places: None,
            },
            settings: &settings,
            entries: &config::written_entries(OURS).expect("it is sound"),
        };
        let elsewhere = home.path().join("project");
        let findings = check(&ClientPlaces::new(home.path(), &elsewhere), &served);
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
                "clock": { "command": "uvx", "args": ["mcp-server-time"] },
                "zone": { "command": "uvx", "args": ["mcp-server-time"], "env": { "ZONE": "UTC" } },
                "hub": { "command": "uvx", "args": ["hub"], "env": { "TOKEN": "sk-secret" } },
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
            "[mcp_servers.\"mcp\"]\ncommand = 'mcpproxy'\nargs = [\"stdio\"]\n\n[mcp_servers.hub]\ncommand = \"uvx\"\nargs = [\n  \"hub\", # all\n]\n[mcp_servers.hub.env]\nTOKEN = \"http://127.0.0.1:8080\"\n",
        );
        says(&findings, DoctorSeverity::Warn, &["Codex", ": hub"]);
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
            &["Cursor", "does not listen"],
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
}
