//! Reads the lists of a connected server on the raw lane, page by page to the end, so that every definition stays as it came. What
//! cannot be called over this link is left out.

use std::collections::HashSet;

use super::own_requests;
use crate::{
    catalog::Listing,
    link::{Link, LinkError, MAX_FRAME},
    wire::{Outcome, Raw, Revision, RpcError, header_params, method, result_type},
};

/// Limit: pages of one list. A server that never comes to an end is cut here.
const MAX_PAGES: usize = 1_000;

/// Limit: definitions in one list.
const MAX_ITEMS: usize = 100_000;

/// Limit: bytes of one list over all its pages.
const MAX_BYTES: usize = MAX_FRAME;

/// Why a server could not be listed.
#[derive(Debug, Clone, thiserror::Error)]
pub(in crate::upstream) enum ListError {
    /// The connection failed.
    #[error("{method}: {source}")]
    Link {
        /// The list that was asked for.
        method: &'static str,
        /// What happened.
        source: LinkError,
    },
    /// The server answered with an error.
    #[error("the server answered {method} with an error: {message}")]
    Refused {
        /// The list that was asked for.
        method: &'static str,
        /// The error's code.
        code: i64,
        /// The error's message.
        message: String,
    },
    /// The server answered with a result that this revision does not have.
    #[error("the server answered {method} with the result type {kind:?}")]
    Unusable {
        /// The list that was asked for.
        method: &'static str,
        /// What it says it is.
        kind: String,
    },
}

impl ListError {
    /// What a client may read: nothing in the server's own words.
    pub(in crate::upstream) fn outside(&self) -> String {
        match self {
            Self::Link { method, source } => format!("{method}: {}", source.outside()),
            Self::Refused { method, .. } => format!("it answered {method} with an error"),
            Self::Unusable { method, .. } => format!("its answer to {method} is unusable"),
        }
    }
}

/// Reads every list that the server's capabilities promise.
pub(in crate::upstream) async fn read(
    link: &Link,
    initialize: Raw,
    revision: Revision,
) -> Result<Listing, ListError> {
    let capabilities = initialize
        .get("capabilities")
        .unwrap_or_else(Raw::empty_object);
    let has = |key| capabilities.get(key).is_some_and(|value| !value.is_null());
    let reader = ListReader { link, revision };
    let (mut tools, prompts, resources, templates) = tokio::try_join!(
        reader.list_if(has("tools"), method::TOOLS_LIST, "tools"),
        reader.list_if(has("prompts"), method::PROMPTS_LIST, "prompts"),
        reader.list_if(has("resources"), method::RESOURCES_LIST, "resources"),
        reader.list_if(
            has("resources"),
            method::TEMPLATES_LIST,
            "resourceTemplates"
        ),
    )?;
    if link.has_headers() && revision.headers_repeat_params() {
        tools.retain(can_be_called_with_headers);
    }
    Ok(Listing {
        initialize: initialize.detached(),
        revision,
        tools,
        prompts,
        resources,
        templates,
    })
}

/// A tool whose arguments cannot be put into headers as it wants them must not be offered (server/tools, "x-mcp-header").
fn can_be_called_with_headers(tool: &Raw) -> bool {
    let schema = tool.get("inputSchema").unwrap_or_else(Raw::empty_object);
    let Err(why) = header_params::read(&schema) else {
        return true;
    };
    let name = tool.get("name").and_then(|name| name.string());
    tracing::warn!(
        tool = name.unwrap_or_default(),
        why,
        "a definition was left out"
    );
    false
}

#[derive(serde::Deserialize)]
struct ErrorView {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
}

struct ListReader<'a> {
    link: &'a Link,
    revision: Revision,
}

impl ListReader<'_> {
    async fn list_if(
        &self,
        promised: bool,
        method: &'static str,
        key: &str,
    ) -> Result<Vec<Raw>, ListError> {
        if promised {
            self.list(method, key).await
        } else {
            Ok(Vec::new())
        }
    }

    async fn list(&self, method: &'static str, key: &str) -> Result<Vec<Raw>, ListError> {
        let mut items = Vec::new();
        let mut cursor: Option<String> = None;
        let (mut seen, mut bytes) = (HashSet::new(), 0);
        for _ in 0..MAX_PAGES {
            let page = match self.page(method, cursor.as_deref()).await {
                Ok(page) => page,
                // Some servers promise resources and have no templates, or the other way round.
                Err(ListError::Refused {
                    code: RpcError::METHOD_NOT_FOUND,
                    ..
                }) => return Ok(items),
                Err(error) => return Err(error),
            };
            bytes += page.as_bytes().len();
            let found = page.get(key).unwrap_or_else(Raw::empty_object);
            // Detached: the catalog outlives the frame.
            items.extend(
                found
                    .elements()
                    .take(MAX_ITEMS - items.len())
                    .map(|item| item.detached()),
            );
            let next = page.get("nextCursor").and_then(|next| next.string());
            match next {
                None => return Ok(items),
                Some(next)
                    if items.len() < MAX_ITEMS
                        && bytes < MAX_BYTES
                        && seen.insert(next.clone()) =>
                {
                    cursor = Some(next);
                }
                Some(_) => break,
            }
        }
        tracing::warn!(
            method,
            items = items.len(),
            "the server's list does not come to an end; it was cut"
        );
        Ok(items)
    }

    async fn page(&self, method: &'static str, cursor: Option<&str>) -> Result<Raw, ListError> {
        let cursor = cursor.map(|cursor| ("cursor", Raw::author(&cursor)));
        let params = own_requests::params(self.revision, cursor.as_slice());
        let asked = own_requests::ask(self.link, method, &params).await;
        match asked.map_err(|source| ListError::Link { method, source })? {
            Outcome::Result(result) if !self.revision.has_result_types() => Ok(result),
            Outcome::Result(result) => match result_type::of(&result) {
                Some(kind) if kind != result_type::COMPLETE => {
                    Err(ListError::Unusable { method, kind })
                }
                _ => Ok(result),
            },
            Outcome::Error(error) => {
                let unreadable = |_| ErrorView {
                    code: 0,
                    message: "an unreadable error".to_owned(),
                };
                let ErrorView { code, message } = error.read().unwrap_or_else(unreadable);
                Err(ListError::Refused {
                    method,
                    code,
                    message,
                })
            }
        }
    }
}
