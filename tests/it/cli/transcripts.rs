//! Transcripts of the command line, below `transcripts/`: what commands print and leave. A line `# NAME` begins a case in a home of
//! its own, `@ FILE` writes the lines below it into a file, `$ COMMAND` runs in a shell; below it stand its stdout, its stderr behind
//! `!`, its exit code behind `?` unless it is 0, and behind `>` what it asked of a daemon that `= ANSWER` plays.
//! Below `% METHOD PATH BODY` stands what REST answers, and below `& TOOL ARGUMENTS` what an agent is told: the text of the result, or
//! the result. Instead of a tool there may be a method and its params; before them may stand an endpoint, or `TOKEN@ENDPOINT`.
//! Behind ` | ` at the end stand the members that are shown of an answer, instead of all. `[..]` is any text; other lines are remarks. Runs of blanks count as two.
//! With `UPDATE_TRANSCRIPTS=1` what differs is written down instead of failing.

use std::{fs, net::SocketAddr, os::unix::fs::PermissionsExt, path::Path, process::Command};

use super::playback::Playback;
use crate::support::prelude::*;

/// What commands can use: the program with the files of the case, its daemon in the background, and files of clients.
const SHELL: &str = r#"
mcpproxy() { "$PROGRAM" --config "$HOME/mcp_config.json" --data-dir "$HOME/data" "$@"; }
daemon() { [ -e mcp_config.json ] || echo "{}" > mcp_config.json; mcpproxy serve --background=start --port 0 "$@"; }
wrong() { mcpproxy "$@" 2> wrong.txt; code=$?; head -n 1 wrong.txt >&2; return $code; }
found() { until mcpproxy tools search "$1" -o json 2>&1 | grep -q '"score"'; do sleep 0.05; done; }
furnish() { mkdir -p "$(dirname "$2")" bin; ln -sf "$PROGRAM" bin/notes; sed "s|@HOME@|$HOME|g; s|@PORT@|8080|g" "$FILES/$1" > "$2"; }
"#;

const PROGRAM: &str = env!("CARGO_BIN_EXE_mcpproxy");

/// A scripted server for a shell.
const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/cli/server.sh");

/// A home whose daemons end with it, and the one that is played there.
struct Case(Home, Option<Playback>);

impl Case {
    fn home(&self) -> &str {
        self.0.folder().to_str().expect("a path")
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.0.folder().join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("ours");
        fs::write(&path, self.full(text)).expect("ours");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("ours");
    }

    fn play_daemon(&mut self, answer: &str) {
        let data = self.0.data_dir();
        fs::create_dir_all(&data).expect("ours");
        self.1 = Some(Playback::answering(&data.join("mcpproxy.sock"), answer));
    }

    fn shell(&self, command: &str) -> std::process::Output {
        let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/cli/client_files");
        let mut shell = Command::new("timeout");
        shell
            .args(["60", "sh", "-c", &format!("{SHELL}{command}")])
            .env_clear()
            .envs([
                ("HOME", self.home()),
                ("PATH", "/usr/bin:/bin"),
                // The login shell of whoever runs the tests must not matter.
                ("SHELL", "/bin/sh"),
                ("PROGRAM", PROGRAM),
            ])
            .env("FILES", files)
            .current_dir(self.0.folder())
            .stdin(std::process::Stdio::null());
        shell.output().expect("a shell")
    }

    /// What a command gives, as a transcript has it.
    fn run(&self, command: &str) -> Vec<String> {
        let ran = self.shell(&command.replace("[PROGRAM]", PROGRAM));
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
        let lines = |bytes: &[u8], mark: &str| -> Vec<String> {
            let text = self.plain(&text(bytes));
            let lines = text.lines().map(|line| format!("{mark}{line}"));
            lines.map(|line| line.trim_end().to_owned()).collect()
        };
        let mut given = lines(&ran.stdout, "  ");
        for line in &mut given {
            if line.is_empty() {
                line.push_str("  ");
            }
        }
        given.extend(lines(&ran.stderr, "! "));
        match ran.status.code().expect("an exit code") {
            0 => (),
            code => given.push(format!("? {code}")),
        }
        let requests = self.1.iter().flat_map(Playback::requests);
        given.extend(requests.map(|request| self.plain(&format!("> {}", request.trim_end()))));
        given
    }

