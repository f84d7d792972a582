//! `mcpproxy code`: has the daemon run a script, with the limits and checks that a script of an agent has.

use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    CommandFailure, Done, Location, OrUndone, Output, connection,
    input::{Input, JsonOption},
    mistake, output, progress,
};
use crate::{code_execution::ScriptCode, daemon_client};

/// Run a JavaScript file that calls tools
///
/// Runs a script as the tool `code_execution` does. The script's value goes to stdout, its log to stderr. Exits with code 1 if the script
/// fails. To allow scripts, run `mcpproxy config set enable_code_execution true` once.
#[derive(Debug, Args)]
pub(super) struct CodeCommand {
    /// The script; - reads it from stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// JSON for `input`; @FILE reads a file, - reads stdin
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// Time limit in milliseconds, calls included
    #[arg(long, value_name = "MS", value_parser = mistake::whole_number(1..=86_400_000_u64))]
    timeout: Option<u64>,
    /// Maximum number of tool calls that the script may make
    #[arg(long, value_name = "N")]
    max_tool_calls: Option<u64>,
    /// Allow only calls to this server; may be repeated
    #[arg(long = "allow-server", value_name = "NAME")]
    allow_servers: Vec<String>,
    /// Allow calls of tools that may delete or overwrite
    #[arg(long)]
    allow_destructive: bool,
}

#[derive(Serialize)]
struct Request<'a> {
    code: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<&'a RawValue>,
    options: Options<'a>,
}

#[derive(Serialize)]
struct Options<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tool_calls: Option<u64>,
    allowed_servers: &'a [String],
    allow_destructive: bool,
}

/// The daemon's answer.
#[derive(Deserialize)]
struct Ended<'a> {
    #[serde(borrow)]
    value: Option<&'a RawValue>,
    error: Option<ScriptError>,
    #[serde(default)]
    logs: Vec<String>,
    #[serde(default)]
    tool_calls: usize,
    #[serde(default)]
    failed_calls: usize,
}

#[derive(Deserialize)]
struct ScriptError {
    code: String,
    message: String,
    line: Option<u32>,
    column: Option<u32>,
    hint: String,
    limited_by: Option<String>,
}

impl CodeCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        const UNDONE: &str = "nothing ran";
        let code = self.code().or_undone(UNDONE)?;
        let input = self.input.as_deref().map(read_input).transpose();
        let input = input.or_undone(UNDONE)?;
        let body = output::as_json(&Request {
            code: &code,
            input: input.as_deref(),
            options: Options {
                timeout_ms: self.timeout,
                max_tool_calls: self.max_tool_calls,
                allowed_servers: &self.allow_servers,
                allow_destructive: self.allow_destructive,
            },
        })?;
        let files = location.files()?;
        let mut daemon = connection::open_to_act(&files, out, UNDONE).await?;
        let answered = progress::send(&mut daemon, "/api/v1/code", body, out).await;
        show(&answered?, out)
    }

    fn code(&self) -> Done<String> {
        if self.file.as_os_str() == "-" {
            return Input::Stdin.read("the script");
        }
        let file = Input::File {
            path: &self.file,
            called: format!("the script {}", self.file.display()),
        };
        let step = "name a file with a script, or `-` to read it from stdin";
        file.read("the script")
            .map_err(|failure| failure.or_next(step))
    }
}

fn read_input(given: &str) -> Done<Box<RawValue>> {
    let input = JsonOption {
        option: "--input",
        what: "the input",
        is_plural: false,
        example: "correct the JSON after --input, such as --input '{\"text\":\"hello\"}'",
        given,
    };
    input.read()
}

fn show(body: &[u8], out: Output) -> Done {
    let ended: Ended<'_> = daemon_client::read("POST /api/v1/code", body)?;
    if out.is_json() {
        output::print_exact_json(&String::from_utf8_lossy(body))?;
    } else {
        print(&ended, out)?;
    }
    let Some(error) = &ended.error else {
        return Ok(());
    };
    Err(failure_of(error, ended.tool_calls).shown())
}

fn print(ended: &Ended<'_>, out: Output) -> Done {
    for line in &ended.logs {
        out.note(line);
    }
    if ended.failed_calls > 0 && ended.error.is_none() {
        out.note(&format!(
            "failed calls: {} of {}; `mcpproxy activity list` lists them, `mcpproxy activity show ID` shows why",
            ended.failed_calls, ended.tool_calls
        ));
    }
    match ended.value.map(RawValue::get) {
        Some(text) if text.starts_with('"') => {
            let text: String = serde_json::from_str(text).unwrap_or_else(|_| text.to_owned());
            output::print_foreign_text(&text)
        }
        Some(json) => output::print_foreign_json(json),
        None => Ok(()),
    }
}

/// The failure of a script. The hint of an error is worded for a model, so those that name an option have a step for a terminal.
fn failure_of(error: &ScriptError, tool_calls: usize) -> CommandFailure {
    let message = &error.message;
    let place = error.line.zip(error.column);
    let place = place.map(|(line, column)| format!(" at line {line}, column {column}"));
    let place = place.unwrap_or_default();
    let code = ScriptCode::parse(&error.code);
    let what = match code {
        Some(ScriptCode::Timeout) => message.clone(),
        Some(ScriptCode::SyntaxError) => {
            format!("the script has a syntax error{place}: {message}")
        }
        _ => format!("the script failed{place}: {message}"),
    };
    let is_configured = error.limited_by.is_some();
    let step = match code {
        Some(ScriptCode::SyntaxError | ScriptCode::RuntimeError) => "correct the script",
        Some(ScriptCode::Timeout) if tool_calls > 0 && is_configured => {
            "do less in one script, or make calls together with call_tools; `mcpproxy config set code_execution_timeout_ms MS` gives calls more time"
        }
        Some(ScriptCode::Timeout) if tool_calls > 0 => {
            "do less in one script, or make calls together with call_tools; a larger --timeout gives calls more time"
        }
        Some(ScriptCode::MaxToolCallsExceeded) if is_configured => {
            "`mcpproxy config set code_execution_max_tool_calls N`"
        }
        Some(ScriptCode::MaxToolCallsExceeded) => "give a larger --max-tool-calls",
        Some(code) => code.step(tool_calls, is_configured),
        None => error.hint.as_str(),
    };
    let calls = match tool_calls {
        0 => "no tool was called",
        _ => "calls before that may have run",
    };
    CommandFailure::failed(format!("{what}; {calls}")).next(step)
}
