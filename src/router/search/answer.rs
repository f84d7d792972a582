//! The outcome of a search as JSON, the same for `retrieve_tools`, REST and the command line.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use serde::Serialize;

use super::{Found, FoundTool, Omitted, Search, WholeList, notice, run, signature::signature};
use crate::{
    access::Caller,
    catalog::{LONGEST_QUERY, Snapshot, WordShare, without_values},
    config::Settings,
    failure::Result,
    text::spelt,
    wire::Raw,
};

/// How much of each tool is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Detail {
    /// The first ones with their input schema, as configured.
    #[default]
    Full,
    /// Signatures and the beginnings of descriptions.
    Compact,
}

spelt!(Detail { Full = "full", Compact = "compact" });

/// Characters of a description that a compact answer gives.
const BEGINNING: usize = 160;

/// The result of a search.
#[derive(Serialize, schemars::JsonSchema)]
pub struct SearchAnswer<'a> {
    /// The tools, best match first.
    tools: Vec<Row<'a>>,
    /// The query, as far as it was read.
    query: &'a str,
    /// The number of matching tools.
    total: usize,
    /// What else to know: held matches, servers left out, words that no tool has.
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<&'a str>,
    /// True if no matching tool can be called; absent if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    held: bool,
    /// The number of matching tools that a filter left out, by filter and cause; absent if none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<BTreeMap<&'static str, Omitted>>,
    /// The size of a list of all tools, for comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    listed: Option<WholeList>,
    /// The duration of the search in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    took_us: Option<u64>,
}

/// Why a tool has its score: the shares of all words add up to it.
#[derive(Serialize, schemars::JsonSchema)]
struct ScoreShares<'a> {
    /// The words of the query.
    words: Vec<WordShares<'a>>,
}

/// The shares of one word, by field.
#[derive(Serialize, schemars::JsonSchema)]
struct WordShares<'a> {
    /// The word.
    word: &'a str,
    /// Whether the tool has it.
    has: bool,
    /// The share of the name.
    name: f64,
    /// The share of the description.
    description: f64,
    /// The share of the parameters.
    parameters: f64,
    /// The share of the server's name.
    server: f64,
}

/// A tool that a search found.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "FoundTool")]
struct Row<'a> {
    /// `server:tool`.
    name: String,
    /// The server.
    server: &'a str,
    /// The description; only its beginning in a compact answer.
    description: Cow<'a, str>,
    /// The input schema, of the first `top_k` tools.
    #[serde(rename = "inputSchema", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    input_schema: Option<Raw>,
    /// The parameters in a line, in place of the input schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
    /// The server's annotations.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    annotations: Option<Raw>,
    /// How well the tool matches.
    score: f64,
    /// The built-in tool that calls it.
    call_with: String,
    /// Why it has this score.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<ScoreShares<'a>>,
}

/// Searches lists without a daemon.
pub fn search_lists(
    caller: &Caller,
    settings: &Settings,
    snapshot: &Arc<Snapshot>,
    search: &Search,
    detail: Detail,
) -> Result<Raw> {
    let found = run::in_lists(caller, settings, snapshot, search)?;
    Ok(of(&found, settings, search, detail))
}

/// The answer of a search that found this.
pub(super) fn of(found: &Found, settings: &Settings, search: &Search, detail: Detail) -> Raw {
    let query = &*search.query;
    let rows = found.tools.iter().enumerate();
    let schemas = match detail {
        Detail::Full => settings.top_k,
        Detail::Compact => 0,
    };
    // No more than was read of it.
    let end = query.char_indices().nth(LONGEST_QUERY);
    let query = end.and_then(|(end, _)| query.get(..end)).unwrap_or(query);
    Raw::author(&SearchAnswer {
        tools: rows
            .map(|(i, tool)| row(tool, settings, detail, i < schemas))
            .collect(),
        query,
        total: found.total,
        notice: found.notice.as_deref(),
        held: found.is_held,
        omitted: found
            .omitted
            .map(|omitted| [(notice::filter_name(search.up_to), omitted)].into()),
        listed: found.listed,
        took_us: found.took_us,
    })
}

fn row<'a>(
    found: &'a FoundTool,
    settings: &Settings,
    detail: Detail,
    with_schema: bool,
) -> Row<'a> {
    let (tool, server) = (found.tool(), found.server.server.as_str());
    // Nearly no definition repeats a secret; which do is remembered.
    let secrets = without_values::secrets_of(settings, server);
    let (definition, description) = if tool.repeats(&secrets) {
        let definition = without_values::raw(&secrets, tool.definition.clone());
        let description = without_values::text(&secrets, &tool.description);
        (definition, Cow::Owned(description))
    } else {
        (tool.definition.clone(), Cow::Borrowed(&*tool.description))
    };
    let schema = definition.get("inputSchema");
    let line = (!with_schema).then(|| signature(&tool.name, schema.as_ref(), None));
    Row {
        name: found.name(),
        server,
        description: match (detail, description) {
            (Detail::Full, description) => description,
            (Detail::Compact, Cow::Borrowed(whole)) => Cow::Borrowed(beginning(whole)),
            (Detail::Compact, Cow::Owned(whole)) => Cow::Owned(beginning(&whole).to_owned()),
        },
        input_schema: schema.filter(|_| with_schema),
        signature: line,
        annotations: definition.get("annotations").filter(Raw::is_object),
        score: rounded(found.score),
        call_with: format!("call_tool_{}", found.call_with.as_str()),
        why: found.why.as_deref().map(why),
    }
}

fn why(words: &[WordShare]) -> ScoreShares<'_> {
    let words = words.iter().map(|one| {
        let [name, description, parameters, server] = one.shares.map(four_digits);
        WordShares {
            word: &one.word,
            has: one.has,
            name,
            description,
            parameters,
            server,
        }
    });
    ScoreShares {
        words: words.collect(),
    }
}

fn four_digits(number: f32) -> f64 {
    (f64::from(number) * 10_000.0).round() / 10_000.0
}

/// The first line, or as much of it as is worth reading in a list.
fn beginning(description: &str) -> &str {
    let line = description.trim_start().lines().next().unwrap_or_default();
    match line.char_indices().nth(BEGINNING) {
        None => line,
        Some((end, _)) => {
            let cut = line.get(..end).unwrap_or(line);
            cut.rsplit_once(' ').map_or(cut, |(words, _)| words)
        }
    }
}

/// Four digits say enough and keep the order; none is rounded to nothing.
fn rounded(score: f32) -> f64 {
    four_digits(score).max(0.0001)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_cut_at_a_word() {
        assert_eq!(beginning(" One line. \nTwo."), "One line. ");
        assert_eq!(beginning(""), "");
        let long = "word ".repeat(50);
        assert!(beginning(&long).ends_with("word") && beginning(&long).len() < 165);
        assert_eq!(beginning(&"ä".repeat(300)).chars().count(), BEGINNING);
    }

    #[test]
    fn scores_stay_in_their_bounds() {
        assert_eq!(
            (rounded(1.0), rounded(f32::MIN_POSITIVE), rounded(0.123_456)),
            (1.0, 0.0001, 0.1235)
        );
    }
}
