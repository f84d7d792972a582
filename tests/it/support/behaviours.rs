//! The words for what using a tool, prompt or resource of a fake upstream does.

use super::script::{Behaviour, Step};

impl Behaviour {
    /// First this, then that.
    pub fn then(mut self, next: Behaviour) -> Self {
        self.0.extend(next.0);
        self
    }
}

pub fn step(step: Step) -> Behaviour {
    Behaviour(vec![step])
}

/// Replies with a raw result.
pub fn reply(result: impl Into<String>) -> Behaviour {
    let result = result.into();
    assert!(!result.contains('\n'), "a frame is one line");
    step(Step::Reply(result))
}

/// Replies with one block of text.
pub fn reply_text(text: &str) -> Behaviour {
    let text = serde_json::Value::from(text);
    reply(format!(
        r#"{{"content":[{{"type":"text","text":{text}}}]}}"#
    ))
}

/// Fails with a raw JSON-RPC error object.
pub fn error(error: impl Into<String>) -> Behaviour {
    step(Step::Error(error.into()))
}

/// Replies with the arguments: as text, and as they came in `structuredContent`.
pub fn echo() -> Behaviour {
    step(Step::Echo)
}

/// Replies with who it is: `{"pid", "cwd", "calls"}`, where `calls` is how often this process was asked so.
pub fn itself() -> Behaviour {
    step(Step::Itself)
}

/// Asks the client if it declared this capability, then goes on.
pub fn ask_the_able(capability: &str, method: &str, params: &str) -> Behaviour {
    step(Step::AskTheAble {
        capability: capability.to_owned(),
        method: method.to_owned(),
        params: params.to_owned(),
    })
}

/// Replies with one raw result to a client that declared this capability, with the other to all others.
pub fn reply_to_the_able(capability: &str, result: &str, otherwise: &str) -> Behaviour {
    let (capability, result) = (capability.to_owned(), result.to_owned());
    step(Step::ReplyToTheAble { capability, result }).then(reply(otherwise))
}

/// Replies with the environment of the server's process, a line each.
pub fn environment() -> Behaviour {
    step(Step::Environment)
}

/// Logs, asks, pauses and replies as the arguments' `course` says, and names their `token` each time.
pub fn course() -> Behaviour {
    step(Step::Course)
}

/// Never ends.
pub fn hang() -> Behaviour {
    step(Step::Hang)
}

/// Kills the server.
pub fn exit() -> Behaviour {
    step(Step::Exit)
}

/// Replies with a block of text of so many characters.
pub fn oversized(size: usize) -> Behaviour {
    step(Step::Oversized(size))
}

/// Answers with a line that carries the id but is no JSON.
pub fn malformed() -> Behaviour {
    step(Step::Malformed)
}

/// Sends so many progress notifications, if the caller gave a token; then goes on.
pub fn progress(times: u32) -> Behaviour {
    step(Step::Progress(times))
}

/// Goes on when the test has opened the gate.
pub fn gate(name: &str) -> Behaviour {
    step(Step::Gate(name.to_owned()))
}

/// Sends a whole frame, then goes on.
pub fn notice(frame: impl Into<String>) -> Behaviour {
    step(Step::Notice(frame.into()))
}

/// Asks the client, then goes on with the answer.
pub fn ask(method: &str, params: &str) -> Behaviour {
    step(Step::Ask {
        method: method.to_owned(),
        params: params.to_owned(),
    })
}

/// Replies with the raw answer to the last question.
pub fn reply_with_answer() -> Behaviour {
    step(Step::ReplyWithAnswer)
}
