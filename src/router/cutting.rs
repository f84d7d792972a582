//! Decides which results are cut: those of tool calls and tasks on endpoints of many servers, for callers who may use `read_cache`. Notes the
//! sources of a result, which its reader must still be allowed to use. Results for endpoints of one server, operators and scripts stay whole.

use std::collections::HashSet;

use super::{Reply, RequestError, Router, View};
use crate::{
    access::Caller,
    config::RoutingMode,
    gate::Admitted,
    router::large_results::{CutOrder, ReadingOn, StructuredContent, TextSource},
    runtime::sync::Guarded,
    wire::{Edit, Outcome, Raw, Target, Thing, method, splice},
};

/// The tool that reads on in a cut result.
const READS_ON: &str = "read_cache";

/// Built-in tools that give results of other tools, and what becomes of structured content there. Results of all others have limits of their
/// own and are never cut.
const BRING_RESULTS: [(&str, StructuredContent); 6] = [
    ("call_tool", StructuredContent::LeftOutIfSame),
    ("call_tool_destructive", StructuredContent::LeftOutIfSame),
    ("call_tool_read", StructuredContent::LeftOutIfSame),
    ("call_tool_write", StructuredContent::LeftOutIfSame),
    ("code_execution", StructuredContent::OfScript),
    ("proxy", StructuredContent::LeftOutIfSame),
];

/// The notes on a call whose result is cut if it is too long.
pub(super) struct Cutting {
    limit: usize,
    reading: ReadingOn,
    noted: Guarded<Noted>,
}

#[derive(Default)]
struct Noted {
    /// The things of servers from which the result comes.
    sources: HashSet<TextSource>,
    kind: ResultSource,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum ResultSource {
    /// None that is cut.
    #[default]
    Nothing,
    /// A built-in tool.
    OfOurs(StructuredContent),
    /// A server's tool, which the client called by its offered name.
    OfServer,
    /// A task, whose state contains the result of its tool once that is there.
    OfTask,
}

impl Cutting {
    /// Notes that a built-in tool answers; `None` if its results are never cut.
    pub(super) fn note_ours(&self, tool: &str) -> Option<&Self> {
        let (_, structured) = BRING_RESULTS.iter().find(|(name, _)| *name == tool)?;
        self.note_kind(ResultSource::OfOurs(*structured));
        Some(self)
    }

    /// Notes a thing of a server from which the result comes.
    pub(super) fn note_source(&self, server: &str, target: Target<'_>) {
        let source = TextSource {
            server: server.into(),
            target: target.into_owned(),
        };
        self.noted.lock().sources.insert(source);
    }

    /// Whether a result may have more characters than the limit: each takes a byte at least.
    fn may_concern(&self, result: &Raw) -> bool {
        result.as_bytes().len() > self.limit
    }

    fn note_kind(&self, source: ResultSource) {
        self.noted.lock().kind = source;
    }
}

impl Router {
    /// The notes for a call, if its result may be cut: there is a limit, and the caller can read on.
    pub(super) fn cutting(&self, caller: &Caller, view: &View, method: &str) -> Option<Cutting> {
        let settings = self.0.settings.borrow();
        let limit = settings.tool_response_limit;
        if limit == 0 || !matches!(method, method::TOOLS_CALL | method::TASKS_GET) {
            return None;
        }
        let reading = match view.mode(&settings) {
            RoutingMode::Proxy => ReadingOn::ThroughProxy,
            _ => ReadingOn::ByItsName,
        };
        drop(settings);
        let can_read_on = self.0.gate.admit_built_in(caller, READS_ON).is_ok();
        can_read_on.then(|| Cutting {
            limit,
            reading,
            noted: Guarded::default(),
        })
    }

    /// Notes the source of a result that a request for an offered thing gave.
    pub(super) fn note_offered(&self, cutting: &Cutting, admitted: &Admitted, result: &Raw) {
        if !cutting.may_concern(result) {
            return;
        }
        let server = admitted.server();
        match admitted.target().thing() {
            Thing::Tool(tool) => {
                cutting.note_source(server.as_str(), Target::tool(tool));
                cutting.note_kind(ResultSource::OfServer);
            }
            Thing::Task(id) => {
                if let Some(tool) = self.0.tasks.tool_of(id, server) {
                    cutting.note_source(server.as_str(), Target::tool(&tool));
                    cutting.note_kind(ResultSource::OfTask);
                }
            }
            Thing::Prompt(_) | Thing::Resource(_) | Thing::Nothing => (),
        }
    }

    /// The answer with its texts cut to the limit.
    pub(super) async fn cut(
        &self,
        caller: &Caller,
        answered: Result<Reply, RequestError>,
        cutting: Cutting,
    ) -> Result<Reply, RequestError> {
        let noted = std::mem::take(&mut *cutting.noted.lock());
        // The lists and definitions of `proxy` have no source: they are one piece of JSON.
        let is_own_answer = noted.kind == ResultSource::OfOurs(StructuredContent::LeftOutIfSame)
            && noted.sources.is_empty();
        if noted.kind == ResultSource::Nothing || is_own_answer {
            return answered;
        }
        let (reply, result): (fn(Raw) -> Reply, Raw) = match answered {
            Ok(Reply::Passed(Outcome::Result(result))) => (Reply::result, result),
            Ok(Reply::Own(result)) => (Reply::Own, result),
            other => return other,
        };
        if !cutting.may_concern(&result) {
            return Ok(reply(result));
        }
        let order = CutOrder {
            limit: cutting.limit,
            structured: self.structured_content_of(&noted),
            reading: cutting.reading,
        };
        Ok(reply(self.cut_result(caller, result, order, noted).await))
    }

    async fn cut_result(&self, caller: &Caller, result: Raw, order: CutOrder, noted: Noted) -> Raw {
        let large_results = &self.0.large_results;
        let sources = noted.sources.into_iter().collect();
        if noted.kind != ResultSource::OfTask {
            return large_results.cut(result, order, caller, sources).await;
        }
        let Some(inner) = result.get("result") else {
            return result;
        };
        let cut = large_results.cut(inner, order, caller, sources).await;
        splice(&result, &[("result", Edit::Set(cut))]).unwrap_or(result)
    }

    /// What becomes of structured content: a client that was shown a schema checks results against it.
    fn structured_content_of(&self, noted: &Noted) -> StructuredContent {
        if let ResultSource::OfOurs(structured) = noted.kind {
            return structured;
        }
        let snapshot = self.0.catalog.glance();
        let has_schema = |source: &TextSource| {
            let Thing::Tool(tool) = source.target.thing() else {
                return false;
            };
            let known = snapshot.tool(&source.server, tool);
            known.is_none_or(|known| known.definition.get("outputSchema").is_some())
        };
        if noted.sources.iter().any(has_schema) {
            StructuredContent::Kept
        } else {
            StructuredContent::LeftOutIfSame
        }
    }
}
