//! Reads schemas: finds parameters that no tool needs, and preset values that do harm.

use super::{
    Severity::{Hold, Remark},
    beyond,
    findings::Findings,
    fold::words_of_name,
    metadata_service,
    passage::{Kind, Passage, Sentences},
    phrase::{Hint, Meaning, Topic},
};

/// Reads a key or a value of a schema.
pub(super) fn read(text: &Passage<'_>, findings: &mut Findings) {
    let mut steps = text.place.as_bytes().rsplit(|byte| *byte == b'/');
    let last = steps.next().unwrap_or_default();
    let parent = steps.next().unwrap_or_default();
    match (text.kind, parent, last) {
        // A member of the result is not a parameter.
        (Kind::Key, b"properties" | b"patternProperties", _) | (Kind::Value, b"required", _)
            if !text.place.starts_with("/outputSchema/") =>
        {
            name(text, findings);
        }
        (Kind::Value, _, b"default" | b"const") | (Kind::Value, b"enum", _) => {
            value(text, Role::FilledIn, findings);
        }
        (Kind::Value, b"examples" | b"default", _) | (Kind::Value, _, b"example") => {
            value(text, Role::Example, findings);
        }
        _ => (),
    }
}

/// How a value of a schema is used.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    /// It may be sent in a call.
    FilledIn,
    Example,
}

/// Names of parameters through which the model would give away what it knows. Tools that talk to models have some of them for good reason, so the
/// rule only remarks.
#[rustfmt::skip]
const OUT_OF_SCOPE: &[&str] = &[
    "sidenote", "side note", "hidden note", "internal note", "secret note",
    "system prompt", "systemprompt", "system message", "developer message", "initial instructions", "your instructions",
    "model instructions", "agent instructions", "assistant instructions", "llm instructions",
    "conversation", "full conversation", "conversation history", "conversation log", "conversation context", "conversation transcript",
    "chat history", "chat log", "chat transcript", "session transcript", "transcript of session",
    "message history", "previous messages", "prior messages", "last messages", "session messages", "recent messages", "user messages",
    "prompt history", "user prompt history", "original user prompt", "raw user prompt", "user profile",
    "chain of thought", "internal reasoning", "reasoning trace", "hidden thoughts", "agent memory", "memory dump",
    "tool call history", "previous tool calls", "previous tool results", "recent tool results", "tool results",
    "available tools", "tools list", "tool list", "mcp config", "mcp json",
    "context window", "context dump", "full context", "user context", "session context", "llm context", "agent context", "model context",
    "file contents for context", "workspace dump",
    "environment variables", "env vars", "env dump", "environment dump", "env file", "dotenv",
    "user credentials", "all credentials", "user secrets", "ssh key", "ssh keys", "ssh private key", "api keys", "auth tokens",
    "session tokens", "browser cookies", "keychain", "wallet seed", "seed phrase",
];

/// Words of a name that asks for something private: how it is taken, and what is taken.
#[rustfmt::skip]
const TAKES: &[&str] = &[
    "content", "contents", "read", "reading", "dump", "file", "value", "paste", "copy", "from", "verbatim", "raw",
    "all", "full", "entire", "complete",
];
#[rustfmt::skip]
const PRIVATE: &[&str] = &[
    "id rsa", "ssh", "private key", "etc passwd", "aws credentials", "credentials", "passwords", "api keys",
    "dotenv", "env file", "env vars", "environment variables", "mcp json", "bank statement",
    "system prompt", "conversation", "chat history", "prior messages", "previous messages", "private messages", "user messages",
];

/// The most words of a name; a longer one is a sentence.
const NAME_WORDS: usize = 7;

/// Reads the name of a parameter.
fn name(text: &Passage<'_>, findings: &mut Findings) {
    let words = words_of_name(text.text);
    beyond::read_name(text, &words, findings);
    let words = words.trim();
    let whole = 0..text.text.len();
    if OUT_OF_SCOPE.contains(&words) {
        findings.add("parameters.out_of_scope", Remark, text, whole.clone());
    }
    let is_taken = words.split(' ').any(|word| TAKES.contains(&word));
    if is_taken
        && words.split(' ').count() >= 3
        && PRIVATE.iter().any(|thing| contains_words(words, thing))
    {
        let severity = if text.reader.keeps_secrets() {
            Remark
        } else {
            Hold
        };
        findings.add("parameters.asks_secret", severity, text, whole);
    } else if words.split(' ').count() > NAME_WORDS {
        findings.add("parameters.sentence", Remark, text, whole);
    }
}