    /// What REST answers.
    async fn rest(&self, request: &str) -> Vec<String> {
        let (request, members) = with_members(request);
        let mut words = request.splitn(3, ' ').chain(std::iter::repeat(""));
        let mut next = || words.next().expect("there is always one");
        let (method, path, body) = (next(), next(), next());
        let answer = self.0.rest(method, path, body).await.expect("a daemon");
        let text = picked(answer.text(), members);
        vec![format!("  {} {}", answer.status, self.plain(&text))]
    }

    /// What an agent is told.
    async fn agent(&self, call: &str) -> Vec<String> {
        let (call, members) = with_members(call);
        let status = self.0.rest("GET", "/api/v1/status", "").await;
        let status = status.expect("a daemon").json();
        let address: SocketAddr = status["listen"][0]
            .as_str()
            .expect("it listens")
            .parse()
            .expect("an address");
        let (who, call) = match call.split_once(' ') {
            Some((who, call)) if who.contains('/') && !call.starts_with('{') => (who, call),
            _ => ("/mcp", call),
        };
        let (token, path) = who.split_once('@').unwrap_or(("", who));
        let (tool, arguments) = call.split_once(' ').expect("a tool and its arguments");
        let mut client = TestClient::stateless(&address, path);
        if !token.is_empty() {
            client = client.showing("authorization", &format!("Bearer {token}"));
        }
        let (method, params) = match self.full(arguments) {
            params if tool.contains('/') || tool == "initialize" => (tool, params),
            arguments => ("tools/call", call_params(tool, arguments)),
        };
        // They change the file a few times a second.
        let reply = until_async("room for a change", async || {
            let reply = client.request(method, &params).await;
            (!reply.frame.contains("too many changes by agents")).then_some(reply)
        })
        .await;
        let frame: Value = serde_json::from_str(&reply.frame).expect("JSON");
        let text = frame["result"]["content"][0]["text"].as_str();
        let is_object = text.is_some_and(|text| text.starts_with('{'));
        let told = match (&frame["error"], text) {
            (Value::Null, Some(text)) if is_object || members.is_empty() => text.to_owned(),
            (Value::Null, _) => reply.result().to_owned(),
            _ => reply.error().to_owned(),
        };
        let told = self.plain(&picked(&told, members));
        told.lines().map(|line| format!("  {line}")).collect()
    }

    /// A text with what differs from run to run.
    fn full(&self, text: &str) -> String {
        let text = text.replace("[PROGRAM]", PROGRAM);
        text.replace("[SERVER]", SERVER)
            .replace("[HOME]", self.home())
    }

    /// A text without what differs from run to run.
    fn plain(&self, text: &str) -> String {
        let text = text
            .replace(self.home(), "[HOME]")
            .replace(PROGRAM, "[PROGRAM]")
            .replace(SERVER, "[SERVER]");
        // Each command that is named gets the options of the one that ran.
        let places = "mcpproxy --config [HOME]/mcp_config.json --data-dir [HOME]/data ";
        let text = text.replace(places, "mcpproxy ");
        let text = text.replace(&places.replace("[HOME]", "~"), "mcpproxy ");
        let mut text = text.replace(env!("CARGO_PKG_VERSION"), "[VERSION]");
        for host in ["127.0.0.1:", "[::1]:"] {
            let mut parts = text.split(host);
            let mut plain = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                let rest = part.trim_start_matches(|digit: char| digit.is_ascii_digit());
                let is_drawn = part.len() - rest.len() == 5;
                plain.push_str(host);
                plain.push_str(if is_drawn { "[PORT]" } else { "" });
                plain.push_str(if is_drawn { rest } else { part });
            }
            text = plain;
        }
        text
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        if self.1.is_some() {
            return;
        }
        let _ = self
            .shell(r#"mcpproxy stop; "$PROGRAM" stop; "$PROGRAM" --config mcp_config.json stop"#);
    }
}

/// A request, and the members behind a bar that are shown of its answer.
fn with_members(asked: &str) -> (&str, &str) {
    let is_members = |text: &str| {
        text.chars()
            .all(|c| c.is_alphanumeric() || "_ ".contains(c))
    };
    let split = asked.rsplit_once(" | ");
    split
        .filter(|(_, members)| is_members(members))
        .unwrap_or((asked, ""))
}

