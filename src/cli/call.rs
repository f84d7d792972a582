//! `mcpproxy call`: one call through the daemon, through the same gate as an MCP client's.

use std::{
    fs::File,
    io::{self, Read},
    slice,
};

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};

use super::{
    CommandFailure, Done, Location, Output, connection, example_call, failure::ONE_VERSION, output,
    progress, tools_switch,
};
use crate::{
    config::json_mistake,
    daemon_client::{self, DaemonClient},
    failure::NextStep,
    management::{Files, ToolList, ToolRow},
    storage,
};

/// Call a tool
///
/// Without a call type, the tool's own is used. A type that allows less than the tool does, such as `read` for a tool that writes, is
/// refused (exit code 4). The tool's text goes to stdout, its progress to stderr. Exits with code 1 if the tool reports an error.
#[derive(Debug, Args)]
#[command(override_usage = USAGE)]
pub(super) struct CallCommand {
    /// Optionally a call type, then the tool and its arguments
    #[arg(required = true, num_args = 1.., value_name = "SERVER:TOOL [JSON | KEY=VALUE…]")]
    words: Vec<String>,
    /// A JSON object; @FILE reads a file, - reads stdin
    #[arg(long, value_name = "JSON")]
    args: Option<String>,
}

const USAGE: &str =
    "mcpproxy call [read|write|destructive] <SERVER:TOOL> [JSON | KEY=VALUE... | --args JSON]";

const EXAMPLE: &str = "for example: `mcpproxy call demo:echo text=hello`";

const UNDONE: &str = "nothing was called";

const KINDS: [&str; 3] = ["read", "write", "destructive"];

/// What is called, and with what.
struct CallTarget {
    variant: Option<String>,
    name: String,
    args: Box<RawValue>,
    /// The keys and values, as they are written, that are JSON and may be meant as texts.
    loose: Written,
}

/// Keys and values as they are written.
type Written = Vec<(String, String)>;

/// What the daemon accepts as one request.
const LARGEST_ARGUMENTS: u64 = 32 * 1024 * 1024;

#[derive(Serialize)]
struct Request<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<&'a str>,
    name: &'a str,
    args: &'a RawValue,
}

/// One of the last two is there.
#[derive(Deserialize)]
struct Answer<'a> {
    called_as: Option<&'a str>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    rpc_error: Option<&'a RawValue>,
    step: Option<NextStep>,
}

#[derive(Deserialize)]
struct RpcError {
    code: i64,
    message: String,
}

/// The fields of a tool's result that are shown.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolResult<'a> {
    #[serde(borrow, default)]
    content: Vec<&'a RawValue>,
    #[serde(borrow)]
    structured_content: Option<&'a RawValue>,
    is_error: Option<bool>,
}

impl CallCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        let files = location.files()?;
        let words = self.words.clone();
        let mut target = match self.target() {
            Ok(target) => target,
            Err(failure) => {
                let meant = meant(&files, &words, out).await;
                let step = meant.or_else(|| failure.next_step.clone());
                let failure = failure.undone(UNDONE);
                return Err(step.into_iter().fold(failure, CommandFailure::next));
            }
        };
        let mut daemon = connection::open_to_act(&files, out, UNDONE).await?;
        if !target.loose.is_empty() {
            target.args = as_declared(&mut daemon, &target).await?;
        }
        let body = serde_json::to_vec(&Request {
            variant: target.variant.as_deref(),
            name: &target.name,
            args: &target.args,
        })
        .map_err(|error| CommandFailure::failed(format!("failed to write the request: {error}")))?;
        let body = progress::send(&mut daemon, "/api/v1/call", body, out).await?;
        let shown = show(&target, &body, out);
        match shown {
            Err(failure) if failure.is_shown => {
                let schema = example_call::schema_of(&mut daemon, &target.name).await;
                let step = example_call::completed(&target.name, &schema, &target.object());
                Err(match step {
                    Some(step) => failure.next(step),
                    None => failure,
                })
            }
            shown => shown,
        }
    }

    fn target(self) -> Done<CallTarget> {
        let mut words = self.words.into_iter().peekable();
        let variant = words.next_if(|word| KINDS.contains(&word.as_str()));
        let usage = |what: String| CommandFailure::usage(what).next(EXAMPLE);
        let name = words.next();
        let name = name.ok_or_else(|| usage("no tool is given".to_owned()))?;
        if !name.contains([':', '_']) && words.peek().is_some_and(|word| word.contains(':')) {
            let what = format!("{name:?} is neither a call type nor SERVER:TOOL");
            let step = "use `read`, `write` or `destructive`, or leave it out";
            return Err(CommandFailure::usage(what).next(step));
        }
        let name = tools_switch::tool_name(&name)?;
        let words: Vec<String> = words.collect();
        let (args, loose) = match (&words[..], self.args) {
            ([], given) => (arguments(given.as_deref().unwrap_or("{}"))?, Vec::new()),
            ([..], Some(_)) => {
                let what = "the arguments are given twice, with --args and without it";
                return Err(CommandFailure::usage(what).next("leave one of them out"));
            }
            ([json], None) if json.starts_with(['{', '[', '@']) || json == "-" => {
                (arguments(json)?, Vec::new())
            }
            (pairs, None) => from_pairs(pairs)?,
        };
        Ok(CallTarget {
            variant,
            name,
            args,
            loose,
        })
    }
}

