//! The tools of our own. Each stands in a file of its own and in one line of [`ALL`]; every name answers in every mode, whatever
//! the mode lists.

mod call_tools;
mod describe_tool;
mod retrieve_tools;

use futures_util::future::BoxFuture;
use serde::Serialize;

use super::{Reply, RequestError, Router};
use crate::{
    call_context::CallContext,
    config::Settings,
    error_code::{ErrorCode, Failure},
    wire::Raw,
};

/// Every built-in tool.
const ALL: &[BuiltIn] = &[
    retrieve_tools::TOOL,
    describe_tool::TOOL,
    call_tools::READ,
    call_tools::WRITE,
    call_tools::DESTRUCTIVE,
    call_tools::ANY,
];

/// A tool of our own.
pub(super) struct BuiltIn {
    /// Its name. Has no `__`, so no upstream's tool is offered under it.
    pub(super) name: &'static str,
    /// Its definition; limits in it are the configured ones.
    define: fn(&Settings) -> serde_json::Value,
    run: for<'a> fn(Call<'a>) -> BoxFuture<'a, Result<Reply, RequestError>>,
}

/// One call of a built-in tool.
pub(super) struct Call<'a> {
    pub(super) router: &'a Router,
    pub(super) context: &'a CallContext,
    /// All params, `_meta` included.
    pub(super) params: &'a Raw,
    /// The arguments; an empty object if there are none.
    pub(super) arguments: Raw,
}

/// The built-in tool of this name.
pub(super) fn find(name: &str) -> Option<&'static BuiltIn> {
    ALL.iter().find(|tool| tool.name == name)
}

/// The definitions that the mode `retrieve_tools` lists.
pub(super) fn listed(settings: &Settings) -> Vec<Raw> {
    let is_listed =
        |tool: &&BuiltIn| tool.name != call_tools::ANY.name || call_tools::lists_any(settings);
    ALL.iter()
        .filter(is_listed)
        .map(|tool| tool.definition(settings))
        .collect()
}

/// Every built-in name.
pub(super) fn names<'a>() -> impl Iterator<Item = &'a str> {
    ALL.iter().map(|tool| tool.name)
}

impl BuiltIn {
    /// The definition as clients see it.
    pub(super) fn definition(&self, settings: &Settings) -> Raw {
        let mut definition = (self.define)(settings);
        // Clients that load tools on demand must not have to search for the search.
        definition["_meta"]["anthropic/alwaysLoad"] = true.into();
        Raw::author(&definition)
    }

    /// Runs one call.
    pub(super) async fn run(
        &self,
        router: &Router,
        context: &CallContext,
        params: &Raw,
    ) -> Result<Reply, RequestError> {
        let arguments = params
            .get("arguments")
            .filter(|arguments| !arguments.is_null());
        let call = Call {
            router,
            context,
            params,
            arguments: arguments.unwrap_or_else(Raw::empty_object),
        };
        (self.run)(call).await
    }
}

/// The failure of a call whose arguments are wrong.
fn wrong_arguments(tool: &str, why: impl std::fmt::Display) -> RequestError {
    let error = format!("{tool}: {why}");
    Failure::new(
        ErrorCode::InvalidArguments,
        error,
        "Correct the arguments and call again; the tool's inputSchema names them.",
    )
    .into()
}

/// An argument that is a text; `None` if it is absent or null. The error names it.
fn string(arguments: &Raw, key: &str) -> Result<Option<String>, String> {
    match arguments.get(key).filter(|value| !value.is_null()) {
        None => Ok(None),
        Some(value) => value
            .string()
            .map(Some)
            .ok_or_else(|| format!("`{key}` is not a string")),
    }
}

/// The same for one that must be there.
fn required(arguments: &Raw, key: &str) -> Result<String, String> {
    string(arguments, key)?.ok_or_else(|| format!("`{key}` is missing"))
}

/// An argument that is a count. Models write numbers as texts, too.
fn count(arguments: &Raw, key: &str) -> Result<Option<usize>, String> {
    let Some(value) = arguments.get(key).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let text = value.string().unwrap_or_else(|| value.as_str().to_owned());
    let text = text.trim().trim_end_matches(".0");
    text.parse()
        .map(Some)
        .map_err(|_| format!("`{key}` is not a whole number"))
}

/// An argument that is true or false; false if it is absent.
fn flag(arguments: &Raw, key: &str) -> Result<bool, String> {
    let value = arguments.get(key).filter(|value| !value.is_null());
    match value.as_ref().map(Raw::as_str) {
        None | Some("false" | "\"false\"") => Ok(false),
        Some("true" | "\"true\"") => Ok(true),
        Some(_) => Err(format!("`{key}` is not true or false")),
    }
}

/// A result with an output schema: the JSON as one text block, and as it is.
fn structured(answer: &Raw) -> Reply {
    #[derive(Serialize)]
    struct Text<'a> {
        r#type: &'static str,
        text: &'a str,
    }
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Structured<'a> {
        content: [Text<'a>; 1],
        structured_content: &'a Raw,
    }
    Reply::Own(Raw::author(&Structured {
        content: [Text {
            r#type: "text",
            text: answer.as_str(),
        }],
        structured_content: answer,
    }))
}
