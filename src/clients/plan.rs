//! What becomes of the servers that were found: which are new, which are here already, and under which names the new ones come. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{
    Client, ClientFile, ClientServer, FoundFile, FoundOutcome, FoundServer, SecretNames,
    containers::set_apart,
    conversion::as_text,
    convert::{self, Carried},
    default_name::name_of,
    placeholders::{is_placeholder, placeholders},
    report::key_for_off,
};
use crate::{
    config::{self, OurAddress},
    text::{ListContext, MASK, ServerName, TextKind, redact},
};

/// Decides, in the order of the files. `existing` are the entries that are here, by name; `secrets` has the names of their secrets.
pub fn plan(
    found: &[(ClientFile, FoundFile)],
    existing: &[(String, Value)],
    us: &OurAddress,
    secrets: SecretNames<'_>,
) -> Vec<FoundServer> {
    let known = existing
        .iter()
        .filter_map(|(name, entry)| Known::of(name, entry.as_object()?));
    let mut planning = Planning {
        us,
        known: known.collect(),
        taken: existing.iter().map(|(name, _)| name.clone()).collect(),
        pasted: BTreeSet::new(),
        secrets,
    };
    let mut planned = Vec::new();
    for (file, found) in found {
        for server in &found.servers {
            let mut row = row(file, found.client, server);
            let decided = match found.refused {
                Some(why) => Err(why.to_owned()),
                None => planning.decide(found.client, server, &mut row),
            };
            if let Err(why) = decided {
                row.outcome = FoundOutcome::Unusable;
                row.reason = Some(why);
            }
            planned.push(row);
        }
    }
    planned
}

/// A server of which nothing is decided yet.
pub(super) fn row(file: &ClientFile, client: Client, server: &ClientServer) -> FoundServer {
    let project = server.project.as_ref();
    FoundServer {
        written_name: server.name.clone(),
        client,
        file: file.path.display().to_string(),
        project: project.map(|folder| folder.display().to_string()),
        is_in_project_file: file.project().is_some(),
        found: server.clone(),
        starts: shown(server),
        ..FoundServer::default()
    }
}

/// An entry that is here, or comes.
struct Known {
    name: String,
    start: StartedThing,
    /// The names of the secrets that it refers to.
    secrets: BTreeSet<String>,
    entry: Map<String, Value>,
}

impl Known {
    /// Nothing where the entry starts and reaches nothing.
    fn of(name: &str, entry: &Map<String, Value>) -> Option<Self> {
        Some(Self {
            name: name.to_owned(),
            start: StartedThing::of(entry)?,
            secrets: config::secrets_of(entry),
            entry: entry.clone(),
        })
    }
}

struct Planning<'a> {
    us: &'a OurAddress,
    /// What is here, and what comes.
    known: Vec<Known>,
    taken: Vec<String>,
    /// The names in a pasted text. Another server of the same name is another way to start it.
    pasted: BTreeSet<String>,
    secrets: SecretNames<'a>,
}

