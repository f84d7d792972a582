//! What becomes of the servers that were found: which are new, which are here already, and under which names the new ones come. Pure.

use std::{collections::BTreeSet, path::PathBuf};

use serde_json::{Map, Value};

use super::{
    clients::Client,
    convert::{self, Carried},
    entries::ClientServer,
    found::{ClientFile, FoundFile},
    same::StartedThing,
    secret_names::SecretNames,
};
use crate::{
    config::{self, OurAddress, TextsOfList},
    names::ServerName,
    secret::MASK,
};

/// What is to become of one server.
#[derive(Clone, PartialEq)]
pub enum ImportOutcome {
    /// It comes under this name, which is another than its own for this reason, if there is one.
    New {
        /// The name here.
        name: ServerName,
        /// Why it is called otherwise here.
        renamed: Option<String>,
        /// Its entry here.
        carried: Box<Carried>,
    },
    /// It is here already, or comes from another file.
    Same {
        /// The name here.
        name: String,
        /// The variables or headers that have other values there.
        differing: Vec<String>,
    },
    /// It leads to us.
    Ourselves,
    /// There can be no entry for it here.
    Unusable {
        /// Why.
        why: String,
    },
}

/// A server that was found, and what is to become of it.
#[derive(Clone, PartialEq)]
pub struct PlannedServer {
    /// Whose file it stands in.
    pub client: Client,
    /// Which file.
    pub file: PathBuf,
    /// The project it is for.
    pub project: Option<PathBuf>,
    /// Its name there.
    pub written_name: String,
    /// What it starts or reaches, everything secret masked.
    pub starts: String,
    /// What is to become of it.
    pub outcome: ImportOutcome,
}

impl PlannedServer {
    /// Its name here, if it can be taken over.
    pub fn new_name(&self) -> Option<&str> {
        match &self.outcome {
            ImportOutcome::New { name, .. } => Some(name.as_str()),
            _ => None,
        }
    }
}

/// What is to become of all.
pub type ImportPlan = Vec<PlannedServer>;

/// Decides, in the order of the files. `existing` are the entries that are here, by name, `secrets` the names that theirs have.
pub fn plan(
    found: &[(ClientFile, FoundFile)],
    existing: &[(String, Value)],
    us: &OurAddress,
    secrets: SecretNames<'_>,
) -> ImportPlan {
    let known = existing
        .iter()
        .filter_map(|(name, entry)| Known::of(name, entry.as_object()?));
    let mut planning = Planning {
        us,
        known: known.collect(),
        taken: existing.iter().map(|(name, _)| name.clone()).collect(),
        secrets,
    };
    let mut planned = Vec::new();
    for (file, found) in found {
        for server in &found.servers {
            planned.push(PlannedServer {
                client: found.client,
                file: file.path.clone(),
                project: server.project.clone(),
                written_name: server.name.clone(),
                starts: shown(server),
                outcome: planning.outcome(found.client, server),
            });
        }
    }
    planned
}

/// An entry that is here, or comes.
struct Known {
    name: String,
    start: StartedThing,
    /// The names of the secrets that it refers to.
    secrets: BTreeSet<String>,
}

impl Known {
    /// Nothing where the entry starts and reaches nothing.
    fn of(name: &str, entry: &Map<String, Value>) -> Option<Self> {
        Some(Self {
            name: name.to_owned(),
            start: StartedThing::of(entry)?,
            secrets: config::secrets_of(entry),
        })
    }
}

struct Planning<'a> {
    us: &'a OurAddress,
    /// What is here, and what comes.
    known: Vec<Known>,
    taken: Vec<String>,
    secrets: SecretNames<'a>,
}

