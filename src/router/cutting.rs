//! Which results are cut, for whom, and of what they are: those of calls by name on endpoints of many servers, where `read_cache` can
//! read on. An endpoint of one server is that server as it is, operators read files, and scripts keep what they call for.

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

/// The tool that reads on.
const READS_ON: &str = "read_cache";

/// Built-in tools that bring results of others, with what becomes of structured content there. No result of the rest is ever cut: they
/// have limits of their own.
const BRING_RESULTS: [(&str, StructuredContent); 6] = [
    ("call_tool", StructuredContent::LeftOutIfSame),
    ("call_tool_destructive", StructuredContent::LeftOutIfSame),
    ("call_tool_read", StructuredContent::LeftOutIfSame),
    ("call_tool_write", StructuredContent::LeftOutIfSame),
    ("code_execution", StructuredContent::OfScript),
    ("proxy", StructuredContent::LeftOutIfSame),
];

/// A call whose result is cut if it is too long.
pub(super) struct Cutting {
    limit: usize,
    reading: ReadingOn,
    noted: Guarded<Noted>,
}

/// What is known of the call by now.
#[derive(Default)]
struct Noted {
    /// What the result is of.
    sources: HashSet<TextSource>,
    brings: ResultSource,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum ResultSource {
    /// Nothing that is cut.
    #[default]
    Nothing,
    /// The result of a built-in tool.
    OfOurs(StructuredContent),
    /// The result of a server's tool that the client called by its name.
    OfServer,
    /// The state of a task, with the result of its tool when that is there.
    OfTask,
}

impl Cutting {
    /// A built-in tool answers. Whether its result is cut.
    pub(super) fn note_ours(&self, tool: &str) -> bool {
        let known = BRING_RESULTS.iter().find(|(name, _)| *name == tool);
        if let Some((_, structured)) = known {
            self.noted.lock().brings = ResultSource::OfOurs(*structured);
        }
        known.is_some()
    }

    /// The result is of this, maybe among others.
    pub(super) fn note_source(&self, server: &str, target: Target<'_>) {
        let source = TextSource {
            server: server.into(),
            target: target.into_owned(),
        };
        self.noted.lock().sources.insert(source);
    }

    /// Every character takes a byte at least.
    fn may_concern(&self, result: &Raw) -> bool {
        result.as_bytes().len() > self.limit
    }

    fn brings(&self, what: ResultSource) {
        self.noted.lock().brings = what;
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

    /// What was called by its name has brought this.
    pub(super) fn note_offered(&self, cutting: &Cutting, admitted: &Admitted, result: &Raw) {
        if !cutting.may_concern(result) {
            return;
        }
        let server = admitted.server();
        match admitted.target().thing() {
            Thing::Tool(tool) => {
                cutting.note_source(server.as_str(), Target::tool(tool));
                cutting.brings(ResultSource::OfServer);
            }
            Thing::Task(id) => {
                if let Some(tool) = self.0.tasks.tool_of(id, server) {
                    cutting.note_source(server.as_str(), Target::tool(&tool));
                    cutting.brings(ResultSource::OfTask);
                }
            }
            Thing::Prompt(_) | Thing::Resource(_) | Thing::Nothing => (),
        }
    }

    /// The same answer, with no more text than allowed.
    pub(super) async fn cut(
        &self,
        caller: &Caller,
        answered: Result<Reply, RequestError>,
        cutting: Cutting,
    ) -> Result<Reply, RequestError> {
        let noted = std::mem::take(&mut *cutting.noted.lock());
        // What `proxy` says of its own, lists and definitions, is one piece of JSON.
        let is_own_answer = noted.brings == ResultSource::OfOurs(StructuredContent::LeftOutIfSame)
            && noted.sources.is_empty();
        if noted.brings == ResultSource::Nothing || is_own_answer {
            return answered;
        }
        let (is_own, result) = match answered {
            Ok(Reply::Passed(Outcome::Result(result))) => (false, result),
            Ok(Reply::Own(result)) => (true, result),
            other => return other,
        };
        let result = if cutting.may_concern(&result) {
            let order = CutOrder {
                limit: cutting.limit,
                structured: self.structured_content_of(&noted),
                reading: cutting.reading,
            };
            self.cut_result(caller, result, order, noted).await
        } else {
            result
        };
        Ok(if is_own {
            Reply::Own(result)
        } else {
            Reply::Passed(Outcome::Result(result))
        })
    }

    async fn cut_result(&self, caller: &Caller, result: Raw, order: CutOrder, noted: Noted) -> Raw {
        let large_results = &self.0.large_results;
        let sources = noted.sources.into_iter().collect();
        if noted.brings != ResultSource::OfTask {
            return large_results.cut(result, order, caller, sources).await;
        }
        let Some(inner) = result.get("result") else {
            return result;
        };
        let cut = large_results.cut(inner, order, caller, sources).await;
        splice(&result, &[("result", Edit::Set(cut))]).unwrap_or(result)
    }

    /// A client that was shown a schema holds results against it.
    fn structured_content_of(&self, noted: &Noted) -> StructuredContent {
        if let ResultSource::OfOurs(structured) = noted.brings {
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