impl Planning<'_> {
    /// What is to become of a server; or why there can be no entry for it here.
    fn decide(
        &mut self,
        client: Client,
        server: &ClientServer,
        row: &mut FoundServer,
    ) -> Result<(), String> {
        if self.us.is_us(server) || self.us.is_us_elsewhere(server) {
            return Ok(());
        }
        let mut carried = convert::carried(client, server)?;
        if let Some((known, differing)) = self.same(server, &carried) {
            row.outcome = FoundOutcome::Same;
            row.name = Some(known.name.clone());
            row.differing = differing;
            row.needs = self.secrets.needs_of(&known.secrets, carried.needs);
            row.entry.clone_from(&known.entry);
            return Ok(());
        }
        if row.file == "-" && !self.pasted.insert(server.name.clone()) {
            return Err("another server of this name is above it; paste this one alone".to_owned());
        }
        let own_ending = (row.file != "-").then(|| format!("-{}", client.id()));
        let (name, renamed, is_doubled) = self.name(own_ending, server);
        if let Some(fault) = config::entry_fault(&name, &carried.entry, self.us) {
            return Err(fault.text);
        }
        self.secrets.give(name.as_str(), &mut carried)?;
        self.known.extend(Known::of(name.as_str(), &carried.entry));
        self.taken.push(name.to_string());
        let is = |key: &str, value: bool| carried.entry.get(key) == Some(&Value::Bool(value));
        row.outcome = match renamed {
            Some(_) => FoundOutcome::Renamed,
            None => FoundOutcome::New,
        };
        row.reason = renamed;
        row.doubled = is_doubled;
        row.disabled = is("enabled", false);
        row.is_held = is("quarantined", true);
        row.name = Some(name.to_string());
        row.needs = carried.needs;
        row.variables = config::variables_of(&carried.entry).into_iter().collect();
        row.placeholders = placeholders(&carried.entry);
        let command = carried.entry.get("command").and_then(Value::as_str);
        row.command = command.map(|word| redact::redacted(word, TextKind::Word).into_owned());
        row.literal_secrets = carried.literals;
        row.note_secret_steps();
        row.left_behind = carried.left_behind;
        row.entry = carried.entry;
        Ok(())
    }

    /// What starts the same thing with the same values, or with others under the same name. Others under another name are another account.
    fn same(&self, server: &ClientServer, carried: &Carried) -> Option<(&Known, Vec<String>)> {
        // Its secrets are called after whatever it is called here.
        let alike = self.known.iter().filter_map(|known| {
            let (name, theirs) = (&known.name, &known.secrets);
            let start = StartedThing::of(&self.secrets.entry_as(name, theirs, carried))?;
            let is_alike = known.start.is_same_target(&start);
            is_alike.then_some((known, start))
        });
        // One with a variable that the other has not, a path of its data for example, does something else.
        let same = alike.filter_map(|(known, start)| {
            let mut differing = known.start.differing(&start);
            let is_meant = differing.is_empty()
                || known.name.eq_ignore_ascii_case(&server.name)
                    && known.start.has_names_of(&start);
            // A value that its client lacks, too, is not lost.
            differing.retain(|name| !start.lacks(name));
            // Whoever uses it at the client would lose it.
            let off = key_for_off(&known.entry);
            let off = off.filter(|_| key_for_off(&carried.entry).is_none());
            differing.extend(off.map(str::to_owned));
            differing.extend(convert::lost_values(&carried.left_behind).map(str::to_owned));
            is_meant.then_some((known, differing))
        });
        same.min_by_key(|(_, differing)| differing.len())
    }

    /// Its name here, why it is another one, and whether it was taken. Then it ends in its client, or in a number, which what was pasted has
    /// from the beginning.
    fn name(
        &self,
        own_ending: Option<String>,
        server: &ClientServer,
    ) -> (ServerName, Option<String>, bool) {
        let (wanted, why) = match ServerName::parse(&server.name) {
            Ok(name) => (name, None),
            Err(error) => {
                let is_said = server.name.chars().any(char::is_alphanumeric);
                let own = if is_said {
                    server.name.clone()
                } else {
                    name_of(server)
                };
                (ServerName::made_of(&own, ""), Some(error.to_string()))
            }
        };
        let is_taken = |name: &ServerName| {
            let mut taken = self.taken.iter();
            taken.any(|taken| taken.eq_ignore_ascii_case(name.as_str()))
        };
        if !is_taken(&wanted) {
            return (wanted, why, false);
        }
        let why = format!("another server is named {wanted:?}");
        let numbers = (2..).map(|n: u32| format!("-{n}"));
        let endings = own_ending.into_iter().chain(numbers);
        let mut names = endings.map(|ending| ServerName::made_of(wanted.as_str(), &ending));
        let name = names.find(|name| !is_taken(name));
        (name.unwrap_or(wanted), Some(why), true)
    }
}

/// What a server starts or reaches, in one line without secrets.
fn shown(server: &ClientServer) -> String {
    let Some(command) = server.command() else {
        let url = server.url().unwrap_or("-");
        return redact::redacted(url, TextKind::Prose).into_owned();
    };
    let mut list = ListContext::of_command(command);
    let mut line = redact::redacted(command, TextKind::Prose).into_owned();
    for arg in server.args() {
        line.push(' ');
        if list.hide(arg) {
            line.push_str(MASK);
        } else {
            line.push_str(&redact::redacted(arg, TextKind::Prose));
        }
    }
    line
}

/// What an entry of ours starts or reaches, and with which values.
struct StartedThing {
    /// The command with its arguments and its folder, or the address.
    target: Value,
    /// The variables or headers, by name.
    values: BTreeMap<String, String>,
}