/// Of a text that is JSON the members of these names, wherever they stand; without names all of it.
fn picked(text: &str, names: &str) -> String {
    fn pick(value: &Value, names: &[&str], found: &mut Vec<String>) {
        for (name, value) in value.as_object().into_iter().flatten() {
            if names.contains(&&**name) {
                found.push(format!("{name}={value}"));
            } else {
                pick(value, names, found);
            }
        }
        for value in value.as_array().into_iter().flatten() {
            pick(value, names, found);
        }
    }
    let names: Vec<&str> = names.split_whitespace().collect();
    if names.is_empty() {
        return text.to_owned();
    }
    let Ok(read) = serde_json::from_str(text) else {
        return text.to_owned();
    };
    let mut found = Vec::new();
    pick(&read, &names, &mut found);
    found.join(" ")
}

/// Runs of blanks behind the first two signs, which have no more to tell than that a column ends.
fn narrowed(line: &str) -> String {
    let (mark, mut rest) = line
        .split_at_checked(2)
        .map_or((line, String::new()), |(mark, rest)| {
            (mark, rest.to_owned())
        });
    while rest.contains("   ") {
        rest = rest.replace("   ", "  ");
    }
    format!("{mark}{rest}")
}

fn matches(expected: &str, given: &str) -> bool {
    let (expected, given) = (narrowed(expected), narrowed(given));
    let mut pieces = expected.split("[..]");
    let Some(mut rest) = given.strip_prefix(pieces.next().unwrap_or_default()) else {
        return false;
    };
    let pieces: Vec<&str> = pieces.collect();
    let Some((last, between)) = pieces.split_last() else {
        return rest.is_empty();
    };
    for piece in between {
        let Some((_, after)) = rest.split_once(piece) else {
            return false;
        };
        rest = after;
    }
    rest.ends_with(last)
}

fn play(name: &str) {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/cli/transcripts/{name}.txt"));
    let text = fs::read_to_string(&file).expect("a transcript");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut lines = text.lines().peekable();
    let (mut case, mut title, mut written, mut wrong) = (None, "", String::new(), Vec::new());
    while let Some(line) = lines.next() {
        written.push_str(line);
        written.push('\n');
        let mut below = |marks: &[&str]| {
            let mut below = Vec::new();
            while let Some(line) =
                lines.next_if(|line| marks.iter().any(|mark| line.starts_with(mark)))
            {
                below.push(line);
            }
            below
        };
        let home = || case.as_ref().expect("a case has begun");
        if let Some(begun) = line.strip_prefix("# ") {
            title = begun;
            drop(case.replace(Case(Home::new(), None)));
        } else if let Some(file) = line.strip_prefix("@ ") {
            let content = below(&["  "]);
            written.extend(content.iter().flat_map(|line| [line, "\n"]));
            let content = content
                .iter()
                .flat_map(|line| [line.strip_prefix("  ").unwrap_or_default(), "\n"]);
            Case::write(home(), file, &content.collect::<String>());
        } else if let Some(answer) = line.strip_prefix("= ") {
            let case: &mut Case = case.as_mut().expect("a case has begun");
            case.play_daemon(answer);
        } else if let Some((mark @ ("$" | "%" | "&"), asked)) = line.split_once(' ') {
            let expected = below(&["  ", "!", "? ", "> "]);
            let given = match mark {
                "$" => home().run(asked),
                "%" => runtime.block_on(home().rest(asked)),
                _ => runtime.block_on(home().agent(asked)),
            };
            let pairs = expected.iter().zip(&given);
            let good = expected.len() == given.len()
                && pairs.into_iter().all(|(one, other)| matches(one, other));
            let kept = if good {
                expected.join("\n")
            } else {
                given.join("\n")
            };
            written.push_str(&kept);
            written.push_str(if kept.is_empty() { "" } else { "\n" });
            if !good {
                let expected = expected.join("\n");
                let given = given.join("\n");
                wrong.push(format!(
                    "{title}\n{line}\n{given}\ninstead of\n{expected}\n"
                ));
            }
        }
    }
    drop(case);
    if std::env::var_os("UPDATE_TRANSCRIPTS").is_some() {
        fs::write(&file, written).expect("it is ours");
    } else {
        assert!(wrong.is_empty(), "{name}.txt:\n{}", wrong.join("\n"));
    }
}

macro_rules! transcripts {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            play(stringify!($name));
        })*
    };
}

transcripts! { access agents changes checks code connect demo doctor files history import lock logs managing moving outcomes pasted played proxy records rest review running search secrets service setup starting trust uninstall usage }
