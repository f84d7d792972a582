//! `/api/v1/tools`: the tools of the servers, listed, searched and shown.

use axum::{Extension, extract::State};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, Params, Route, Routes, Verbs, ok, one_of, wrong};
use crate::{
    access::Caller,
    catalog::Matching,
    config::{ChangeAuthor, ChangeWay, OPERATOR},
    failure::ErrorCode,
    gate::Variant,
    management::{Management, ShownTool, ToolList},
    router::search::{Detail, Search, SearchAnswer},
};

pub(super) fn routes<V: Verbs>() -> Routes<V> {
    vec![
        Route::get("/api/v1/tools", list_or_search::<V>)
            .about(
                "tools",
                "All tools, each with the reason if it is not callable; with `q`, an agent's search results with scores.",
            )
            .asks::<ToolsQuery>()
            .gives::<ToolList>()
            .gives::<SearchAnswer<'static>>()
            .fails(&[ErrorCode::UnknownServer, ErrorCode::UnknownProfile]),
        Route::get("/api/v1/tools/show", show::<V>)
            .about("showTool", "A tool with its whole definition.")
            .asks::<ShowQuery>()
            .gives::<ShownTool>()
            .fails(&[ErrorCode::UnknownServer, ErrorCode::UnknownTool]),
    ]
}

/// The tools to list.
#[derive(Deserialize, JsonSchema)]
struct ToolsQuery {
    /// Only the tools of this server.
    server: Option<String>,
    /// Words to search for; without them the answer is a list.
    q: Option<String>,
    /// The number of results of a search; at most `tools_limit`.
    #[schemars(range(min = 1))]
    limit: Option<usize>,
    /// Whether a tool must match `any` or `all` of the words.
    #[schemars(extend("enum" = ["any", "all"]))]
    r#match: Option<String>,
    /// How much of each tool to show: `full` or `compact`.
    #[schemars(extend("enum" = ["full", "compact"]))]
    detail: Option<String>,
    /// Whether to explain each score.
    explain: Option<bool>,
    /// The caller to search as, with the roles of its tokens; by default the operator, who finds every tool.
    r#as: Option<String>,
    /// The profile to search in, as at `/mcp/p/NAME`.
    profile: Option<String>,
    /// Whether to find only tools that `call_tool_read` calls.
    read_only: Option<bool>,
}

impl ToolsQuery {
    /// A parameter that says something of a search alone, if one was given.
    fn of_search_alone(&self) -> Option<&'static str> {
        let given = [
            ("limit", self.limit.is_some()),
            ("match", self.r#match.is_some()),
            ("detail", self.detail.is_some()),
            ("explain", self.explain.is_some()),
            ("as", self.r#as.is_some()),
            ("profile", self.profile.is_some()),
            ("read_only", self.read_only.is_some()),
        ];
        let first = given.into_iter().find(|(_, is_given)| *is_given);
        first.map(|(name, _)| name)
    }
}

async fn list_or_search<V: Verbs>(
    State(verbs): State<V>,
    Extension(caller): Extension<Caller>,
    Params(query): Params<ToolsQuery>,
) -> Answer {
    let Some(text) = query.q else {
        if let Some(name) = query.of_search_alone() {
            return Err(wrong(format!(
                "`{name}` works only with `q`, the words to search for"
            )));
        }
        let server = query.server;
        let work =
            move |management: &Management<V::Backing>| ok(&management.tools(server.as_deref())?);
        return verbs.in_turn(work).await;
    };
    let matching = query.r#match.as_deref();
    let matching = one_of("match", "any or all", matching, Matching::parse)?;
    let detail = query.detail.as_deref();
    let detail = one_of("detail", "full or compact", detail, Detail::parse)?.unwrap_or_default();
    let explained = query.explain.unwrap_or_default();
    let (subject, profile) = (query.r#as.as_deref(), query.profile.as_deref());
    let management = verbs.management();
    let caller = management.caller_as(&caller, subject, profile)?;
    let is_at_terminal = ChangeAuthor::of_this_task().way == ChangeWay::Terminal;
    let search = Search {
        query: text,
        limit: query.limit,
        matching: matching.unwrap_or_default(),
        server: query.server,
        up_to: if query.read_only.unwrap_or_default() {
            Variant::Read
        } else {
            Variant::Destructive
        },
        explained,
        is_at_terminal: is_at_terminal && caller.subject() == OPERATOR,
    };
    ok(&verbs.search(&caller, &search, detail).await?)
}

/// The tool to show.
#[derive(Deserialize, JsonSchema)]
struct ShowQuery {
    /// The tool as `server:tool`, or by the name under which clients see it.
    name: String,
}

async fn show<V: Verbs>(State(verbs): State<V>, Params(query): Params<ShowQuery>) -> Answer {
    ok(&verbs.management().tool(&query.name)?)
}
