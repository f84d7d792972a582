//! Reads the lists of a connected server, page by page to the end. Every definition is kept as it came; tools that cannot be called over
//! this link are left out.

use std::{collections::HashSet, fmt, time::Duration};

use super::{
    ConnectError, error_step, faulty_step,
    own_requests::{self, ServerError},
};
use crate::{
    catalog::Listing,
    config::ServerEntry,
    failure::NextStep,
    link::{Link, LinkError},
    runtime::sync::Guarded,
    text::names::ServerName,
    wire::{Outcome, Raw, Revision, RpcError, header_params, method, result_type},
};

/// How long one list may take. They are read at the same time.
const LISTING: Duration = Duration::from_secs(30);

/// Limit: pages of one list. A server that never comes to an end is cut here.
const MAX_PAGES: usize = 1_000;

/// Limit: definitions of a server, over all its lists.
const MAX_ITEMS: usize = 20_000;

/// Limit: bytes of all lists of a server over all their pages. What is kept of them takes several times as much.
const MAX_BYTES: usize = 16 << 20;

/// What a server listed.
pub(in crate::upstream) struct ReadLists {
    pub(in crate::upstream) listing: Listing,
    /// Why lists are empty that could not be read, or not whole. An unreadable one is never that of the tools: without them nothing is listed.
    pub(in crate::upstream) failed: Vec<ListError>,
}

/// Why a list could not be read, or not whole.
#[derive(Debug, Clone)]
pub(in crate::upstream) struct ListError {
    /// The requested list.
    method: &'static str,
    problem: ListProblem,
}

#[derive(Debug, Clone)]
enum ListProblem {
    /// The connection failed.
    Link(LinkError),
    /// The server answered with an error.
    Refused(ServerError),
    /// It lists more than is taken, or without end: this was reached.
    Cut(String),
    /// The list had no end in time.
    Slow,
    /// The server answered with a result type that this revision does not have.
    Unusable(String),
    /// The value under this key is no list.
    NoList(&'static str),
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let method = self.method;
        match &self.problem {
            ListProblem::Link(error) => write!(f, "{method}: {error}"),
            ListProblem::Refused(error) => write!(f, "the server refused {method}: {error}"),
            ListProblem::Cut(limit) => {
                write!(
                    f,
                    "{method} was cut after {limit}: it is longer, or endless"
                )
            }
            ListProblem::Slow => write!(f, "no answer to {method} within {} s", LISTING.as_secs()),
            ListProblem::Unusable(kind) => {
                write!(f, "the answer to {method} has the result type {kind:?}")
            }
            ListProblem::NoList(key) => {
                write!(f, "the answer to {method} has no list under {key:?}")
            }
        }
    }
}

impl ListError {
    /// What a client may read: nothing in the server's own words.
    pub(in crate::upstream) fn outside(&self) -> String {
        let method = self.method;
        match &self.problem {
            ListProblem::Link(error) => format!("{method}: {}", error.outside()),
            ListProblem::Refused(error) => format!("it refused {method} with {}", error.outside()),
            ListProblem::Slow | ListProblem::Cut(_) => self.to_string(),
            ListProblem::Unusable(_) | ListProblem::NoList(_) => {
                format!("its answer to {method} cannot be used")
            }
        }
    }

    /// What the operator can do.
    pub(in crate::upstream) fn step(&self, entry: &ServerEntry) -> NextStep {
        match &self.problem {
            ListProblem::Link(error) if !matches!(error, LinkError::Broken(_)) => {
                super::step(entry, error)
            }
            ListProblem::Refused(error) => error_step(entry, error),
            _ => faulty_step(),
        }
    }

    fn is_cut(&self) -> bool {
        matches!(self.problem, ListProblem::Cut(_))
    }
}