impl CallTarget {
    fn object(&self) -> Map<String, Value> {
        serde_json::from_str(self.args.get()).unwrap_or_default()
    }
}

/// What is meant by a tool's name without its server.
async fn meant(files: &Files, words: &[String], out: Output) -> Option<String> {
    let name = words.iter().find(|word| !KINDS.contains(&&***word))?;
    let mut daemon = connection::open_if_running(files, out).await.ok()??;
    let known: ToolList = daemon.fetch("/api/v1/tools").await.ok()?;
    let own = |tool: &ToolRow| tool.name.split_once(':').map(|(_, own)| own.to_owned());
    let mut tools = known.tools.into_iter();
    let meant = tools.find(|tool| own(tool).as_ref() == Some(name))?;
    Some(format!("did you mean {}?", meant.name))
}

/// `KEY=VALUE`: a value that is JSON is that, any other is a text. Gives those that are JSON and no text, too, as they are written.
fn from_pairs(pairs: &[String]) -> Done<(Box<RawValue>, Written)> {
    let mut object = Map::new();
    let mut loose = Vec::new();
    for pair in pairs {
        let (key, text) = pair.split_once('=').ok_or_else(|| {
            CommandFailure::usage(format!("{pair:?} is neither KEY=VALUE nor a JSON object"))
                .next(EXAMPLE)
        })?;
        let value: Value = serde_json::from_str(text).unwrap_or_else(|_| text.into());
        if !value.is_string() {
            loose.push((key.to_owned(), text.to_owned()));
        }
        if object.insert(key.to_owned(), value).is_some() {
            let what = format!("`{key}` is given twice");
            return Err(CommandFailure::usage(what).next("leave one of them out"));
        }
    }
    Ok((raw(&object)?, loose))
}

fn raw(object: &Map<String, Value>) -> Done<Box<RawValue>> {
    serde_json::value::to_raw_value(object)
        .map_err(|error| CommandFailure::failed(format!("failed to write the request: {error}")))
}

/// The arguments, in which the tool's schema decides what is a text. Where it is not known, the call says why.
async fn as_declared(daemon: &mut DaemonClient, target: &CallTarget) -> Done<Box<RawValue>> {
    let schema = example_call::schema_of(daemon, &target.name).await;
    let properties = &schema["properties"];
    let mut object = target.object();
    for (key, text) in &target.loose {
        let value = object.entry(key).or_insert(Value::Null);
        if is_meant_as_text(&properties[key]["type"], value) {
            *value = text.as_str().into();
        }
    }
    raw(&object)
}