impl StartedThing {
    /// Nothing where the entry has neither `command` nor `url`.
    fn of(entry: &Map<String, Value>) -> Option<Self> {
        // A secret in the arguments of a container is the same in a variable.
        let mut entry = entry.clone();
        set_apart(&mut entry);
        let text = |keys: &[&str]| {
            keys.iter()
                .find_map(|key| entry.get(*key)?.as_str())
                .map(plain)
        };
        if let Some(command) = text(&["command"]) {
            let args = entry.get("args").and_then(Value::as_array);
            let args = args.into_iter().flatten().filter_map(as_text);
            let mut args: Vec<String> = args.map(|arg| plain(&arg)).collect();
            if command.rsplit('/').next() == Some("npx") {
                // It only keeps npx from asking.
                args.retain(|arg| arg != "-y" && arg != "--yes");
            }
            let folder = text(&["cwd", "working_dir"]);
            return Some(Self {
                target: json!([command, args, folder]),
                values: values(entry.get("env"), str::to_owned),
            });
        }
        let url = text(&["url"])?;
        Some(Self {
            target: json!(url.trim_end_matches('/')),
            values: values(entry.get("headers"), str::to_ascii_lowercase),
        })
    }

    /// Whether both start the same program or reach the same address.
    fn is_same_target(&self, other: &Self) -> bool {
        self.target == other.target
    }

    /// Whether both have values of the same names.
    fn has_names_of(&self, other: &Self) -> bool {
        self.values.keys().eq(other.values.keys())
    }

    /// Whether a placeholder stands where a value is to be.
    fn lacks(&self, name: &str) -> bool {
        let value = self.values.get(name);
        value.is_some_and(|value| is_placeholder(value))
    }

    /// The names of the values that are not the same.
    fn differing(&self, other: &Self) -> Vec<String> {
        let names = self.values.keys().chain(other.values.keys());
        let differs = |name: &&String| self.values.get(*name) != other.values.get(*name);
        let mut differing: Vec<String> = names.filter(differs).cloned().collect();
        differing.sort();
        differing.dedup();
        differing
    }
}

fn values(written: Option<&Value>, name: impl Fn(&str) -> String) -> BTreeMap<String, String> {
    let members = written.and_then(Value::as_object).into_iter().flatten();
    members
        .filter_map(|(key, value)| Some((name(key), plain(&as_text(value)?))))
        .collect()
}

