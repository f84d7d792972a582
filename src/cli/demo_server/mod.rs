//! The bundled demo server, run as `mcpproxy demo-server`: a small MCP server on stdin and stdout to try things with.
//!
//! It speaks the revisions that open with `initialize`, and keeps everything in memory. It shares no protocol code with the proxy, so
//! that the two cannot agree on the same mistake.

mod content;
mod in_flight;
mod message;
mod notes;
mod schema;
mod tools;

use std::{
    io::{self, BufRead, Read, Write},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use serde_json::{Value, json};

use self::{
    in_flight::DemoCalls,
    message::{DemoError, DemoMessage, DemoRequest},
    notes::Notes,
};

/// Every revision spoken here, oldest first.
const REVISIONS: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The only revision in which a line may be an array of messages.
const REVISION_WITH_BATCHES: &str = "2025-03-26";

/// A longer line is no sensible request to a demo server; it is skipped and answered with an error.
const LONGEST_LINE: u64 = 4 * 1024 * 1024;

/// Serves until stdin ends. An error means that stdin or stdout failed otherwise than by the client leaving.
pub fn run() -> io::Result<()> {
    let server = Arc::new(Server::default());
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    loop {
        let outcome = match next_line(&mut input, &mut line)? {
            Line::End => return Ok(()),
            Line::TooLong => send(&DemoError::parse("the line is too long").reply(&Value::Null)),
            Line::Whole => server.serve_line(&line),
        };
        match outcome {
            Err(gone) if gone.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            other => other?,
        }
    }
}

enum Line {
    Whole,
    TooLong,
    End,
}

fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Line> {
    line.clear();
    input.by_ref().take(LONGEST_LINE).read_until(b'\n', line)?;
    if line.is_empty() {
        return Ok(Line::End);
    }
    if line.len() as u64 == LONGEST_LINE && !line.ends_with(b"\n") {
        input.skip_until(b'\n')?;
        return Ok(Line::TooLong);
    }
    Ok(Line::Whole)
}

/// What all threads of the demo server share.
#[derive(Default)]
struct Server {
    /// The negotiated revision, once there is one.
    revision: Mutex<Option<&'static str>>,
    notes: Notes,
    in_flight: DemoCalls,
}

impl Server {
    /// Serves one line. What may take long goes to a thread of its own, so that the next line is read meanwhile.
    fn serve_line(self: &Arc<Self>, line: &[u8]) -> io::Result<()> {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        match serde_json::from_slice(line) {
            Ok(Value::Array(batch)) if batch.is_empty() || !self.has_batches() => {
                let refusal = DemoError::invalid("an array of messages is not accepted here");
                send(&refusal.reply(&Value::Null))
            }
            Ok(Value::Array(batch)) => self.serve(batch, Value::Array),
            Ok(message) => self.serve(vec![message], |mut answers| answers.swap_remove(0)),
            Err(error) => send(&DemoError::parse(&error.to_string()).reply(&Value::Null)),
        }
    }

    fn has_batches(&self) -> bool {
        *self.revision() == Some(REVISION_WITH_BATCHES)
    }

    /// Serves the messages of one line; `together` makes one value of their answers.
    fn serve(
        self: &Arc<Self>,
        line: Vec<Value>,
        together: fn(Vec<Value>) -> Value,
    ) -> io::Result<()> {
        let mut answers = Vec::new();
        let mut messages = Vec::new();
        let mut takes_long = false;
        for message in line.into_iter().map(DemoMessage::read) {
            if let DemoMessage::Request(request) = &message
                && tools::takes_long(request)
            {
                if let Err(refused) = self.in_flight.begin(&request.id) {
                    answers.push(refused.reply(&request.id));
                    continue;
                }
                takes_long = true;
            }
            messages.push(message);
        }
        let serve = move |server: &Arc<Self>| {
            let responses = messages.into_iter().filter_map(|one| server.respond(one));
            answers.extend(responses);
            if answers.is_empty() {
                return Ok(());
            }
            send(&together(answers))
        };
        if takes_long {
            return self.in_background(serve);
        }
        serve(self)
    }

    /// Runs `work` on a thread of its own; [`DemoCalls`] bounds how many there are.
    fn in_background(
        self: &Arc<Self>,
        work: impl FnOnce(&Arc<Self>) -> io::Result<()> + Send + 'static,
    ) -> io::Result<()> {
        let server = Arc::clone(self);
        thread::Builder::new()
            .name("demo-call".to_owned())
            .spawn(move || {
                // A client that is gone shows on the next line that the reader gets: the end.
                let _ = work(&server);
            })?;
        Ok(())
    }

    /// The answer to a message, if it gets one.
    fn respond(&self, message: DemoMessage) -> Option<Value> {
        match message {
            DemoMessage::Request(request) => self.answer(&request),
            DemoMessage::Notification { method, params } => {
                if method == "notifications/cancelled" {
                    self.in_flight.cancel(&params["requestId"]);
                }
                None
            }
            DemoMessage::Response => None,
            DemoMessage::Invalid { id } => {
                Some(DemoError::invalid("this is not a JSON-RPC 2.0 message").reply(&id))
            }
        }
    }

    /// The answer to a request; nothing when it was cancelled.
    fn answer(&self, request: &DemoRequest) -> Option<Value> {
        let params = &request.params;
        let result = match request.method.as_str() {
            "initialize" => self.initialize(params),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(content::offered("tools")),
            "tools/call" => match tools::call(self, request) {
                Ok(Some(result)) => Ok(result),
                Ok(None) => return None,
                Err(error) => Err(error),
            },
            "resources/list" => Ok(content::offered("resources")),
            "resources/templates/list" => Ok(json!({ "resourceTemplates": [] })),
            "resources/read" => content::read_resource(params),
            "prompts/list" => Ok(content::offered("prompts")),
            "prompts/get" => content::prompt(params),
            unknown => Err(DemoError::unknown_method(unknown)),
        };
        Some(match result {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": request.id, "result": result }),
            Err(error) => error.reply(&request.id),
        })
    }

    fn initialize(&self, params: &Value) -> Result<Value, DemoError> {
        let Some(wanted) = params["protocolVersion"].as_str() else {
            return Err(DemoError::params(
                "initialize needs protocolVersion, a string",
            ));
        };
        let newest = REVISIONS[REVISIONS.len() - 1];
        let revision = REVISIONS
            .iter()
            .copied()
            .find(|known| *known == wanted)
            .unwrap_or(newest);
        *self.revision() = Some(revision);
        Ok(json!({
            "protocolVersion": revision,
            "capabilities": { "tools": {}, "resources": {}, "prompts": {} },
            "serverInfo": {
                "name": "mcpproxy-demo",
                "title": "mcpproxy demo server",
                "version": env!("CARGO_PKG_VERSION"),
            },
            "instructions": content::offered("instructions")["instructions"],
        }))
    }

    fn revision(&self) -> std::sync::MutexGuard<'_, Option<&'static str>> {
        self.revision.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes one message as one line; lines of several threads do not mix.
fn send(message: &Value) -> io::Result<()> {
    let mut line = serde_json::to_vec(message).map_err(io::Error::other)?;
    line.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&line)?;
    out.flush()
}
