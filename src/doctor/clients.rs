//! AI clients whose files name us, and what of their own they name besides that we serve, too. Files are read only.

use serde_json::Value;

use super::{DoctorFinding, servers};
use crate::{
    clients::{
        self, Client, ClientFile, ClientPlaces, ClientServer, FoundFile, FoundOutcome, NeededKind,
        SecretNames, plan, why_refused,
    },
    config::{OurAddress, Settings},
};

const CLIENT: &str = "client";

/// How clients reach us, and what they need not name themselves.
pub(super) struct ServedHere<'a> {
    /// Those of a daemon that runs, or would run.
    pub(super) us: OurAddress,
    /// With the tokens that were issued.
    pub(super) settings: &'a Settings,
    /// Whether they are those of the file, and not what counts without one.
    pub(super) is_known: bool,
    /// The entries of our configuration, as they are written.
    pub(super) entries: &'a [(String, Value)],
}

/// Looks into the files of clients in these places.
pub(super) fn check(places: &ClientPlaces, served: &ServedHere<'_>) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    let mut is_named = false;
    let files = places.files().into_iter().filter_map(|file| {
        let client = file.client.filter(|client| client.can_connect())?;
        let read = file.read();
        Some((client, file, read))
    });
    let files: Vec<_> = files.collect();
    let leads = |found: &FoundFile| found.servers.iter().any(|entry| served.leads_here(entry));
    let is_led = files
        .iter()
        .filter(|(.., read)| matches!(read, Ok(Some(found)) if leads(found)));
    let connected: Vec<Client> = is_led.map(|(client, ..)| *client).collect();
    for (client, file, read) in files {
        match read {
            Ok(None) => (),
            Ok(Some(found)) => {
                is_named |= found
                    .servers
                    .iter()
                    .any(|entry| served.us.is_us(entry) || served.us.is_us_elsewhere(entry));
                let place = file.path.display().to_string();
                let mut of_file = served.judge(client, &file, &found.servers);
                // Whichever of its files names us.
                if connected.contains(&client) {
                    of_file.extend(served.doubled(file, found));
                }
                findings.extend(of_file.into_iter().map(|finding| finding.at(&place)));
            }
            Err(fault) => {
                let what = format!("{}'s file cannot be read: {fault}", client.name());
                let finding = DoctorFinding::warn(CLIENT, what, fault.step(&file.path));
                findings.push(finding.at(file.path.display()));
            }
        }
    }
    if !is_named {
        let (what, fix) = ("no known client is connected", "`mcpproxy connect --all`");
        findings.push(DoctorFinding::warn(CLIENT, what, fix));
    }
    findings
}

impl ServedHere<'_> {
    /// Whether an entry leads to us.
    fn leads_here(&self, entry: &ClientServer) -> bool {
        self.us.is_us(entry) && entry.missing_program().is_none()
    }

    /// The findings about one file.
    fn judge(&self, of: Client, file: &ClientFile, entries: &[ClientServer]) -> Vec<DoctorFinding> {
        let (client, mut findings) = (of.name(), Vec::new());
        let ours = entries.iter().find(|entry| self.leads_here(entry));
        let elsewhere = |entry: &&ClientServer| self.us.is_us_elsewhere(entry);
        for ClientServer { name, .. } in entries.iter().filter(elsewhere) {
            let what = format!(
                "{client}'s entry {name:?} has an address that this mcpproxy does not serve"
            );
            let connect = format!("mcpproxy connect {}", of.id());
            let fix = match file.project() {
                None => format!("`{connect}`"),
                Some(folder) => format!("`{connect} --project` in {}", folder.display()),
            };
            findings.push(DoctorFinding::warn(CLIENT, what, fix));
        }
        for entry in entries {
            if let Some(program) = entry.missing_program().filter(|_| self.us.is_us(entry)) {
                let what = format!("{client} starts {program}, which does not exist");
                let fix =
                    "in its file, replace that path with the one that `which mcpproxy` prints";
                findings.push(DoctorFinding::fail(CLIENT, what, fix));
            }
        }
        let Some(ours) = ours else {
            return findings;
        };
        let refused = why_refused(of, ours, &self.us, self.settings).filter(|_| self.is_known);
        findings.push(if let Some(refused) = refused {
            let what = format!("{client} gets only errors: {refused}");
            DoctorFinding::fail(CLIENT, what, refused.terminal_step())
        } else {
            DoctorFinding::ok(CLIENT, format!("{client} is connected as {:?}", ours.name))
        });
        findings
    }

    /// What a file of a client that names us has itself, too, as import decides it.
    fn doubled(&self, file: ClientFile, found: FoundFile) -> Option<DoctorFinding> {
        let of = found.client;
        let client = of.name();
        let mut planned = plan(
            &[(file, found)],
            self.entries,
            &self.us,
            SecretNames::none(),
        );
        clients::check_starts(&mut planned);
        let is_used =
            |name: &str| servers::usable(self.settings).any(|server| server.name.as_str() == name);
        planned.retain(|server| {
            let same = server.name.as_deref();
            let same = same.filter(|_| server.outcome == FoundOutcome::Same);
            same.is_some_and(|name| {
                let mut differing = server.differing.iter();
                is_used(name) && differing.all(|key| self.is_reference(name, key))
            })
        });
        for server in &mut planned {
            // Import looks for secrets, and compares the values of references.
            server.differing.clear();
            server
                .needs
                .retain(|need| need.kind == NeededKind::Variable);
        }
        let mut doubled = planned.iter();
        let stays = doubled.find_map(|server| Some((server, server.why_it_stays()?)));
        let moves = format!("`mcpproxy import {} --move`", of.id());
        let fix = match stays {
            None => moves,
            Some((one, why)) => {
                let name = &one.written_name;
                format!("correct {name} ({why}), then {moves}; or delete it from that file")
            }
        };
        let doubled: Vec<&str> = planned.iter().map(|server| &*server.written_name).collect();
        (!doubled.is_empty()).then(|| {
            DoctorFinding::warn(
                CLIENT,
                format!("{client} also starts these servers: {}", doubled.join(", ")),
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

#[cfg(test)]
mod tests;