/// A text in which both spellings of a variable are one.
fn plain(text: &str) -> String {
    text.replace("${env:", "${")
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::PathBuf};

    use serde_json::{Value, json};

    use super::{Client, ClientFile, FoundFile, FoundOutcome, OurAddress, SecretNames, plan};
    use crate::clients::secret_names::StoredUnderName;
    use crate::config::Listen;

    fn found(client: &str, root: &Value) -> (ClientFile, FoundFile) {
        let client = Client::from_word(client).expect("a client");
        let file = ClientFile::new(Some(client), None, PathBuf::from("/f"));
        let found = file.servers_in(&root.to_string()).expect("a good file");
        (file, found)
    }

    /// What becomes of each server, in a word or two.
    fn outcomes(files: &[(&str, Value)], existing: &[(&str, Value)]) -> Vec<String> {
        let files: Vec<_> = files
            .iter()
            .map(|(client, root)| found(client, root))
            .collect();
        let existing: Vec<_> = existing
            .iter()
            .map(|(name, entry)| ((*name).to_owned(), entry.clone()))
            .collect();
        let us = OurAddress::new(Vec::new(), &Listen::default(), None);
        let planned = plan(&files, &existing, &us, SecretNames::none());
        let outcomes = planned.into_iter().map(|server| {
            let name = server.name.unwrap_or_default();
            match server.outcome {
                FoundOutcome::New => format!("new {name}"),
                FoundOutcome::Renamed if server.doubled => format!("doubled {name}"),
                FoundOutcome::Renamed => format!("renamed {name}"),
                FoundOutcome::Same => format!("same {name} {}", server.differing.join(",")),
                FoundOutcome::Ourselves => "ourselves".to_owned(),
                FoundOutcome::Unusable => {
                    format!("unusable: {}", server.reason.unwrap_or_default())
                }
            }
        });
        outcomes.map(|text| text.trim().to_owned()).collect()
    }

    #[test]
    fn what_is_here_already_is_left_out_and_a_taken_name_is_changed() {
        let time = json!({ "command": "uvx", "args": ["mcp-server-time"] });
        let said = outcomes(
            &[
                (
                    "claude-code",
                    json!({ "mcpServers": {
                        "time": { "command": "uvx", "args": ["mcp-server-time", "--x"] },
                        "clock": time,
                        "mcpproxy": { "type": "http", "url": "http://127.0.0.1:8080/mcp" },
                        "git hub": { "command": "npx", "args": ["gh"], "env": { "TOKEN": "a" } },
                        "none": {},
                    } }),
                ),
                (
                    "cursor",
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
                "doubled time-claude-code",
                "same TIME",
                "ourselves",
                "renamed git-hub",
                "unusable: `command` and `url` are missing or empty; one is needed",
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
            "windsurf",
            json!({ "mcpServers": { "memory": memory(json!({ "FILE": "/a.jsonl" })) } }),
        )];
        let check = |env: Value, expected: &str| {
            assert_eq!(outcomes(&files, &[("memory", memory(env))]), [expected]);
        };
        check(json!({}), "doubled memory-windsurf");
        check(json!({ "OTHER": "x" }), "doubled memory-windsurf");
        check(json!({ "FILE": "/b.jsonl" }), "same memory FILE");
        check(json!({ "FILE": "/a.jsonl" }), "same memory");
    }

    #[test]
    fn one_that_is_off_here_or_loses_values_is_written_differently() {
        let entry = |key: &str, value: Value| json!({ "command": "npx", "args": ["-y", "memory"], key: value });
        let check = |theirs: Value, ours: Value, expected: &str| {
            let files = [("cursor", json!({ "mcpServers": { "memory": theirs } }))];
            assert_eq!(outcomes(&files, &[("memory", ours)]), [expected]);
        };
        let on = || entry("enabled", json!(true));
        check(on(), on(), "same memory");
        check(on(), entry("enabled", json!(false)), "same memory enabled");
        check(
            on(),
            entry("quarantined", json!(true)),
            "same memory quarantined",
        );
        check(on(), entry("disabled", json!(true)), "same memory disabled");
        check(
            entry("disabled", json!(true)),
            entry("enabled", json!(false)),
            "same memory",
        );
        check(entry("envFile", json!(".env")), on(), "same memory envFile");
        let key = |key: &str| entry("env", json!({ "KEY": key }));
        check(key("<YOUR_KEY>"), key("k"), "same memory");
        check(key("k"), key("<YOUR_KEY>"), "same memory KEY");
    }

    #[test]
    fn secrets_of_one_name_are_as_many_as_their_servers() {
        let asks = |url: &str| json!({ "url": url, "headers": { "X-Key": "${input:token}" } });
        let literal = json!({ "command": "c", "env": { "TOKEN": "ghp_0123456789abcdefghijABCDEFGHIJ012345" } });
        let files = [
            found(
                "vscode",
                &json!({
                    "inputs": [{ "id": "token", "password": true }],
                    "servers": { "a": asks("https://a.example/mcp"), "b": asks("https://b.example/mcp") },
                }),
            ),
            found(
                "cursor",
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
        let told = planned.iter().map(|server| {
            let header = &server.entry.get("headers").unwrap_or(&Value::Null)["X-Key"];
            let needs = server.needs.iter();
            let mut told: Vec<String> = needs
                .map(|need| format!("{} {header} {:?}", need.name, need.not_given))
                .collect();
            let secrets = server.literal_secrets.iter();
            told.extend(secrets.map(|secret| format!("{} {}", secret.name, secret.is_stored)));
            told.join(", ")
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
                "",
            ]
        );
    }

    #[test]
    fn a_line_about_a_server_has_no_secret() {
        let (file, found) = found(
            "cursor",
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
        assert_eq!(planned[0].file, "/f");
    }
}

#[cfg(test)]
mod same_tests {
    use serde_json::{Value, json};

    use super::StartedThing;

    fn start(entry: &Value) -> StartedThing {
        StartedThing::of(entry.as_object().expect("an entry")).expect("a start")
    }

    #[test]
    fn what_starts_the_same_thing_is_the_same() {
        let check = |one: Value, other: Value, is_same: bool, differing: &[&str]| {
            let (one, other) = (start(&one), start(&other));
            assert_eq!(one.is_same_target(&other), is_same);
            assert_eq!(one.differing(&other), differing);
        };
        check(
            json!({ "command": "npx", "args": ["-y", "x"], "env": { "A": "${env:A}" } }),
            json!({ "command": "npx", "args": ["x"], "env": { "A": "${A}" }, "enabled": false }),
            true,
            &[],
        );
        check(
            json!({ "url": "https://x/mcp/", "headers": { "X-Key": "1" } }),
            json!({ "url": "https://x/mcp", "headers": { "x-key": "2" } }),
            true,
            &["x-key"],
        );
        check(
            json!({ "command": "x", "args": ["a"] }),
            json!({ "command": "x", "args": ["b"] }),
            false,
            &[],
        );
        check(
            json!({ "command": "x", "cwd": "/a" }),
            json!({ "command": "x", "working_dir": "/b" }),
            false,
            &[],
        );
        assert!(StartedThing::of(json!({}).as_object().expect("an entry")).is_none());
    }
}
