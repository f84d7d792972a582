//! The built-in tools: a file for each, and a line in [`ALL`]. Each can be called in every mode, also where it is not listed.

mod arguments;
mod call_arguments;
mod call_tools;
mod code_execution;
mod describe_tool;
mod proxy;
mod quarantine_security;
mod read_cache;
mod retrieve_tools;
mod upstream_servers;

use std::{collections::HashMap, sync::LazyLock};

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::Map;

pub use self::{
    arguments::{ToolRequest, passed_on},
    call_arguments::stated_intent,
};
use super::{Reply, RequestError, Router, cutting::Cutting, recording, things::Things};
use crate::{
    access::Caller,
    activity::CallBody,
    call_context::CallContext,
    config::Settings,
    failure::{ErrorCode, Failure, HintText, NextStep},
    gate::Moment,
    telemetry::log_context::LoggedWork,
    text::names::did_you_mean,
    wire::{Edit, Raw, Thing, method, splice},
};

/// Every built-in tool.
const ALL: &[BuiltIn] = &[
    retrieve_tools::TOOL,
    describe_tool::TOOL,
    call_tools::READ,
    call_tools::WRITE,
    call_tools::DESTRUCTIVE,
    call_tools::ANY,
    upstream_servers::TOOL,
    quarantine_security::TOOL,
    code_execution::TOOL,
    read_cache::TOOL,
    proxy::TOOL,
];

/// A built-in tool.
pub(super) struct BuiltIn {
    /// Its name. Has no `__`, so no server's tool is offered under it.
    pub(super) name: &'static str,
    /// Arguments that it accepts though its schema does not name them: other words for those of the schema. All others are refused.
    aliases: &'static [&'static str],
    /// Whether the mode `retrieve_tools` lists it.
    is_listed: fn(&Settings) -> bool,
    /// The JSON of an example, for the sender of wrong arguments like these.
    usage: fn(&Raw) -> &'static str,
    /// Its definition, with the configured limits.
    define: fn(&Settings) -> serde_json::Value,
    run: for<'a> fn(Call<'a>) -> BoxFuture<'a, Result<Reply, RequestError>>,
}

/// One call of a built-in tool, with all that the tool may use. Requests to servers go through [`Things`].
pub(super) struct Call<'a> {
    tool: &'static BuiltIn,
    things: Things<'a>,
    /// For its parts, and for calls of other built-in tools.
    router: &'a Router,
    cutting: Option<&'a Cutting>,
    context: &'a CallContext,
    /// All params, `_meta` included.
    params: &'a Raw,
    /// The arguments, each of them known and given once; an empty object if there are none.
    arguments: Raw,
}

impl Call<'_> {
    /// Settings and snapshot of this moment, as the client of this call sees them.
    fn now(&self) -> Moment {
        self.router.0.gate.now_for(&self.context.caller)
    }

    /// The failure of a call whose arguments are wrong.
    fn wrong(&self, why: impl std::fmt::Display) -> RequestError {
        self.tool.wrong(&self.arguments, why)
    }

    /// Calls another built-in tool, with the metadata of this call and a record under it.
    async fn call_another(
        &self,
        tool: &'static BuiltIn,
        arguments: Option<Raw>,
    ) -> Result<Reply, RequestError> {
        let inner = self.context.child(method::TOOLS_CALL);
        let body = CallBody::Arguments(arguments.as_ref());
        let mut record = self.router.begin(&inner, None, method::TOOLS_CALL, body);
        record.is_of(None, &Thing::Tool(tool.name.into()));
        let edits = [
            ("name", Edit::Set(Raw::author(&tool.name))),
            ("arguments", arguments.map_or(Edit::Remove, Edit::Set)),
        ];
        let calling = async {
            let gate = &self.router.0.gate;
            gate.admit_built_in(&inner.caller, tool.name)?;
            let params = splice(self.params, &edits).unwrap_or_else(|_| Raw::empty_object());
            tool.run(self.router, &inner, &params, self.cutting).await
        };
        let answered = calling.logged_in(inner.logged_as.clone()).await;
        recording::end(record, &answered);
        answered
    }
}

/// The built-in tool of this name.
pub(super) fn find(name: &str) -> Option<&'static BuiltIn> {
    ALL.iter().find(|tool| tool.name == name)
}

/// The failure where a server's tool was expected and a built-in one was named.
fn of_mcpproxy(name: &str) -> Option<Failure> {
    let name = find(name)?.name;
    let error = format!("{name:?} is a tool of mcpproxy itself");
    let hint = format!("Call {name} directly.");
    Some(Failure::not_run(ErrorCode::UnknownTool, error, hint))
}

/// The failure of an unknown tool of a server whose changes are allowed: for such a server the gate admits unknown tools.
fn unlisted(server: &str, tool: &str) -> Failure {
    let error = format!("the server {server:?} lists no tool {tool:?}");
    let hint = "Find its exact name: search for the tool, or list the tools.";
    let failure = Failure::for_agents(ErrorCode::UnknownTool, error, hint, NextStep::ShowTools);
    failure.of_server(server).of_tool(tool)
}

/// A failure whose suggestion is a whole name, `server:tool`.
fn with_whole_name(mut failure: Failure) -> Failure {
    if let (ErrorCode::UnknownTool, Some(server), Some(close)) =
        (failure.code, &failure.server, &failure.closest)
    {
        let name = format!("{server}:{close}");
        failure.hint = HintText::new(did_you_mean(&[&name])).not_run();
        failure.closest = Some(name.into());
    }
    failure
}