impl ReadLists {
    /// The lists, with those `known` before in place of those that could not be read; and why these could not be read.
    pub(in crate::upstream) fn or_known(
        mut self,
        known: Option<&Listing>,
        step: impl Fn(&ListError) -> NextStep,
    ) -> (Listing, Option<ConnectError>) {
        let listing = &mut self.listing;
        for failed in &self.failed {
            let Some(known) = known else { break };
            match failed.method {
                // What was read of it counts.
                _ if failed.is_cut() => (),
                method::PROMPTS_LIST => listing.prompts.clone_from(&known.prompts),
                method::RESOURCES_LIST => listing.resources.clone_from(&known.resources),
                method::TEMPLATES_LIST => listing.templates.clone_from(&known.templates),
                _ => (),
            }
        }
        let why = |each: &dyn Fn(&ListError) -> String| {
            let reasons: Vec<String> = self.failed.iter().map(each).collect();
            let what = if self.failed.iter().all(ListError::is_cut) {
                "it works, but some definitions are missing"
            } else {
                "it works, but some lists are unreadable"
            };
            format!("{what}: {}", reasons.join("; "))
        };
        let error = self.failed.first().map(|first| ConnectError {
            outside: why(&ListError::outside).into(),
            ..ConnectError::plain(&why(&ToString::to_string), step(first))
        });
        (self.listing, error)
    }
}

/// Reads every list that the server's capabilities promise.
pub(in crate::upstream) async fn read(
    link: &Link,
    server: &ServerName,
    initialize: Raw,
    revision: Revision,
) -> Result<ReadLists, ListError> {
    let has = |capability| has_list(&initialize, capability);
    let reader = ListReader {
        link,
        revision,
        taken: Guarded::new(Taken::default()),
    };
    // Without the tools nothing is listed; each of the other lists may fail alone.
    let others = async {
        Ok::<_, ListError>(tokio::join!(
            reader.list_if(has("prompts"), method::PROMPTS_LIST, "prompts"),
            reader.list_if(has("resources"), method::RESOURCES_LIST, "resources"),
            reader.list_if(
                has("resources"),
                method::TEMPLATES_LIST,
                "resourceTemplates"
            ),
        ))
    };
    let tools = reader.list_if(has("tools"), method::TOOLS_LIST, "tools");
    let (mut tools, (prompts, resources, templates)) = tokio::try_join!(tools, others)?;
    let mut failed = Vec::new();
    let mut or_none = |list: Result<Vec<Raw>, ListError>| {
        list.unwrap_or_else(|error| {
            failed.push(error);
            Vec::new()
        })
    };
    let (prompts, resources, templates) =
        (or_none(prompts), or_none(resources), or_none(templates));
    if link.has_headers() && revision.headers_repeat_params() {
        tools.retain(|tool| can_be_called_with_headers(server, tool));
    }
    let listing = Listing {
        initialize: initialize.detached(),
        revision,
        tools,
        prompts,
        resources,
        templates,
    };
    failed.append(&mut reader.taken.lock().cut);
    Ok(ReadLists { listing, failed })
}

/// A tool whose arguments cannot be put into headers as it wants them must not be offered (server/tools, "x-mcp-header").
fn can_be_called_with_headers(server: &ServerName, tool: &Raw) -> bool {
    let schema = tool.get("inputSchema").unwrap_or_else(Raw::empty_object);
    let Err(why) = header_params::read(&schema) else {
        return true;
    };
    let name = tool.get("name").and_then(|name| name.string());
    tracing::warn!(
        %server,
        tool = name.unwrap_or_default(),
        why,
        "definition left out"
    );
    false
}

/// The list of a page. Some programs write null, or nothing, for one without elements.
fn list_in(page: &Raw, key: &str) -> Option<Raw> {
    match page.get(key) {
        Some(list) if list.as_bytes().starts_with(b"[") => Some(list),
        Some(other) if !other.is_null() => None,
        _ => Some(Raw::array(&[])),
    }
}

/// Whether a server declares, in its result of `initialize` or `server/discover`, that it has such a list.
pub(super) fn has_list(description: &Raw, capability: &str) -> bool {
    let capabilities = description.get("capabilities");
    let declared = capabilities.and_then(|all| all.get(capability));
    declared.is_some_and(|value| !value.is_null())
}

