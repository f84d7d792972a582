//! An entry of a client as an entry of ours: the same program or address, with references of ours, and what could not be carried. Pure.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{
    Client, ClientServer, NeededValue,
    containers::{lacking, set_apart},
    conversion::{Conversion, as_text},
    from_others::may_come,
    line_words::is_among,
    literal_secrets::{LiteralSecret, literals},
    our_text::OurText,
    references::{Meanings, Spelling},
    servers::{URLS, is_address, program},
    table::{EntryTransport, Unit},
};
use crate::config;

/// An entry of ours that was made from one of a client. It may hold secrets.
#[derive(Clone, PartialEq)]
pub(super) struct Carried {
    /// The entry.
    pub entry: Map<String, Value>,
    /// What it refers to.
    pub needs: Vec<NeededValue>,
    /// Secrets that stand in it as they are.
    pub literals: Vec<LiteralSecret>,
    /// Keys of the client's entry that say nothing here.
    pub left_behind: Vec<String>,
}

/// Those of the keys left behind that give a server values, which it lacks here.
pub(super) fn lost_values(left_behind: &[String]) -> impl Iterator<Item = &str> {
    let keys = left_behind.iter().map(String::as_str);
    keys.filter(|key| *key == "envFile")
}

/// Keys that describe a server to people, or that a client keeps for itself.
const SILENT: &str = "\
    name display_name description title icon $schema gallery version source notes prefix kits bundled created \
    updated changed_by alwaysLoad env_keys transport";

/// Keys of which `carried` takes what an entry of this client means.
const CONVERTED: &str =
    "command args env cwd working_dir url headers type protocol transport oauth";

/// Keys for the folder in which a program starts.
pub(super) const FOLDERS: [&str; 4] = [
    "cwd",
    "working_dir",
    "working_directory",
    "workingDirectory",
];

/// Makes an entry of ours; or says why there can be none.
pub(super) fn carried(client: Client, server: &ClientServer) -> Result<Carried, String> {
    let Value::Object(rest) = server.entry.clone() else {
        return Err("its entry is not a map of keys".to_owned());
    };
    let mut work = Conversion {
        client,
        meanings: Meanings {
            project: server.project.as_deref(),
            inputs: &server.inputs,
        },
        spelling: client.0.spelling,
        rest,
        entry: Map::new(),
        needs: Vec::new(),
    };
    if work.spelling != Spelling::Ours {
        work.kind()?;
        match work.program()? {
            Some((command, args)) => work.start(&command, &args)?,
            None => work.reach()?,
        }
        work.timeouts();
        work.tools();
    }
    // What is named as here means the same in every file.
    work.as_it_is()?;
    work.switches()?;
    set_apart(&mut work.entry);
    work.passed_by_name()?;
    let silent = |key: &&String| !is_among(key, SILENT);
    let left_behind = work.rest.keys().filter(silent).cloned().collect();
    Ok(Carried {
        literals: literals(&work.entry),
        entry: work.entry,
        needs: work.needs,
        left_behind,
    })
}

/// Our keys for the tools that may be used and those that may not, with the keys of clients, and whether an empty list counts.
const TOOLS: [(&str, &[&str], bool); 3] = [
    ("enabled_tools", &["available_tools"], false),
    ("enabled_tools", &["enabled_tools", "includeTools"], true),
    (
        "disabled_tools",
        &["disabled_tools", "excludeTools", "disabledTools"],
        false,
    ),
];