/// Whether a schema of this type takes a text, and no such value.
fn is_meant_as_text(declared: &Value, value: &Value) -> bool {
    let kinds = declared
        .as_array()
        .map_or(slice::from_ref(declared), Vec::as_slice);
    let is_taken = kinds
        .iter()
        .filter_map(Value::as_str)
        .any(|kind| match kind {
            "null" => value.is_null(),
            "boolean" => value.is_boolean(),
            "number" | "integer" => value.is_number(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            _ => false,
        });
    !is_taken && kinds.iter().any(|kind| kind == "string")
}

/// Reads `--args`: an object, kept as it is written.
fn arguments(given: &str) -> Done<Box<RawValue>> {
    let text = if given == "-" {
        read_all(io::stdin().lock(), "the arguments", "stdin")?
    } else if let Some(path) = given.strip_prefix('@') {
        let step = "name a JSON file with `--args @FILE`, or use `--args -` and give JSON on stdin";
        let file = File::open(path).map_err(|error| {
            let why = storage::in_words(&error);
            CommandFailure::failed(format!("{path} cannot be read: {why}")).next(step)
        })?;
        read_all(file, "the arguments", path).map_err(|failure| failure.next(step))?
    } else {
        given.to_owned()
    };
    let usage = |complaint: String| {
        CommandFailure::usage(complaint).next(
            "give a JSON object in single quotes, such as '{\"text\": \"hello\"}', or text=hello",
        )
    };
    let text = text.trim();
    let args = RawValue::from_string(text.to_owned()).map_err(|error| {
        usage(format!(
            "the arguments are not JSON: {}",
            json_mistake(text, &error)
        ))
    })?;
    if args.get().starts_with('{') {
        Ok(args)
    } else {
        Err(usage("the arguments are not a JSON object".to_owned()))
    }
}

/// Reads a whole text, no larger than a request may be. `what` and `name` say what it is and where it comes from.
pub(super) fn read_all(input: impl Read, what: &str, name: &str) -> Done<String> {
    let mut text = String::new();
    let is_stdin = name == "stdin";
    let read = input
        .take(LARGEST_ARGUMENTS + 1)
        .read_to_string(&mut text)
        .map_err(|error| {
            let why = storage::in_words(&error);
            CommandFailure::failed(format!("{name} cannot be read: {why}"))
        })?;
    if read as u64 > LARGEST_ARGUMENTS {
        return Err(CommandFailure::failed(format!(
            "{what} in {name} is larger than 32 MiB"
        )));
    }
    if is_stdin && text.trim().is_empty() {
        return Err(CommandFailure::usage("stdin is empty").next(format!("give {what} on stdin")));
    }
    Ok(text)
}

fn show(target: &CallTarget, body: &[u8], out: Output) -> Done {
    let request = "POST /api/v1/call";
    let answer: Answer<'_> = daemon_client::read(request, body)?;
    if let Some(kind) = answer.called_as {
        out.note(&format!("called as {kind}"));
    }
    match (answer.result, answer.rpc_error) {
        (Some(result), _) => show_result(target, result, out),
        (None, Some(error)) => show_rpc_error(target, error, answer.step, out),
        (None, None) => Err(CommandFailure::failed(
            "the daemon's answer has neither a result nor an error",
        )
        .next(ONE_VERSION)),
    }
}

fn show_result(target: &CallTarget, raw: &RawValue, out: Output) -> Done {
    // A result of an odd shape is shown as it is: the server's business, not ours.
    let result: Option<ToolResult<'_>> = serde_json::from_str(raw.get()).ok();
    match &result {
        _ if out.is_json() => output::exact_json(raw.get())?,
        Some(result) => show_content(result)?,
        None => output::json(raw.get().as_bytes())?,
    }
    if result.is_some_and(|result| result.is_error == Some(true)) {
        return Err(
            CommandFailure::failed(format!("the tool {} reports an error", target.name))
                .next(format!(
                    "`mcpproxy tools show {}` shows its arguments",
                    target.name
                ))
                .shown(),
        );
    }
    Ok(())
}

fn show_content(result: &ToolResult<'_>) -> Done {
    for block in &result.content {
        show_block(block)?;
    }
    match result.structured_content {
        Some(structured) if result.content.is_empty() => output::json(structured.get().as_bytes()),
        _ => Ok(()),
    }
}

fn show_rpc_error(
    target: &CallTarget,
    raw: &RawValue,
    step: Option<NextStep>,
    out: Output,
) -> Done {
    let RpcError { code, message } =
        daemon_client::read("POST /api/v1/call", raw.get().as_bytes())?;
    if out.is_json() {
        output::exact_json(&format!("{{\"rpc_error\":{}}}", raw.get()))?;
    }
    let (server, _) = target.name.split_once(':').unwrap_or_default();
    let name = &target.name;
    let failure = CommandFailure::failed(format!(
        "the server answered {name} with an error: {message} ({code})"
    ));
    let shown = || format!("`mcpproxy tools show {name}` shows its arguments");
    let step = step.map_or_else(shown, |step| step.at_terminal(server));
    Err(failure.next(step).shown())
}

/// A content block of any kind, in one line.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Block {
    r#type: String,
    text: Option<String>,
    data: Option<String>,
    mime_type: Option<String>,
    uri: Option<String>,
    resource: Option<Box<Block>>,
}

fn show_block(raw: &RawValue) -> Done {
    let block: Block = serde_json::from_str(raw.get()).unwrap_or_default();
    if let ("text", Some(text)) = (block.r#type.as_str(), &block.text) {
        return output::foreign_text(text);
    }
    let inner = block.resource.unwrap_or_default();
    let kind = if block.r#type.is_empty() {
        "content of an unknown type"
    } else {
        &block.r#type
    };
    let data = block
        .data
        .map(|data| format!("(about {} bytes)", data.len() / 4 * 3));
    let parts = [
        Some(kind.to_owned()),
        block.mime_type,
        inner.mime_type,
        block.uri,
        inner.uri,
        data,
    ];
    let line: Vec<String> = parts.into_iter().flatten().collect();
    output::foreign_text(&format!("[{}]", line.join(" ")))
}