impl Planning<'_> {
    fn outcome(&mut self, client: Client, server: &ClientServer) -> ImportOutcome {
        if self.us.is_us(server) || self.us.is_us_elsewhere(server) {
            return ImportOutcome::Ourselves;
        }
        let mut carried = match convert::carried(client, server) {
            Ok(carried) => carried,
            Err(why) => return ImportOutcome::Unusable { why },
        };
        if StartedThing::of(&carried.entry).is_none() {
            let why = "it has neither a command nor an address".to_owned();
            return ImportOutcome::Unusable { why };
        }
        if let Some(same) = self.same(server, &carried) {
            return same;
        }
        let (name, renamed) = self.name(client, server, &carried.entry);
        if let Some(why) = config::entry_fault(&name, &carried.entry, self.us) {
            return ImportOutcome::Unusable { why };
        }
        if let Err(why) = self.secrets.give(name.as_str(), &mut carried) {
            return ImportOutcome::Unusable { why };
        }
        self.known.extend(Known::of(name.as_str(), &carried.entry));
        self.taken.push(name.to_string());
        ImportOutcome::New {
            name,
            renamed,
            carried: Box::new(carried),
        }
    }

    /// What starts the same thing with the same values, or with others under the same name. Others under another name are another account.
    fn same(&self, server: &ClientServer, carried: &Carried) -> Option<ImportOutcome> {
        // Its secrets are called after whatever it is called here.
        let alike = self.known.iter().filter_map(|known| {
            let (name, theirs) = (&known.name, &known.secrets);
            let start = StartedThing::of(&self.secrets.entry_as(name, theirs, carried))?;
            let is_alike = known.start.is_same_target(&start);
            is_alike.then_some((name, &known.start, start))
        });
        // One with a variable that the other has not, a path of its data for example, does something else.
        let same = alike.filter_map(|(name, known, start)| {
            let differing = known.differing(&start);
            let is_meant = differing.is_empty()
                || name.eq_ignore_ascii_case(&server.name) && known.has_names_of(&start);
            is_meant.then_some((name, differing))
        });
        let (name, differing) = same.min_by_key(|(_, differing)| differing.len())?;
        Some(ImportOutcome::Same {
            name: name.clone(),
            differing,
        })
    }

    fn name(
        &self,
        client: Client,
        server: &ClientServer,
        entry: &Map<String, Value>,
    ) -> (ServerName, Option<String>) {
        let (wanted, why) = match ServerName::parse(&server.name) {
            Ok(name) => (name, None),
            Err(error) => {
                let is_said = server.name.chars().any(char::is_alphanumeric);
                let own = if is_said {
                    server.name.clone()
                } else {
                    fallback(entry)
                };
                (ServerName::made_of(&own, ""), Some(error.to_string()))
            }
        };
        let is_taken = |name: &ServerName| {
            let mut taken = self.taken.iter();
            taken.any(|taken| taken.eq_ignore_ascii_case(name.as_str()))
        };
        if !is_taken(&wanted) {
            return (wanted, why);
        }
        let why = format!("a server named {wanted:?} exists already");
        let mut name = ServerName::made_of(wanted.as_str(), &format!("-{}", client.id()));
        let mut n = 1;
        while is_taken(&name) {
            n += 1;
            name = ServerName::made_of(wanted.as_str(), &format!("-{n}"));
        }
        (name, Some(why))
    }
}

/// What a server starts or reaches, in one line without secrets.
fn shown(server: &ClientServer) -> String {
    let Some(command) = server.command() else {
        let url = server.url().unwrap_or("-");
        return config::mask_text_of_strangers(url).into_owned();
    };
    let mut list = TextsOfList::default();
    let mut line = config::mask_text_of_strangers(command).into_owned();
    for arg in server.args() {
        line.push(' ');
        if list.is_secret(arg) {
            line.push_str(MASK);
        } else {
            line.push_str(&config::mask_text_of_strangers(arg));
        }
    }
    line
}