impl Conversion<'_> {
    /// What is written as in our entries, but for the switches.
    fn as_it_is(&mut self) -> Result<(), String> {
        let is_ours = self.client.0.spelling == Spelling::Ours;
        for (key, value) in std::mem::take(&mut self.rest) {
            if value.is_null() || is_among(&key, SILENT) && key != "transport" {
                continue;
            }
            // As Copilot CLI and OpenCode write what the other keys say, too.
            let is_kind = key == "type" && (value == "local" || value == "remote");
            if is_kind || key == "tools" && value == json!(["*"]) {
                continue;
            }
            let is_read_elsewhere = is_among(&key, "enabled disabled")
                || !is_ours && is_among(&key, CONVERTED)
                || !config::is_entry_key(&key);
            if is_read_elsewhere {
                self.rest.insert(key, value);
                continue;
            }
            // As most clients write it, and as add commands have it in JSON.
            if key == "oauth" && value.get("clientId").is_some() {
                self.rest.insert(key, value);
                self.login()?;
                continue;
            }
            // Of these only members may come.
            if matches!(&*key, "isolation" | "tool_acl") && !value.is_object() {
                return Err(format!("its `{key}` is not a map"));
            }
            if let Some(mut value) = self.admitted(&key, value) {
                self.refer(&mut value)?;
                self.entry.insert(key, value);
            }
        }
        Ok(())
    }

    /// What may come of a value; the rest is left out, and a container stays on or off.
    fn admitted(&mut self, key: &str, value: Value) -> Option<Value> {
        let mut taken = Map::new();
        match value {
            value if may_come(key, &value) => return Some(value),
            Value::Object(members) if members.get("enabled") != Some(&Value::Bool(false)) => {
                if key == "isolation" && !members.is_empty() {
                    taken.insert("enabled".to_owned(), Value::Bool(true));
                }
                for (inner, value) in members {
                    let path = format!("{key}.{inner}");
                    if may_come(&path, &value) {
                        taken.insert(inner, value);
                    } else {
                        self.rest.insert(path, value);
                    }
                }
            }
            value => {
                self.rest.insert(key.to_owned(), value);
            }
        }
        (!taken.is_empty()).then(|| taken.into())
    }

    /// What kind of server it is; some only their client can start.
    fn kind(&mut self) -> Result<(), String> {
        let own = self.client.name();
        let kind = self.take_text(&["type"]);
        let is_extension = self.rest.get("source").and_then(Value::as_str) == Some("extension");
        let has_program = ["command", "cmd", "url"]
            .iter()
            .any(|key| self.rest.contains_key(*key));
        if self.client.0.has_extensions && (is_extension || !has_program) {
            return Err(format!("an extension of {own}, which only {own} can start"));
        }
        match kind.as_deref() {
            Some("builtin" | "platform" | "frontend" | "inline_python") => {
                return Err(format!("built into {own}"));
            }
            Some("ws" | "websocket") => {
                return Err("it uses WebSocket, which mcpproxy does not speak".to_owned());
            }
            Some("sse") => self.put("type", "sse"),
            Some("http" | "streamable-http" | "streamableHttp" | "streamable_http")
                if self.client.0.transport != EntryTransport::Either =>
            {
                self.put("type", "http");
            }
            _ => (),
        }
        Ok(())
    }

    /// A program and its arguments, as they are written; nothing where it has no program.
    fn program(&mut self) -> Result<Option<(String, Vec<Value>)>, String> {
        let is_wrong = |args: &Value| !args.is_array() && !args.is_null();
        if self.rest.get("args").is_some_and(is_wrong) {
            return Err("its `args` is not a list".to_owned());
        }
        let program = program(&self.rest).map(|(command, args)| {
            let args: Vec<Value> = args.into_iter().cloned().collect();
            (as_text(command), args)
        });
        self.take(&["args"]);
        let Some(written) = self.take(&["command", "cmd"]) else {
            return Ok(None);
        };
        if let Some(env) = written.get("env") {
            self.rest.insert("env".to_owned(), env.clone());
        }
        let (command, mut args) = program.unwrap_or_default();
        let mut command = command.unwrap_or_default();
        if self.client.0.splits_command && args.is_empty() {
            let mut words = command.split_whitespace().map(str::to_owned);
            let first = words.next().unwrap_or_default();
            args = words.map(Value::from).collect();
            command = first;
        }
        if command.trim().is_empty() {
            return Err("its `command` is empty".to_owned());
        }
        Ok(Some((command, args)))
    }

    fn start(&mut self, command: &str, args: &[Value]) -> Result<(), String> {
        self.entry.shift_remove("type");
        let project = self.meanings.project;
        let mut written = Vec::new();
        let mut names_file = false;
        for arg in args {
            let arg = as_text(arg).ok_or("its `args` contain something other than strings")?;
            let arg = self.parts(&arg)?;
            names_file |= project
                .zip(arg.plain())
                .is_some_and(|(project, arg)| is_file_of(project, arg));
            written.push(arg.written()?);
        }
        let cwd = self.take_text(&FOLDERS);
        let cwd = cwd.map(|cwd| self.parts(&cwd)).transpose()?;
        let cwd = match (cwd, project) {
            (Some(cwd), Some(project)) => Some(inside(project, &cwd).unwrap_or(cwd)),
            (None, Some(project)) if names_file => {
                Some(OurText::literal(&project.display().to_string()))
            }
            (cwd, _) => cwd,
        };
        let command = self.parts(command)?;
        let is_inside = command.plain().is_some_and(is_path_inside);
        let whole = project.filter(|_| is_inside);
        let whole = whole.and_then(|project| inside(project, &command));
        self.put("command", whole.unwrap_or(command).written()?);
        self.put("args", written);
        let mut env = self.take_texts(&["env", "envs", "environment"])?;
        self.passed_on(&mut env)?;
        self.put("env", env);
        if let Some(cwd) = cwd {
            self.put("cwd", cwd.written()?);
        }
        Ok(())
    }

    /// Variables that a client passes on from its own environment, or from where it keeps secrets.
    fn passed_on(&mut self, env: &mut Map<String, Value>) -> Result<(), String> {
        const VARIABLES: &str = "env_vars";
        const SECRETS: &str = "env_keys";
        let names = |value: Option<Value>| {
            let listed = value.and_then(|value| value.as_array().cloned());
            let listed = listed.into_iter().flatten();
            let name = |value: Value| {
                let named = value.get("name").and_then(Value::as_str);
                named.or(value.as_str()).map(str::to_owned)
            };
            listed.filter_map(name).collect::<Vec<String>>()
        };
        for name in names(self.take(&[VARIABLES])) {
            let value = self.variable("", &name, VARIABLES)?;
            env.entry(name).or_insert(value);
        }
        for name in names(self.take(&[SECRETS])) {
            if env.contains_key(&name) {
                continue;
            }
            let about = format!("{} has it in its own keyring", self.client.name());
            let value = self.secret(&name, about, SECRETS)?;
            env.insert(name, value);
        }
        Ok(())
    }

    /// Secrets that a container gets by their names alone, as `docker run -e TOKEN` passes them on: here only `env` can have them.
    fn passed_by_name(&mut self) -> Result<(), String> {
        for name in lacking(&self.entry) {
            let secret = self.secret(&name, "passed on by `-e`".to_owned(), "args")?;
            let env = self.entry.entry("env").or_insert_with(|| json!({}));
            if let Some(env) = env.as_object_mut() {
                env.insert(name, secret);
            }
        }
        Ok(())
    }

    fn switches(&mut self) -> Result<(), String> {
        for (key, off) in [("enabled", false), ("disabled", true)] {
            match self.take(&[key]) {
                Some(Value::Bool(is)) if is == off => self.put("enabled", false),
                Some(Value::Bool(_)) | None => (),
                Some(_) => return Err(format!("`{key}` must be true or false")),
            }
        }
        Ok(())
    }

    /// How long a start and a call may take. Those of the listing of tools are not meant.
    fn timeouts(&mut self) {
        for (theirs, ours, unit) in self.client.0.timeouts {
            let value = self.take(&[*theirs]).and_then(|value| match unit {
                Unit::Seconds => value.is_number().then_some(value),
                Unit::Milliseconds => Some(json!(format!("{}ms", value.as_u64()?))),
            });
            if let Some(value) = value {
                self.entry.entry(*ours).or_insert(value);
            }
        }
    }

    /// Which of its tools are wanted, under our keys.
    fn tools(&mut self) {
        for (ours, theirs, may_be_empty) in TOOLS {
            let names = self.take(theirs);
            if let Some(names) = names.filter(|names| may_be_empty || *names != json!([])) {
                self.rest.insert(ours.to_owned(), names);
            }
        }
    }

    /// The address of a remote server, the headers and the login.
    fn reach(&mut self) -> Result<(), String> {
        self.spelling = self.client.0.address_spelling.unwrap_or(self.spelling);
        let is_streamable = self.rest.contains_key("httpUrl");
        let url = match self.take(&URLS) {
            Some(Value::String(url)) => self.text(url.trim())?,
            Some(_) => return Err("`url` must be a string".to_owned()),
            None => {
                return Err("`command` and `url` are missing or empty; one is needed".to_owned());
            }
        };
        if !is_address(&url) && !url.starts_with("${") {
            return Err("`url` must begin with http:// or https://".to_owned());
        }
        self.put("url", url);
        let is_either = self.client.0.transport != EntryTransport::Said;
        let kind = if is_streamable {
            Some("http")
        } else {
            is_either.then_some("auto")
        };
        if let Some(kind) = kind {
            self.entry.entry("type").or_insert(kind.into());
        }
        let mut headers = self.take_texts(&["headers", "http_headers"])?;
        self.tokens(&mut headers)?;
        self.put("headers", headers);
        self.login()
    }

    /// Tokens and headers that Codex takes from its environment, and a token that stands in its file.
    fn tokens(&mut self, headers: &mut Map<String, Value>) -> Result<(), String> {
        const TOKEN: &str = "bearer_token_env_var";
        const HEADERS: &str = "env_http_headers";
        if let Some(variable) = self.take_text(&[TOKEN]) {
            let value = self.variable("Bearer ", &variable, TOKEN)?;
            headers.entry("Authorization").or_insert(value);
        }
        if let Some(token) = self.take_text(&["bearer_token"]) {
            let value = OurText::literal(&format!("Bearer {token}")).written()?;
            headers.entry("Authorization").or_insert(json!(value));
        }
        if let Some(Value::Object(named)) = self.take(&[HEADERS]) {
            for (header, variable) in named {
                if let Some(variable) = variable.as_str() {
                    let value = self.variable("", variable, HEADERS)?;
                    headers.insert(header, value);
                }
            }
        }
        Ok(())
    }

    /// A login that is set up by hand. Without an id there is nothing to carry: we register ourselves.
    fn login(&mut self) -> Result<(), String> {
        let Some(Value::Object(written)) = self.take(&["oauth", "auth"]) else {
            return Ok(());
        };
        let text = |keys: &[&str]| {
            let found = keys.iter().find_map(|key| written.get(*key)?.as_str());
            found.filter(|text| !text.is_empty()).map(Value::from)
        };
        let Some(id) = text(&["clientId", "client_id", "CLIENT_ID"]) else {
            return Ok(());
        };
        let port = written.get("callbackPort").and_then(Value::as_u64);
        let at_port = || port.map(|port| format!("http://localhost:{port}/callback").into());
        let scopes = ["scopes", "scope"].iter().find_map(|key| written.get(*key));
        let scopes = scopes.and_then(|scopes| match scopes {
            Value::Array(_) => Some(scopes.clone()),
            Value::String(scopes) => Some(scopes.split_whitespace().collect()),
            _ => None,
        });
        let members = [
            ("client_id", Some(id)),
            (
                "client_secret",
                text(&["clientSecret", "client_secret", "CLIENT_SECRET"]),
            ),
            (
                "redirect_uri",
                text(&["redirectUri", "redirect_uri"]).or_else(at_port),
            ),
            ("scopes", scopes),
        ];
        let mut oauth = Map::new();
        for (key, value) in members {
            if let Some(mut value) = value {
                self.refer(&mut value)?;
                oauth.insert(key.to_owned(), value);
            }
        }
        self.put("oauth", oauth);
        Ok(())
    }
}