/// Whether a text has these words as whole words.
fn contains_words(text: &str, words: &str) -> bool {
    let found = text.match_indices(words);
    found.into_iter().any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        let after = text.get(at + words.len()..).unwrap_or_default();
        (before.is_empty() || before.ends_with(' ')) && (after.is_empty() || after.starts_with(' '))
    })
}

/// The most words of a value; a longer one is a speech.
const VALUE_WORDS: usize = 30;

/// Words in the name of a parameter whose value says where data go.
#[rustfmt::skip]
const CARRIERS: &[&str] = &[
    "bcc", "cc", "forward", "copy", "webhook", "callback", "notify", "report", "telemetry", "recipient", "collector", "beacon", "audit",
    "reply to", "analytics", "exfil", "mirror", "sync", "log url", "upload", "proxy",
];

/// Reads a value.
fn value(text: &Passage<'_>, role: Role, findings: &mut Findings) {
    let whole = 0..text.text.len();
    let grave = if role == Role::FilledIn { Hold } else { Remark };
    let Sentences { folded, matches } = text.sentences();
    let has = |signal| {
        matches
            .iter()
            .any(|found| matches!(found.meaning, Meaning::Part(part) if part == signal))
    };
    if has(Hint::SecretFile) {
        // A tool for such files may preset the one of the project, and a tool that logs in somewhere the user's key.
        let is_own = folded.starts_with(".env")
            || text.reader.keeps_secrets()
            || text.reader.is_about(Topic::Credentials)
                && contains_words(&words_of_name(text.place), "identity");
        let severity = if is_own { Remark } else { grave };
        findings.add("values.secret_file", severity, text, whole.clone());
    }
    if runs_something(folded) {
        findings.add("values.command", grave, text, whole.clone());
    }
    let leads_out = folded.starts_with("http") && !is_at_home(folded)
        || folded.contains('@') && has(Hint::Recipient);
    let is_carried = || {
        let parameter = words_of_name(text.place);
        CARRIERS.iter().any(|word| contains_words(&parameter, word))
    };
    if role == Role::FilledIn && leads_out && is_carried() {
        findings.add("values.recipient", Hold, text, whole.clone());
    }
    if let Some(range) = metadata_service::named_in(text.text) {
        findings.add("values.metadata_service", grave, text, range);
    }
    let words = folded.split(' ').count();
    if role == Role::FilledIn && words > 2 && has(Hint::Foreign) {
        findings.add("values.beyond_purpose", Hold, text, whole.clone());
    }
    if role == Role::FilledIn && words > VALUE_WORDS && has(Hint::Order) {
        findings.add("values.speech", Remark, text, whole);
    }
}

/// Whether a value runs a command after a separator of a shell.
fn runs_something(folded: &str) -> bool {
    #[rustfmt::skip]
    const AFTER: [&str; 12] = [
        "curl ", "wget ", "sh ", "bash ", "nc ", "rm ", "cat ", "python", "base64", "chmod ", "eval ", "powershell",
    ];
    const JOINTS: [&str; 7] = ["; ", ";", "&& ", "| ", "$(", "|| ", "|"];
    folded.contains([';', '&', '|', '$'])
        && JOINTS.iter().any(|joint| {
            let mut parts = folded.split(joint).skip(1);
            parts.any(|part| {
                AFTER
                    .iter()
                    .any(|command| part.trim_start().starts_with(command))
            })
        })
}

/// Whether a URL leads to this machine, or to a host that stands for any.
fn is_at_home(url: &str) -> bool {
    #[rustfmt::skip]
    const HOME: [&str; 7] = [
        "://localhost", "://127.", "://[::1]", "://example.", ".example.com", "://0.0.0.0", "://www.example",
    ];
    HOME.iter().any(|host| url.contains(host))
}
