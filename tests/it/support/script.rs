//! What a fake upstream does, as data. One script drives the child process on stdio and the server over HTTP alike.
//!
//! JSON that goes over the wire is kept as text and written as it stands, so odd numbers, key order and even broken JSON survive.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::modern::{self, Ending};

/// The whole behaviour of one fake upstream.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Script {
    /// The revision that `initialize` answers; a server of one without a handshake has no `initialize`.
    pub revision: String,
    /// Speaks the revision without a handshake as well.
    pub speaks_both: bool,
    /// What `server/discover` says it speaks, where that is not just what it speaks.
    pub supported: Option<Vec<String>>,
    /// `instructions` of the `initialize` result.
    pub instructions: Option<String>,
    /// `capabilities` as JSON text; derived from what is offered when absent.
    pub capabilities: Option<String>,
    pub tools: Vec<Offer>,
    pub prompts: Vec<Offer>,
    pub resources: Vec<Offer>,
    pub templates: Vec<Offer>,
    /// What a method answers instead of its usual answer.
    pub answers: BTreeMap<String, Behaviour>,
    /// How many entries a page of a list holds; everything when absent.
    pub page_size: Option<usize>,
    /// The last page points at the first again.
    pub cyclic_pages: bool,
    pub unknown_methods: UnknownMethods,
    /// How long `initialize` and `server/discover` take.
    pub opening_delay_ms: u64,
    /// The gates that let everybody through.
    pub open_gates: Vec<String>,
    pub stdio: StdioHabits,
    pub http: HttpHabits,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            revision: "2025-06-18".to_owned(),
            speaks_both: false,
            supported: None,
            instructions: None,
            capabilities: None,
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            answers: BTreeMap::new(),
            page_size: None,
            cyclic_pages: false,
            unknown_methods: UnknownMethods::Refused,
            opening_delay_ms: 0,
            open_gates: Vec::new(),
            stdio: StdioHabits::default(),
            http: HttpHabits::default(),
        }
    }
}

impl Script {
    /// Whether requests may speak for themselves.
    pub fn is_modern(&self) -> bool {
        self.speaks_both || self.is_modern_only()
    }

    /// Whether they must.
    pub fn is_modern_only(&self) -> bool {
        self.revision == modern::REVISION
    }

    /// The revisions that `server/discover` names.
    pub fn supported(&self) -> Vec<String> {
        self.supported.clone().unwrap_or_else(|| {
            let mut supported = vec![self.revision.clone()];
            if self.speaks_both {
                supported.push(modern::REVISION.to_owned());
            }
            supported
        })
    }
}

/// What happens to a request of a method that the script does not know, `server/discover` for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum UnknownMethods {
    /// Answered with -32601.
    Refused,
    /// Never answered.
    Ignored,
    /// The server ends, as some old ones do.
    Fatal,
}

/// A tool, prompt, resource or template: its definition as JSON text, and what using it does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Offer {
    /// The name or URI that a request uses.
    pub key: String,
    pub definition: String,
    pub behaviour: Behaviour,
}

/// Steps taken in order until one of them ends the request.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Behaviour(pub Vec<Step>);

#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Step {
    /// Sends this many `notifications/progress`, if the caller gave a token.
    Progress(u32),
    /// Waits until this gate is open.
    Gate(String),
    /// Sends a whole frame (a notification) as it stands.
    Notice(String),
    /// Asks the client a question and keeps its answer for [`Step::ReplyWithAnswer`].
    Ask { method: String, params: String },
    /// Ends with this result.
    Reply(String),
    /// Ends with the raw answer to the last question, inside a text block.
    ReplyWithAnswer,
    /// Ends with this JSON-RPC error object.
    Error(String),
    /// Ends with the arguments: as text, and as they came in `structuredContent`.
    Echo,
    /// [`Step::Echo`], with a second text of as many characters as the arguments' `length` says, after as many `milliseconds`.
    EchoAtLength,
    /// Writes the arguments' `token` into this file, a line of its own, and goes on.
    Journal(PathBuf),
    /// Ends in the middle of what [`Step::Echo`] ends with: the server dies.
    HalfEcho,
    /// Ends with who it is: process, folder, and how often it was asked, as JSON text.
    Itself,
    /// [`Step::Ask`], if the client declared this capability when it opened the connection.
    AskTheAble {
        capability: String,
        method: String,
        params: String,
    },
    /// Ends with this result, if the client declared this capability when it opened the connection.
    ReplyToTheAble { capability: String, result: String },
    /// Ends with the environment of the server's process, a line each.
    Environment,
    /// Does what the arguments' `course` says, under the arguments' `token`: `log`, `ask`, `pause` and `reply`, in their order. What
    /// stands after `reply` is done when the request is over.
    Course,
    /// Ends with a text block of this many characters.
    Oversized(usize),
    /// Ends with a line that carries the id but is no JSON.
    Malformed,
    /// Never ends.
    Hang,
    /// The server dies: the process ends, or every HTTP connection is cut.
    Exit,
}

/// Peculiarities of a server on stdio.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct StdioHabits {
    /// Lines written to stdout before anything else.
    pub banner: Vec<String>,
    /// A line written to stdout after each frame.
    pub noise: Option<String>,
    /// Lines written to stderr at the start.
    pub complaints: Vec<String>,
    /// Outlives the end of its stdin, and SIGTERM.
    pub stubborn: bool,
    /// Exits at once, with this code.
    pub stillborn: Option<i32>,
    /// Where the test listens.
    pub control: Option<SocketAddr>,
}

/// Peculiarities of a server over HTTP.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HttpHabits {
    pub answer: HttpAnswers,
    /// Mints a session id and asks for it on every request.
    pub sessions: bool,
    /// Serves the standalone GET stream.
    pub stream: bool,
    /// What goes wrong with every POST.
    pub trouble: Option<HttpTrouble>,
}

/// How POSTs fail over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HttpTrouble {
    /// They are answered with this status and are not read.
    Refused(u16),
    /// What they ask for is done, and then they are answered with this status.
    Failed(u16),
}

impl Default for HttpHabits {
    fn default() -> Self {
        Self {
            answer: HttpAnswers::Json,
            sessions: true,
            stream: true,
            trouble: None,
        }
    }
}

/// How requests are answered over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HttpAnswers {
    /// As JSON, unless something has to be sent before the answer.
    Json,
    /// As an event stream.
    Sse,
    /// As an event stream in pieces of this many bytes.
    SseInPieces(usize),
}

/// What the test tells a child.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Command {
    /// The last report was noted.
    Noted,
    /// From now on this script is in force.
    Follow(Box<Script>),
    /// Writes this frame to stdout.
    Send(String),
    /// Says this notification on every subscription that wants it.
    Tell(String),
    /// Ends every subscription.
    EndSubscriptions(Ending),
    /// Writes so many lines to stderr.
    Complain(usize),
    /// Ends the process with this code.
    Exit(i32),
}

/// What a child tells the test.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Report {
    /// The child runs.
    Started { pid: u32 },
    /// A frame came on stdin.
    Received(String),
    /// The last command was carried out.
    Done,
}
