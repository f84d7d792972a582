//! `mcpproxy tools search`: searches tools with the ranking of `retrieve_tools`.

use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use serde::Deserialize;

use super::{
    CommandFailure, Done, OrUndone, Output,
    mistake::whole_number,
    output,
    table::{name, text},
};
use crate::{
    catalog::Matching,
    daemon_client::{self, DaemonClient},
};

#[derive(Debug, Args)]
pub(super) struct SearchTools {
    /// A few words; also a "quoted phrase", SERVER: or SERVER:PREFIX
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,
    /// Only the tools of this server
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// Number of results; `tools_limit` is the default and maximum
    #[arg(short = 'n', long, value_name = "N", value_parser = whole_number(1..=1000_usize))]
    limit: Option<usize>,
    /// How many of the words must match
    #[arg(long = "match", value_name = "WHICH", default_value = "any", value_parser = matching())]
    matching: Matching,
}

#[derive(Deserialize)]
struct Found {
    tools: Vec<FoundTool>,
    total: u64,
    notice: Option<String>,
}

#[derive(Deserialize)]
struct FoundTool {
    name: String,
    description: String,
    score: f64,
    call_with: String,
}

fn matching() -> impl TypedValueParser<Value = Matching> {
    let words = [
        PossibleValue::new("any").help("Tools with more of the words come first"),
        PossibleValue::new("all").help("Only tools with all of them"),
    ];
    PossibleValuesParser::new(words).map(|word| Matching::parse(&word).unwrap_or_default())
}

impl SearchTools {
    pub(super) async fn run(self, mut daemon: DaemonClient, out: Output) -> Done {
        const UNDONE: &str = "nothing was searched";
        let words = self.query.join(" ");
        if !words.contains(char::is_alphanumeric) {
            let failure = CommandFailure::usage("the query has no words");
            let failure = failure.undone(UNDONE);
            return Err(failure.next("for example: `mcpproxy tools search create issue`"));
        }
        let query = [
            ("q", Some(words)),
            ("match", Some(self.matching.as_str().to_owned())),
            ("server", self.server),
            ("limit", self.limit.map(|limit| limit.to_string())),
        ];
        let path = daemon_client::with_query("/api/v1/tools", &query);
        let body = daemon.get(&path).await.or_undone(UNDONE)?;
        out.answer(&path, &body, |found| print(found, out))
    }

    /// The server that the arguments name, if they name one.
    pub(super) fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }
}

fn print(found: Found, out: Output) -> Done {
    if found.tools.is_empty() {
        out.note(found.notice.as_deref().unwrap_or("no match"));
        return Ok(());
    }
    let shown = found.tools.len();
    let columns = [
        name("SCORE"),
        name("NAME"),
        name("CALL WITH"),
        text("DESCRIPTION", 1),
    ];
    output::print_table(columns, found.tools.into_iter().map(row))?;
    if usize::try_from(found.total).is_ok_and(|total| shown < total) {
        out.note(&format!(
            "{shown} of {} matching tools; --limit sets how many, up to `tools_limit` in the configuration",
            found.total
        ));
    }
    if let Some(notice) = &found.notice {
        out.note(notice);
    }
    Ok(())
}

fn row(tool: FoundTool) -> [String; 4] {
    let call_type = tool.call_with.strip_prefix("call_tool_");
    let call_type = call_type.unwrap_or(&tool.call_with).to_owned();
    [
        format!("{:.2}", tool.score),
        tool.name,
        call_type,
        output::first_line(&tool.description),
    ]
}
