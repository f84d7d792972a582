//! The bundled demo server, run as `mcpproxy demo-server`: a small MCP server on stdin and stdout to try things with.
//!
//! It speaks revisions that open with `initialize` and have no batches, and keeps everything in memory. It shares no protocol code with the
//! proxy, so that the two cannot agree on the same mistake.

mod content;
mod tools;

use std::{
    collections::{BTreeMap, HashSet},
    io::{self, BufRead, Write},
    sync::Arc,
    thread,
};

use serde_json::{Value, json};

use crate::{runtime::sync::Guarded, wire::json_fault};

/// Every revision spoken here, oldest first.
const REVISIONS: [&str; 3] = ["2024-11-05", "2025-06-18", "2025-11-25"];

/// How many long calls run at once; each has a thread.
const AT_ONCE: usize = 64;

/// Serves until stdin ends. An error means that stdin or stdout failed otherwise than by the client leaving.
pub fn run() -> io::Result<()> {
    let server = Arc::new(Server::default());
    for line in io::stdin().lock().split(b'\n') {
        match server.serve_line(&line?) {
            Err(gone) if gone.kind() == io::ErrorKind::BrokenPipe => break,
            done => done?,
        }
    }
    Ok(())
}

/// What all threads of the demo server share.
#[derive(Default)]
struct Server {
    /// The notes that tools write, by title.
    notes: Guarded<BTreeMap<String, String>>,
    /// The ids of the long calls that run, as JSON text: `1` and `"1"` are two ids.
    running: Guarded<HashSet<String>>,
}

impl Server {
    fn serve_line(self: &Arc<Self>, line: &[u8]) -> io::Result<()> {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let message: Value = match serde_json::from_slice(line) {
            Ok(message) => message,
            Err(error) => {
                let error = DemoError::new(-32700, format!("the line is {}", json_fault(&error)));
                return send(&error.reply(&Value::Null));
            }
        };
        let id = id_of(&message);
        match message["method"].as_str() {
            _ if !is_message(&message) => {
                let error = DemoError::new(-32600, "this is not a JSON-RPC 2.0 message");
                send(&error.reply(id))
            }
            Some("notifications/cancelled") if id.is_null() => {
                let of = message["params"]["requestId"].to_string();
                self.running.lock().remove(&of);
                Ok(())
            }
            Some(_) if !id.is_null() => self.serve_request(message),
            // Other notifications, and responses, which a server without requests ignores.
            _ => Ok(()),
        }
    }

    /// Serves a request. A long call gets a thread, so that the next line is read meanwhile.
    fn serve_request(self: &Arc<Self>, request: Value) -> io::Result<()> {
        if !tools::takes_long(&request) {
            return self.answer(&request);
        }
        let is_begun = {
            let mut running = self.running.lock();
            running.len() < AT_ONCE && running.insert(request["id"].to_string())
        };
        if !is_begun {
            let error = "too many calls are running, or one already has this id";
            return send(&DemoError::new(-32600, error).reply(&request["id"]));
        }
        let server = Arc::clone(self);
        thread::spawn(move || {
            // If the client is gone, the reader of stdin notices it.
            let _ = server.answer(&request);
        });
        Ok(())
    }

    /// Answers a request, unless it was cancelled.
    fn answer(&self, request: &Value) -> io::Result<()> {
        let (id, params) = (&request["id"], &request["params"]);
        let result = match request["method"].as_str().unwrap_or_default() {
            "initialize" => initialize(params),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(content::offered("tools")),
            "tools/call" => match tools::call(self, request).transpose() {
                Some(result) => result,
                None => return Ok(()),
            },
            "resources/list" => Ok(content::offered("resources")),
            "resources/templates/list" => Ok(json!({ "resourceTemplates": [] })),
            "resources/read" => content::read_resource(params),
            "prompts/list" => Ok(content::offered("prompts")),
            "prompts/get" => content::prompt(params),
            unknown => Err(DemoError::new(
                -32601,
                format!("unknown method {unknown:?}"),
            )),
        };
        send(&match result {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(error) => error.reply(id),
        })
    }
}

/// The id of a message, if it is one that an answer can have.
fn id_of(message: &Value) -> &Value {
    match &message["id"] {
        id @ (Value::String(_) | Value::Number(_)) => id,
        _ => &Value::Null,
    }
}

fn is_message(message: &Value) -> bool {
    let (method, params) = (&message["method"], &message["params"]);
    let is_answer = message.get("result").is_some() || message.get("error").is_some();
    message["jsonrpc"] == "2.0"
        && (method.is_string() || method.is_null() && is_answer)
        && (params.is_null() || params.is_object())
        && message["id"] == *id_of(message)
}

fn initialize(params: &Value) -> Result<Value, DemoError> {
    let Some(wanted) = params["protocolVersion"].as_str() else {
        return Err(DemoError::params(
            "initialize needs protocolVersion, a string",
        ));
    };
    let newest = REVISIONS[REVISIONS.len() - 1];
    let known = REVISIONS.into_iter().find(|known| *known == wanted);
    Ok(json!({
        "protocolVersion": known.unwrap_or(newest),
        "capabilities": { "tools": {}, "resources": {}, "prompts": {} },
        "serverInfo": {
            "name": "mcpproxy-demo",
            "title": "mcpproxy demo server",
            "version": env!("CARGO_PKG_VERSION"),
        },
        "instructions": content::offered("instructions")["instructions"],
    }))
}

/// A JSON-RPC error.
#[derive(Debug)]
struct DemoError {
    code: i32,
    message: String,
    data: Option<Value>,
}

impl DemoError {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    fn lacks(method: &str, key: &str) -> Self {
        Self::params(format!("{method}: {key:?} is missing or not a string"))
    }

    fn params(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    /// The whole message that answers the request `id` with this error.
    fn reply(&self, id: &Value) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        json!({ "jsonrpc": "2.0", "id": id, "error": error })
    }
}

/// Writes one message as one line; lines of several threads do not mix.
fn send(message: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{message}")?;
    out.flush()
}
