//! `mcpproxy call`: calls a tool through the daemon, which checks the call like one of an MCP client.

mod arguments;
mod shown;

use clap::Args;
use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};

use self::{
    arguments::{Arguments, EXAMPLE},
    shown::Shown,
};
use super::{
    CommandFailure, Done, Location, Output, connection, example_call, output, progress, tool_name,
};

/// Call a tool
///
/// Without a call type, mcpproxy uses the tool's own. It refuses a type that allows less than the tool clearly does, such as `read` for a
/// tool that writes (exit code 4). The tool's text goes to stdout, its progress to stderr. Exits with code 1 if the tool reports an error.
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

const UNDONE: &str = "nothing was called";

const KINDS: [&str; 3] = ["read", "write", "destructive"];

/// The call that the words on the command line describe.
struct CallTarget {
    variant: Option<String>,
    name: String,
    arguments: Arguments,
}

#[derive(Serialize)]
struct Request<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<&'a str>,
    name: &'a str,
    args: &'a RawValue,
}

impl CallCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        let files = location.files()?;
        let words = self.words.clone();
        let target = match self.target() {
            Ok(target) => target,
            Err(failure) => {
                let named = words.iter().take(2);
                let mut named = named.filter(|word| !KINDS.contains(&word.as_str()));
                let read = named.clone().find(|word| tool_name::parts(word).is_some());
                let (mut judged, mut step) = (None, None);
                if let Some(name) = read.or_else(|| named.next())
                    && let Ok(Some(mut daemon)) = connection::open_if_running(&files, out).await
                {
                    if read.is_none() {
                        judged = tool_name::shown::<Value>(&mut daemon, name).await.err();
                    } else if failure.next_step.is_none() {
                        let schema = example_call::schema_of(&mut daemon, name).await;
                        step = example_call::completed(name, &schema, &Map::new());
                    }
                }
                let failure = judged.unwrap_or_else(|| failure.next_if(step));
                return Err(failure.or_next(EXAMPLE).undone(UNDONE));
            }
        };
        let mut daemon = connection::open_to_act(&files, out, UNDONE).await?;
        // If the schema is not known, the call fails with the reason.
        let schema = if target.arguments.need_schema() {
            example_call::schema_of(&mut daemon, &target.name).await
        } else {
            Value::Null
        };
        let args = target.arguments.as_declared(&schema)?;
        let body = output::as_json(&Request {
            variant: target.variant.as_deref(),
            name: &target.name,
            args: &args,
        })?;
        let body = progress::send(&mut daemon, "/api/v1/call", body, out).await?;
        match shown::show(&target.name, &body, out)? {
            Shown::Fine => Ok(()),
            Shown::Refused(failure) => {
                let schema = example_call::schema_of(&mut daemon, &target.name).await;
                let step =
                    example_call::completed(&target.name, &schema, &target.arguments.typed());
                Err(failure.next_if(step))
            }
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
        tool_name::read(&name)?;
        let words: Vec<String> = words.collect();
        let arguments = Arguments::read(&words, self.args.as_deref())?;
        Ok(CallTarget {
            variant,
            name,
            arguments,
        })
    }
}