/// The definitions that the mode `retrieve_tools` lists, of those tools that the caller may use.
pub(super) fn listed(settings: &Settings, may_use: impl Fn(&str) -> bool) -> Vec<Raw> {
    let is_listed = |tool: &&BuiltIn| (tool.is_listed)(settings) && may_use(tool.name);
    let tools = ALL.iter().filter(is_listed);
    tools.map(|tool| tool.definition(settings)).collect()
}

/// The definitions that the mode `code_execution` lists for this caller.
pub(super) fn listed_for_scripts(now: &Moment, caller: &Caller) -> Vec<Raw> {
    let settings = now.settings();
    let may_use = |name: &str| now.rules().permits_built_in(caller, name);
    let with_tools = || code_execution::definition_with_tools(now, caller);
    let scripts = may_use(code_execution::TOOL.name).then(with_tools);
    let search = [retrieve_tools::TOOL, describe_tool::TOOL];
    let search = search.iter().filter(|tool| may_use(tool.name));
    scripts
        .into_iter()
        .chain(search.map(|tool| tool.definition(settings)))
        .chain(listed_to_read_on(settings, may_use))
        .collect()
}

/// The definition of `read_cache`, which every mode whose results may be cut lists.
pub(super) fn listed_to_read_on(
    settings: &Settings,
    may_use: impl Fn(&str) -> bool,
) -> Option<Raw> {
    let tool = &read_cache::TOOL;
    let is_listed = (tool.is_listed)(settings) && may_use(tool.name);
    is_listed.then(|| tool.definition(settings))
}

/// The definition that the mode `proxy` lists, if the caller may use it.
pub(super) fn listed_as_proxy(settings: &Settings, may_use: impl Fn(&str) -> bool) -> Option<Raw> {
    may_use(proxy::TOOL.name).then(|| proxy::TOOL.definition(settings))
}

/// Every built-in name.
pub(super) fn names<'a>() -> impl Iterator<Item = &'a str> {
    ALL.iter().map(|tool| tool.name)
}

impl BuiltIn {
    /// The definition as clients see it.
    pub(super) fn definition(&self, settings: &Settings) -> Raw {
        self.definition_with(settings, "")
    }

    /// The same with more text at the end of its description.
    fn definition_with(&self, settings: &Settings, more: &str) -> Raw {
        let mut definition = (self.define)(settings);
        let text = definition["description"].as_str().unwrap_or_default();
        definition["description"] = format!("{text}{more}").into();
        // Clients that load tools on demand must not have to search for the search.
        definition["_meta"]["anthropic/alwaysLoad"] = true.into();
        Raw::author(&definition)
    }

    /// Runs one call. `cutting` notes the tools that it calls, if its result may be cut.
    pub(super) async fn run(
        &'static self,
        router: &Router,
        context: &CallContext,
        params: &Raw,
        cutting: Option<&Cutting>,
    ) -> Result<Reply, RequestError> {
        let arguments = params.get("arguments").filter(|value| !value.is_null());
        let arguments = arguments.unwrap_or_else(Raw::empty_object);
        // They are read one by one.
        arguments.remember_members();
        let named = self.named_arguments();
        arguments::check_keys(&arguments, "in the arguments", named, self.aliases)
            .and_then(|()| arguments::check_names(&arguments))
            .map_err(|why| self.wrong(&arguments, why))?;
        let call = Call {
            tool: self,
            things: Things::new(router, cutting),
            router,
            cutting,
            context,
            params,
            arguments,
        };
        (self.run)(call).await
    }

    /// The arguments that its schema names. They are the same under all settings.
    fn named_arguments(&self) -> &'static [String] {
        type Named = HashMap<&'static str, Vec<String>>;
        static NAMED: LazyLock<Named> = LazyLock::new(|| {
            let settings = Settings::default();
            let named = ALL.iter().map(|tool| {
                let definition = (tool.define)(&settings);
                let properties = definition["inputSchema"]["properties"].as_object();
                let keys = properties.into_iter().flat_map(Map::keys).cloned();
                (tool.name, keys.collect())
            });
            named.collect()
        });
        NAMED.get(self.name).map_or(&[], Vec::as_slice)
    }

    /// The failure of a call with wrong arguments. Has an example only if an argument of the example is missing.
    fn wrong(&self, arguments: &Raw, why: impl std::fmt::Display) -> RequestError {
        let error = format!("{}: {why}", self.name);
        let usage = (self.usage)(arguments);
        let example = Raw::parse_str(usage).unwrap_or_else(|_| Raw::empty_object());
        let mut keys = example.members();
        let is_missing = keys.any(|member| {
            let key = member.name(example.as_bytes()).unwrap_or_default();
            arguments.get(&key).is_none_or(|value| value.is_null())
        });
        let hint = if is_missing {
            format!("Correct the arguments and call again, as in {usage}.")
        } else {
            "Correct the arguments and call again.".to_owned()
        };
        Failure::not_run(ErrorCode::InvalidArguments, error, hint).into()
    }
}

/// The result of a tool with an output schema: the answer as one text, and as structured content.
fn structured(answer: &Raw) -> Raw {
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
    Raw::author(&Structured {
        content: [Text {
            r#type: "text",
            text: answer.as_str(),
        }],
        structured_content: answer,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_known_where_rules_are_read() {
        for name in names() {
            assert!(crate::text::names::BUILT_IN_TOOLS.contains(&name), "{name}");
        }
    }

    #[test]
    fn another_word_is_none_that_the_schema_names() {
        for tool in ALL {
            let named = tool.named_arguments();
            assert!(!named.is_empty(), "{}", tool.name);
            let is_named = |alias: &&str| named.iter().any(|known| known == alias);
            assert!(!tool.aliases.iter().any(is_named), "{}", tool.name);
            assert_eq!((tool.define)(&Settings::default())["name"], tool.name);
        }
    }
}
