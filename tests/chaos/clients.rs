//! The clients of a run: every way in, and what each says of a call whatever becomes of it. Nothing here fails a test.

mod http_face;
mod lines;
mod pipe_face;
mod stream_face;

use std::{path::Path, sync::Arc, time::Duration};

use serde_json::{Value, json};

pub use self::http_face::{Address, send};
use self::{http_face::HttpFace, pipe_face::PipeFace, stream_face::StreamFace};
use super::judge::Outcome;

/// How long anybody waits for an answer: longer than a server may take to start and to answer, on a machine that is busy.
pub const DEADLINE: Duration = Duration::from_secs(75);

/// How a client names the tool that it calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Naming {
    /// `server__tool`.
    Offered,
    /// Through `call_tool_read` and its like.
    Variants,
    /// At an endpoint of the server's own.
    Native,
}

enum Face {
    Http(HttpFace),
    Stream(StreamFace),
    Pipe(Box<PipeFace>),
}

/// One client.
pub struct Client {
    /// For people.
    pub name: String,
    naming: Naming,
    face: Face,
}

/// Where the daemon of a run is found, whichever process that is.
#[derive(Debug, Clone)]
pub struct Places {
    pub port: u16,
    pub socket: std::path::PathBuf,
}

/// Twenty clients. `bridge` starts a `mcpproxy stdio` for an endpoint.
pub fn all(places: &Places, bridge: impl Fn(&str) -> tokio::process::Command) -> Vec<Arc<Client>> {
    let tcp = |path: &str, modern| Face::Http(HttpFace::over_tcp(places.port, path, modern));
    let local = |path: &str, modern| Face::Http(HttpFace::local(&places.socket, path, modern));
    let stream = |path: &str| Face::Stream(StreamFace::new(places.port, path));
    let pipe = |path: &str, modern| Face::Pipe(Box::new(PipeFace::start(bridge(path), modern)));
    let faces = [
        ("http", Naming::Offered, tcp("/mcp/all", false)),
        ("http", Naming::Offered, tcp("/mcp/all", false)),
        ("http", Naming::Offered, tcp("/mcp/all", false)),
        ("modern http", Naming::Offered, tcp("/mcp/all", true)),
        ("modern http", Naming::Offered, tcp("/mcp/all", true)),
        ("http, variants", Naming::Variants, tcp("/mcp", false)),
        ("http, variants", Naming::Variants, tcp("/mcp/call", false)),
        ("modern http, variants", Naming::Variants, tcp("/mcp", true)),
        ("http, native", Naming::Native, tcp("", false)),
        ("http, native", Naming::Native, tcp("", false)),
        ("modern http, native", Naming::Native, tcp("", true)),
        ("HTTP+SSE", Naming::Offered, stream("/mcp/all/sse")),
        ("HTTP+SSE", Naming::Offered, stream("/mcp/all/sse")),
        ("HTTP+SSE, variants", Naming::Variants, stream("/sse")),
        ("bridge", Naming::Offered, pipe("/mcp/all", false)),
        ("modern bridge", Naming::Offered, pipe("/mcp/all", true)),
        ("bridge, variants", Naming::Variants, pipe("/mcp", false)),
        ("local socket", Naming::Offered, local("/mcp/all", false)),
        (
            "local socket, variants",
            Naming::Variants,
            local("/mcp", true),
        ),
        ("local socket, native", Naming::Native, local("", false)),
    ];
    let numbered = faces.into_iter().enumerate();
    let client = |(number, (kind, naming, face))| {
        let name = format!("client {number} ({kind})");
        Arc::new(Client { name, naming, face })
    };
    numbered.map(client).collect()
}

impl Client {
    /// Calls a tool of a server and tells what came of it.
    pub async fn call(&self, server: &str, tool: &str, arguments: &Value) -> Outcome {
        let params = match self.naming {
            Naming::Offered => {
                json!({"name": format!("{server}__{tool}"), "arguments": arguments})
            }
            Naming::Native => json!({"name": tool, "arguments": arguments}),
            Naming::Variants => {
                let variant = match tool {
                    "look" => "call_tool_read",
                    "wipe" => "call_tool_destructive",
                    _ => "call_tool_write",
                };
                let inner = json!({"name": format!("{server}:{tool}"), "args": arguments});
                json!({"name": variant, "arguments": inner})
            }
        };
        self.request(server, "tools/call", &params).await
    }

    /// The names of all tools, if this client is told them all.
    pub async fn list(&self) -> Option<Outcome> {
        (self.naming == Naming::Offered).then_some(())?;
        Some(self.request("", "tools/list", &json!({})).await)
    }

    async fn request(&self, server: &str, method: &str, params: &Value) -> Outcome {
        let path = (self.naming == Naming::Native).then(|| format!("/mcp/server/{server}"));
        let asked = async {
            match &self.face {
                Face::Http(face) => face.request(path, method, params).await,
                Face::Stream(face) => face.request(method, params).await,
                Face::Pipe(face) => face.request(method, params).await,
            }
        };
        let waited = tokio::time::timeout(DEADLINE, asked).await;
        waited.unwrap_or(Outcome::Nothing)
    }

    /// What it was told that it never asked.
    pub fn strays(&self) -> Vec<String> {
        match &self.face {
            Face::Http(_) => Vec::new(),
            Face::Stream(face) => face.strays(),
            Face::Pipe(face) => face.strays(),
        }
    }

    /// The process that carries its lines.
    pub fn pid(&self) -> Option<u32> {
        match &self.face {
            Face::Pipe(face) => Some(face.pid()),
            Face::Http(_) | Face::Stream(_) => None,
        }
    }

    /// Leaves in order.
    pub async fn leave(&self) -> Result<(), String> {
        match &self.face {
            Face::Pipe(face) => face.leave().await,
            Face::Stream(face) => {
                face.leave().await;
                Ok(())
            }
            Face::Http(_) => Ok(()),
        }
    }
}

/// The opening of clients that shake hands.
fn opening(revision: &str) -> Value {
    json!({
        "protocolVersion": revision,
        "capabilities": {},
        "clientInfo": {"name": "chaos", "version": "1"},
    })
}

fn frame(id: u64, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

const OPENED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// The local socket of a data folder.
pub fn socket(data_dir: &Path) -> std::path::PathBuf {
    data_dir.join("mcpproxy.sock")
}