struct ListReader<'a> {
    link: &'a Link,
    revision: Revision,
    taken: Guarded<Taken>,
}

/// What was taken of all lists of a server so far.
#[derive(Default)]
struct Taken {
    items: usize,
    bytes: usize,
    cut: Vec<ListError>,
}

impl Taken {
    /// Counts a page. Gives how many of its definitions may be taken, and the limit that is reached, if one is.
    fn count(&mut self, items: usize, bytes: usize) -> (usize, Option<String>) {
        self.bytes += bytes;
        if self.bytes > MAX_BYTES {
            let limit = format!("{} MiB over all lists of the server", MAX_BYTES >> 20);
            return (0, Some(limit));
        }
        let room = MAX_ITEMS - self.items;
        self.items += items.min(room);
        let limit =
            (items > room).then(|| format!("{MAX_ITEMS} definitions over all lists of the server"));
        (items.min(room), limit)
    }
}

impl ListReader<'_> {
    async fn list_if(
        &self,
        promised: bool,
        method: &'static str,
        key: &'static str,
    ) -> Result<Vec<Raw>, ListError> {
        if !promised {
            return Ok(Vec::new());
        }
        let reading = tokio::time::timeout(LISTING, self.list(method, key));
        let read = reading.await.unwrap_or(Err(ListProblem::Slow));
        read.map_err(|problem| ListError { method, problem })
    }

    async fn list(&self, method: &'static str, key: &'static str) -> Result<Vec<Raw>, ListProblem> {
        let mut items = Vec::new();
        let mut cursor: Option<String> = None;
        let mut seen = HashSet::new();
        let mut limit = format!("{MAX_PAGES} pages");
        for _ in 0..MAX_PAGES {
            let page = match self.page(method, cursor.as_deref()).await {
                Ok(page) => page,
                // Some servers promise resources and have no templates, or the other way round.
                Err(ListProblem::Refused(ServerError {
                    code: Some(RpcError::METHOD_NOT_FOUND),
                    ..
                })) => return Ok(items),
                Err(error) => return Err(error),
            };
            let found = list_in(&page, key).ok_or(ListProblem::NoList(key))?;
            let length = page.as_bytes().len();
            let (room, reached) = self.taken.lock().count(found.elements().count(), length);
            // Detached: the catalog outlives the frame.
            items.extend(found.elements().take(room).map(|item| item.detached()));
            if let Some(reached) = reached {
                limit = reached;
                break;
            }
            // Some servers write an empty text for none.
            let next = page.get("nextCursor").and_then(|next| next.string());
            let next = next.filter(|next| !next.is_empty());
            match next {
                None => return Ok(items),
                Some(next) if seen.insert(next.clone()) => cursor = Some(next),
                Some(_) => {
                    "a repeated page".clone_into(&mut limit);
                    break;
                }
            }
        }
        let problem = ListProblem::Cut(limit);
        self.taken.lock().cut.push(ListError { method, problem });
        Ok(items)
    }

    async fn page(&self, method: &str, cursor: Option<&str>) -> Result<Raw, ListProblem> {
        let cursor = cursor.map(|cursor| ("cursor", Raw::author(&cursor)));
        let params = own_requests::params(self.revision, cursor.as_slice());
        let answer = own_requests::ask(self.link, method, &params).await;
        match answer.map_err(ListProblem::Link)? {
            Outcome::Result(result) if !self.revision.has_result_types() => Ok(result),
            Outcome::Result(result) => match result_type::of(&result) {
                Some(kind) if kind != result_type::COMPLETE => Err(ListProblem::Unusable(kind)),
                _ => Ok(result),
            },
            Outcome::Error(error) => {
                let refusal = ServerError::read(&error, &self.link.secrets());
                Err(ListProblem::Refused(refusal))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        text::{Quoted, Secrets},
        upstream::connect,
    };

    #[test]
    fn a_list_that_could_not_be_read_is_as_it_was_known() {
        let of = |tool: &str, prompts: &[&str], resources: &[&str]| {
            let raws = |texts: &[&str]| texts.iter().map(Raw::author).collect::<Vec<_>>();
            Listing {
                initialize: Raw::empty_object(),
                revision: Revision::NEWEST_LEGACY,
                tools: raws(&[tool]),
                prompts: raws(prompts),
                resources: raws(resources),
                templates: Vec::new(),
            }
        };
        let known = of("old", &["kept"], &["gone"]);
        let read = |failed: Vec<ListError>| ReadLists {
            listing: of("new", &[], &[]),
            failed,
        };
        let of_prompts = |problem| ListError {
            method: method::PROMPTS_LIST,
            problem,
        };
        let slow = of_prompts(ListProblem::Slow);
        let wait = |_: &ListError| NextStep::Wait;
        let (listing, error) = read(vec![slow.clone()]).or_known(Some(&known), wait);
        assert_eq!(listing, of("new", &["kept"], &[]));
        let error = error.expect("a reason");
        assert!(
            error.reason.contains("no answer to prompts/list"),
            "{error:?}"
        );
        assert_eq!(error.step, NextStep::Wait);
        let (listing, _) = read(vec![slow]).or_known(None, wait);
        assert_eq!(listing, of("new", &[], &[]));
        let (_, error) = read(Vec::new()).or_known(Some(&known), wait);
        assert_eq!(error, None);
        let cut = of_prompts(ListProblem::Cut("7 pages".to_owned()));
        let (listing, error) = read(vec![cut]).or_known(Some(&known), wait);
        assert_eq!(listing, of("new", &[], &[]), "what was read counts");
        let reason = error.expect("a reason").reason;
        assert!(
            reason.contains("prompts/list was cut after 7 pages"),
            "{reason}"
        );
    }

    #[test]
    fn only_a_list_against_the_protocol_is_for_the_authors() {
        let entry = connect::tests::remote();
        let message = Some(Quoted::of(b"db down", &Secrets::default()));
        for (problem, expected) in [
            (ListProblem::NoList("tools"), "authors"),
            (
                ListProblem::Link(LinkError::Broken(String::new())),
                "authors",
            ),
            (
                ListProblem::Refused(ServerError {
                    code: None,
                    message,
                }),
                "operator",
            ),
            (
                ListProblem::Link(LinkError::NotDelivered(String::new())),
                "start that server",
            ),
        ] {
            let method = method::TOOLS_LIST;
            let step = ListError { method, problem }.step(&entry).at_terminal("s");
            assert!(step.contains(expected), "{step}");
        }
    }

    #[test]
    fn what_is_no_list_is_not_taken_for_an_empty_one() {
        let count = |page: &serde_json::Value| {
            let list = list_in(&Raw::author(page), "tools");
            list.map(|list| list.elements().count())
        };
        for (page, expected) in [
            (serde_json::json!({"tools": [{}, {}]}), Some(2)),
            (serde_json::json!({"tools": []}), Some(0)),
            (serde_json::json!({"tools": null}), Some(0)),
            (serde_json::json!({}), Some(0)),
            (serde_json::json!({"tools": "no"}), None),
            (serde_json::json!({"tools": {}}), None),
            (serde_json::json!({"tools": 7}), None),
        ] {
            assert_eq!(count(&page), expected, "{page}");
        }
    }

    #[test]
    fn all_lists_of_a_server_share_one_bound() {
        let mut taken = Taken::default();
        assert_eq!(taken.count(MAX_ITEMS - 1, 10), (MAX_ITEMS - 1, None));
        assert_eq!(taken.count(1, 10), (1, None));
        let (room, reached) = taken.count(5, 10);
        assert_eq!(room, 0);
        assert!(reached.is_some_and(|limit| limit.contains("20000 definitions")));
        let mut taken = Taken::default();
        assert_eq!(taken.count(1, MAX_BYTES), (1, None));
        let (room, reached) = taken.count(1, 1);
        assert_eq!(room, 0);
        assert!(reached.is_some_and(|limit| limit.contains("16 MiB")));
    }
}
