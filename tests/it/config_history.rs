//! Values of the configuration changed by REST, the terminal, agents and an editor: checked, in the history, and undone.

use std::{
    cell::{Cell, RefCell},
    collections::HashSet,
};

use futures_util::future::join_all;

use crate::support::prelude::*;

/// How many changes the storm below has: `MCPPROXY_CHANGES=1000` makes it long.
fn changes() -> usize {
    let given = std::env::var("MCPPROXY_CHANGES").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(60)
}

/// How many of them are made at once.
const AT_ONCE: usize = 4;

/// Servers that agents add: no more may wait for approval.
const WAITING: usize = 50;

/// The paths that a change is about, as far as it keeps them.
fn paths(entry: &Value) -> Vec<String> {
    let changes = entry["changes"].as_array().expect("changes").iter();
    let path = |one: &Value| {
        let keys = one["path"].as_array().expect("keys").iter();
        let keys: Vec<&str> = keys.filter_map(Value::as_str).collect();
        keys.join(".")
    };
    changes.map(path).collect()
}

/// A change of the storm: the way it came, and the value that it is about.
type Made = (&'static str, String);

/// Everybody who changes the configuration of a daemon.
struct Everybody {
    daemon: DaemonProcess,
    /// What lets the page in.
    cookie: String,
    agent: TestClient,
}

impl Everybody {
    async fn of(daemon: DaemonProcess) -> Self {
        let link = daemon.home().rest("POST", "/api/v1/ui/links", "").await;
        let link = link.expect("it serves").json();
        let base = format!("http://{}", daemon.address());
        let path = link["url"].as_str().and_then(|url| url.strip_prefix(&base));
        let path = path.expect("a link to it");
        let login = http::send(daemon.address(), "GET", path, &[], "").await;
        let cookie = login.header("set-cookie").split(';').next();
        Self {
            cookie: cookie.expect("a pair").to_owned(),
            agent: daemon.client("/mcp").await,
            daemon,
        }
    }

    async fn rest(&self, method: &str, path: &str, body: &str) -> Value {
        let answer = self.daemon.home().rest(method, path, body).await;
        let answer = answer.expect("it serves").json();
        // A save by hand may have taken away again what was added.
        let is_done = answer["error"].is_null() || answer["code"] == "unknown_server";
        assert!(is_done, "{answer}");
        answer
    }

    /// Makes a change. Ways are mixed evenly, so that nobody saves by hand faster than people can. Nothing where it was refused, as it
    /// may be.
    async fn change(&self, n: usize) -> Option<Made> {
        let (n, way) = (n / 10, n % 10);
        match way {
            0..4 => Some(self.of_page(4 * n + way).await),
            4..7 => Some(self.of_rest(3 * n + way).await),
            7 => Some(self.of_terminal(n).await),
            8 => self.of_agent(n).await,
            _ => Some(self.of_editor(n).await),
        }
    }

    async fn of_page(&self, n: usize) -> Made {
        let path = ["profiles".to_owned(), format!("page{n}")];
        let body = json!({ "changes": [{ "path": path, "value": { "servers": ["a"] } }] });
        let origin = format!("http://{}", self.daemon.address());
        let headers = [JSON, ("cookie", &*self.cookie), ("origin", &*origin)];
        let (to, at) = (self.daemon.address(), "/api/v1/config");
        let answer = http::send(to, "PATCH", at, &headers, body.to_string()).await;
        assert!(answer.json()["id"].is_u64(), "{}", answer.text());
        ("page", path.join("."))
    }

    async fn of_rest(&self, n: usize) -> Made {
        let name = format!("rest{n}");
        let entry = json!({ "name": name, "command": "x", "enabled": false });
        self.rest("POST", "/api/v1/servers", &entry.to_string())
            .await;
        ("terminal", format!("mcpServers.{name}"))
    }

    async fn of_terminal(&self, n: usize) -> Made {
        let (path, value) = (format!("profiles.terminal{n}"), r#"{"servers": ["a"]}"#);
        let set = ["config", "set", &path, value];
        let (code, _, told) = self.daemon.home().cli(&set).await;
        assert_eq!(code, 0, "{told}");
        ("terminal", path)
    }

    /// Waits for a turn, for there are few in a second.
    async fn of_agent(&self, n: usize) -> Option<Made> {
        let path = format!("mcpServers.agent{}", n % WAITING);
        let (_, name) = path.split_once('.').expect("ours");
        let (change, about) = if n < WAITING {
            let add = json!({ "operation": "add", "name": name, "command": "x" });
            (add, path.clone())
        } else {
            let timeout = format!("{n}s");
            let other = json!({ "operation": "patch", "name": name, "call_tool_timeout": timeout });
            (other, format!("{path}.call_tool_timeout"))
        };
        let change = change.to_string();
        let told = until_async("an agent’s turn", async || {
            let told = self.agent.call("upstream_servers", &change).await.text();
            (!told.contains("too many changes by agents")).then_some(told)
        })
        .await;
        // A save by hand may have taken it away: before the patch, or between the addition and its answer.
        let is_gone = told.contains("unknown_server");
        assert!(is_gone || told.contains("changed"), "{told}");
        (n < WAITING || !is_gone).then_some(("agent", about))
    }

    /// Saves as an editor does, which takes no lock: another save may have come between reading and writing.
    async fn of_editor(&self, n: usize) -> Made {
        let file = self.daemon.home().config_file();
        let key = format!("x_editor{n}");
        let found = std::fs::read_to_string(&file).expect("a file");
        let saved = found.replacen('{', &format!("{{\n  \"{key}\": 1,"), 1);
        let new = file.with_extension("edited");
        std::fs::write(&new, &saved).expect("ours");
        std::fs::rename(&new, file).expect("ours");
        // Whoever edits by hand looks at the page in between.
        self.rest("GET", "/api/v1/status", "").await;
        ("file", key)
    }
}

#[tokio::test]
async fn a_storm_of_changes_by_everybody_is_in_the_history_and_undone_to_the_first_byte() {
    let home = Home::new();
    let first = "{\n  // mine\n  \"mcpServers\": {}, // theirs\n  \"profiles\": {},\n}\n";
    home.write_config(first);
    let everybody = Everybody::of(DaemonProcess::spawn_in(home).await).await;
    let (next, made) = (Cell::new(0), RefCell::new(Vec::new()));
    let worker = async |_| {
        while next.get() < changes() {
            let change = everybody.change(next.replace(next.get() + 1)).await;
            made.borrow_mut().extend(change);
        }
    };
    join_all((0..AT_ONCE).map(worker)).await;
    let file = everybody.daemon.home().config_file();
    let read = || std::fs::read_to_string(&file).expect("a file");
    everybody.rest("POST", "/api/v1/config/reload", "").await;
    let written = read();
    let history = everybody.rest("GET", "/api/v1/config/history", "");
    let history = history.await["entries"].take();
    let entries = history.as_array().expect("entries");
    let ways = entries
        .iter()
        .map(|entry| entry["way"].as_str().unwrap_or_default());
    let noted: HashSet<(&str, String)> = entries
        .iter()
        .zip(ways.clone())
        .flat_map(|(entry, way)| paths(entry).into_iter().map(move |path| (way, path)))
        .collect();
    for (way, path) in made.borrow().iter() {
        assert!(
            noted.contains(&(*way, path.clone())),
            "{path} is not in the history"
        );
        // A save by hand may have taken it away again, and then that is known.
        let (_, key) = path.rsplit_once('.').unwrap_or(("", path));
        let is_taken = noted
            .iter()
            .any(|(way, one)| *way == "file" && path.starts_with(one));
        assert!(
            written.contains(&format!("\"{key}\"")) || is_taken,
            "{path} is lost"
        );
    }
    for way in ["page", "terminal", "agent"] {
        let was_made = made.borrow().iter().filter(|made| made.0 == way).count();
        assert_eq!(
            ways.clone().filter(|one| *one == way).count(),
            was_made,
            "{way}"
        );
    }
    // One after the other, the latest first, and nothing else: then every one was noted as it was.
    for _ in entries {
        everybody.rest("POST", "/api/v1/config/undo", "{}").await;
    }
    assert_eq!(read(), first);
}