/// Whether a command is a path that means nothing outside of its folder.
fn is_path_inside(command: &str) -> bool {
    command.contains('/') && !command.starts_with(['/', '~'])
}

/// A path that refers to nothing, in its project.
fn inside(project: &Path, path: &OurText) -> Option<OurText> {
    let path: PathBuf = project.join(path.plain()?).components().collect();
    Some(OurText::literal(&path.display().to_string()))
}

pub(super) fn is_file_of(project: &Path, arg: &str) -> bool {
    let path = Path::new(arg);
    !arg.is_empty() && !arg.starts_with('-') && path.is_relative() && project.join(path).is_file()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Client, ClientServer, Value, carried};
    use crate::clients::may_lower_protection;

    #[test]
    fn what_narrows_a_server_comes_from_the_file_of_every_client() {
        for client in Client::all() {
            let made = |key: &str, value: Value| {
                let mut entry = json!({ "command": "x", "max_concurrent_requests": 1, "tool_acl": { "destructive": ["b"] } });
                entry[key] = value;
                let server = ClientServer {
                    entry,
                    ..ClientServer::written("a")
                };
                carried(client, &server).map(|made| made.entry.get(key).cloned())
            };
            for (key, value) in [
                ("quarantined", json!(true)),
                ("enabled", json!(false)),
                ("max_concurrent_requests", json!(1)),
                ("tool_acl", json!({ "destructive": ["b"] })),
                ("isolation", json!({ "enabled": true, "image": "i" })),
                ("enabled_tools", json!([])),
                (
                    "enabled_tools",
                    json!("no list, which the configuration refuses"),
                ),
                ("disabled_tools", json!(["b"])),
            ] {
                assert_eq!(made(key, value.clone()), Ok(Some(value)), "{client:?}");
            }
            let refused = "`disabled` must be true or false".to_owned();
            assert_eq!(made("disabled", json!("true")), Err(refused), "{client:?}");
        }
    }

    #[test]
    fn what_lowers_protection_comes_from_no_other_text() {
        let server = ClientServer {
            entry: json!({
                "command": "x", "idle_timeout": "2m", "disabled_tools": ["a"], "tool_changes": "allow",
                "new_tools": "allow", "changed_by": "person", "session_scope": "shared",
                "tool_acl": { "read": ["*"], "destructive": ["b"] },
                "isolation": { "image": "i", "network_mode": "host", "extra_args": ["-v/:/h"] },
            }),
            ..ClientServer::written("a")
        };
        let made = carried(Client::of_content(&json!({})), &server).expect("an entry");
        let expected = json!({
            "command": "x", "idle_timeout": "2m", "disabled_tools": ["a"],
            "tool_acl": { "destructive": ["b"] }, "isolation": { "enabled": true, "image": "i" },
        });
        assert_eq!(json!(made.entry), expected);
        let left = "tool_changes new_tools session_scope tool_acl.read isolation.network_mode isolation.extra_args";
        assert_eq!(made.left_behind.join(" "), left);
        assert!(made.left_behind.iter().all(|key| may_lower_protection(key)));
        assert!(!may_lower_protection("envFile"));
        let off = json!({ "command": "x", "isolation": { "enabled": false, "image": "i" } });
        let server = ClientServer {
            entry: off,
            ..server
        };
        let made = carried(Client::of_content(&json!({})), &server).expect("an entry");
        assert_eq!(
            (json!(made.entry), made.left_behind.join(" ")),
            (json!({ "command": "x" }), "isolation".to_owned())
        );
        let server = ClientServer {
            entry: json!({ "command": "x", "isolation": [true, "i", "host"] }),
            ..server
        };
        let refused = carried(Client::of_content(&json!({})), &server).err();
        assert_eq!(refused.as_deref(), Some("its `isolation` is not a map"));
    }

    #[test]
    fn a_login_keeps_its_id_and_port_whoever_wrote_it() {
        let login = json!({ "clientId": "i", "callbackPort": 8080 });
        let expected =
            json!({ "client_id": "i", "redirect_uri": "http://localhost:8080/callback" });
        for root in [
            json!({ "mcpServers": {} }),
            json!({ "mcpServers": { "a": { "envFile": "x" } } }),
        ] {
            let server = ClientServer {
                entry: json!({ "url": "https://h/mcp", "oauth": login }),
                ..ClientServer::written("a")
            };
            let made = carried(Client::of_content(&root), &server).expect("an entry");
            assert_eq!(made.entry["oauth"], expected, "{root}");
        }
    }
}