/// What a server without a usable name is called after: its program or its host.
fn fallback(entry: &Map<String, Value>) -> String {
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let word = match (text("command"), text("url")) {
        (Some(command), _) => command.rsplit('/').next(),
        (_, Some(url)) => url
            .split("//")
            .nth(1)
            .and_then(|rest| rest.split(['/', ':']).next()),
        _ => None,
    };
    word.unwrap_or("server").to_owned()
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        path::{Path, PathBuf},
    };

    use serde_json::{Value, json};

    use super::{Client, ClientFile, ImportOutcome, OurAddress, plan};
    use crate::client_files::{FileFormat, FoundFile, Scope, SecretNames, StoredUnderName};

    fn found(client: Client, root: &Value) -> (ClientFile, FoundFile) {
        let file = ClientFile {
            client: Some(client),
            path: PathBuf::from("/f"),
            format: FileFormat::Json,
            scope: Scope::User,
        };
        let found = file.servers_in(&root.to_string()).expect("a good file");
        (file, found)
    }

    /// What becomes of each server, in a word or two.
    fn outcomes(files: &[(Client, Value)], existing: &[(&str, Value)]) -> Vec<String> {
        let files: Vec<_> = files
            .iter()
            .map(|(client, root)| found(*client, root))
            .collect();
        let existing: Vec<_> = existing
            .iter()
            .map(|(name, entry)| ((*name).to_owned(), entry.clone()))
            .collect();
        let us = OurAddress {
            ports: vec![8080],
            places: None,
        };
        let planned = plan(&files, &existing, &us, SecretNames::none());
        let said = |outcome: ImportOutcome| match outcome {
            ImportOutcome::New { name, renamed, .. } => {
                let how = if renamed.is_some() { "renamed" } else { "new" };
                format!("{how} {name}")
            }
            ImportOutcome::Same { name, differing } => {
                format!("same {name} {}", differing.join(","))
            }
            ImportOutcome::Ourselves => "ourselves".to_owned(),
            ImportOutcome::Unusable { why } => format!("unusable: {why}"),
        };
        planned
            .into_iter()
            .map(|server| said(server.outcome).trim().to_owned())
            .collect()
    }

    #[test]
    fn what_is_here_already_is_left_out_and_a_taken_name_is_changed() {
        let time = json!({ "command": "uvx", "args": ["mcp-server-time"] });
        let said = outcomes(
            &[
                (
                    Client::ClaudeCode,
                    json!({ "mcpServers": {
                        "time": { "command": "uvx", "args": ["mcp-server-time", "--x"] },
                        "clock": time,
                        "mcpproxy": { "type": "http", "url": "http://127.0.0.1:8080/mcp" },
                        "git hub": { "command": "npx", "args": ["gh"], "env": { "TOKEN": "a" } },
                        "none": {},
                    } }),
                ),
                (
                    Client::Cursor,
                    json!({ "mcpServers": {
                        "other": { "command": "npx", "args": ["-y", "gh"], "env": { "TOKEN": "a" } },
                        "git-hub": { "command": "npx", "args": ["-y", "gh"], "env": { "TOKEN": "b" } },
                        "second": { "command": "npx", "args": ["-y", "gh"], "env": { "TOKEN": "b" } },
                    } }),
                ),
            ],
            &[("TIME", time.clone())],
        );
        assert_eq!(
            said,
            [
                "renamed time-claude-code",
                "same TIME",
                "ourselves",
                "renamed git-hub",
                "unusable: it has neither a command nor an address",
                "same git-hub",
                "same git-hub TOKEN",
                "new second",
            ]
        );
    }

    #[test]
    fn one_with_another_variable_does_something_else() {
        let memory = |env: Value| json!({ "command": "npx", "args": ["-y", "memory"], "env": env });
        let files = [(
            Client::Windsurf,
            json!({ "mcpServers": { "memory": memory(json!({ "FILE": "/a.jsonl" })) } }),
        )];
        let check = |env: Value, expected: &str| {
            assert_eq!(outcomes(&files, &[("memory", memory(env))]), [expected]);
        };
        check(json!({}), "renamed memory-windsurf");
        check(json!({ "OTHER": "x" }), "renamed memory-windsurf");
        check(json!({ "FILE": "/b.jsonl" }), "same memory FILE");
        check(json!({ "FILE": "/a.jsonl" }), "same memory");
    }

    #[test]
    fn secrets_of_one_name_are_as_many_as_their_servers() {
        let asks = |url: &str| json!({ "url": url, "headers": { "X-Key": "${input:token}" } });
        let literal = json!({ "command": "c", "env": { "TOKEN": "ghp_0123456789abcdefghijABCDEFGHIJ012345" } });
        let files = [
            found(
                Client::VsCode,
                &json!({
                    "inputs": [{ "id": "token", "password": true }],
                    "servers": { "a": asks("https://a.example/mcp"), "b": asks("https://b.example/mcp") },
                }),
            ),
            found(
                Client::Cursor,
                &json!({ "mcpServers": { "gh": literal, "hg": literal } }),
            ),
        ];
        let used = BTreeSet::from(["a-token".to_owned()]);
        let stored = |name: &str, value: Option<&str>| match (name, value) {
            ("b-token", None) | ("gh-TOKEN", Some(_)) => StoredUnderName::Other,
            ("hg-TOKEN", Some("ghp_0123456789abcdefghijABCDEFGHIJ012345")) => StoredUnderName::This,
            _ => StoredUnderName::Nothing,
        };
        let names = SecretNames::new(used, &stored);
        let planned = plan(&files, &[], &OurAddress::default(), names);
        let told = planned.iter().map(|server| match &server.outcome {
            ImportOutcome::New { carried, .. } => {
                let header = &carried.entry.get("headers").unwrap_or(&Value::Null)["X-Key"];
                let needs = carried.needs.iter();
                let mut told: Vec<String> = needs
                    .map(|need| format!("{} {header} {:?}", need.name, need.not_given))
                    .collect();
                let secrets = carried.literals.iter();
                told.extend(secrets.map(|secret| format!("{} {}", secret.name, secret.is_stored)));
                told.join(", ")
            }
            _ => "not new".to_owned(),
        });
        let told: Vec<String> = told.collect();
        assert_eq!(
            told,
            [
                // The plain name is another server's here.
                "a-token-2 \"${keyring:a-token-2}\" None",
                // What is stored there is left alone.
                "b-token-2 \"${keyring:b-token-2}\" Some(\"b-token\")",
                "gh-TOKEN-2 false",
                "not new",
            ]
        );
    }

    #[test]
    fn a_line_about_a_server_has_no_secret() {
        let (file, found) = found(
            Client::Cursor,
            &json!({ "mcpServers": {
                "a": { "command": "x", "args": ["--token", "s3cr3t-value", "--plain", "y"] },
                "b": { "url": "https://h/mcp?api_key=s3cr3t-value" },
            } }),
        );
        let us = OurAddress::default();
        let planned = plan(&[(file, found)], &[], &us, SecretNames::none());
        for server in &planned {
            assert!(!server.starts.contains("s3cr3t"), "{}", server.starts);
        }
        assert!(planned[0].starts.contains("--plain y"));
        assert_eq!(planned[0].file, Path::new("/f"));
    }
}
