//! Tools, prompts and completions under the names that the aggregated view offers.

use serde::Deserialize;

use super::{Refused, Reply, Router, built_in};
use crate::{
    call_context::CallContext,
    error_code::{ErrorCode, Failure},
    gate::{self, Variant, Wanted},
    names::{self, ServerName},
    wire::{Edit, Outcome, Raw, RpcError, method, splice},
};

/// The `name` of `tools/call` and `prompts/get`. A key that stands twice is refused, so nobody can mean one thing for us and another
/// for the upstream.
fn named<'a>(method: &str, params: Option<&'a Raw>) -> Result<(String, &'a Raw), RpcError> {
    let wrong = |why: &str| RpcError::invalid_params(format!("{method}: {why}"));
    let params = params.ok_or_else(|| wrong("`name` is missing"))?;
    if !params.is_object() {
        return Err(wrong("`params` is not an object"));
    }
    let [name, arguments] = params.look_up(["name", "arguments"]);
    match (name.times, arguments.times) {
        (0, _) => return Err(wrong("`name` is missing")),
        (2.., _) => return Err(wrong("`name` stands there twice")),
        (_, 2..) => return Err(wrong("`arguments` stands there twice")),
        _ => (),
    }
    if arguments
        .value
        .is_some_and(|arguments| !arguments.is_object() && !arguments.is_null())
    {
        return Err(wrong("`arguments` is not an object"));
    }
    let name = name.value.and_then(|name| name.string());
    Ok((name.ok_or_else(|| wrong("`name` is not a string"))?, params))
}

fn text(value: &str) -> Edit<'static> {
    Edit::Set(Raw::author(&value))
}

impl Router {
    pub(super) async fn call_offered_tool(
        &self,
        context: &CallContext,
        params: Option<&Raw>,
    ) -> Result<Reply, Refused> {
        let (offered, params) = named(method::TOOLS_CALL, params)?;
        if let Some(tool) = built_in::find(&offered) {
            return tool.run(self, context, params).await;
        }
        let mut found = self.find_tool(&offered);
        if found.is_none() && self.discover_owner_of(&offered).await {
            found = self.find_tool(&offered);
        }
        let Some((server, tool)) = found else {
            return Err(self.unknown_tool(context, &offered).into());
        };
        let admitted = self.admit(context, server.as_str(), Wanted::Tool(&tool))?;
        self.forward(
            context,
            &admitted,
            method::TOOLS_CALL,
            Some(params),
            &[("name", text(&tool))],
        )
        .await
    }

    pub(super) fn find_tool(&self, offered: &str) -> Option<(ServerName, Box<str>)> {
        let snapshot = self.0.catalog.glance();
        snapshot
            .offered_tool(offered)
            .map(|(server, tool)| (server.clone(), tool.name.clone()))
    }

    /// A name that nobody knows may belong to a server whose lists are not known yet. Waits for the servers whose names it begins
    /// with; whether there were any.
    async fn discover_owner_of(&self, offered: &str) -> bool {
        let snapshot = self.0.catalog.snapshot();
        let unknown = |name: &ServerName| !snapshot.servers.contains_key(name);
        let candidates: Vec<ServerName> = self
            .settings()
            .servers
            .keys()
            .filter(|name| unknown(name) && names::may_own(name, offered))
            .cloned()
            .collect();
        for server in &candidates {
            if let Err(failure) = self.ensure_listed(server.as_str()).await {
                tracing::debug!(%server, %failure, "a server that a call may be for is not available");
            }
        }
        !candidates.is_empty()
    }

    /// One call by server and tool, as operators make them, declared as a variant. `args` must be an object.
    pub async fn call_tool(
        &self,
        context: &CallContext,
        variant: Variant,
        server: &str,
        tool: &str,
        args: Option<&Raw>,
    ) -> Result<Outcome, Failure> {
        let mut members = vec![("name", text(tool))];
        members.extend(args.map(|args| ("arguments", Edit::Set(args.clone()))));
        let params = splice(&Raw::empty_object(), &members).expect("an object was given");
        self.ensure_known(server).await?;
        let admitted = self.admit_as(context, variant, server, tool)?;
        match self
            .forward(context, &admitted, method::TOOLS_CALL, Some(&params), &[])
            .await
        {
            Ok(Reply::Passed(outcome)) => Ok(outcome),
            Ok(Reply::Own(result)) => Ok(Outcome::Result(result)),
            Err(Refused::Failed(failure)) => Err(failure),
            Err(Refused::Rpc(error)) => Err(Failure::new(
                ErrorCode::InvalidArguments,
                error.message,
                "Correct the request.",
            )),
        }
    }

    fn unknown_tool(&self, context: &CallContext, offered: &str) -> RpcError {
        let snapshot = self.0.catalog.snapshot();
        let is_visible = |name: &str| match snapshot.offered_tool(name) {
            Some((server, tool)) => self.sees(context, server, Wanted::Tool(&tool.name)).is_ok(),
            // Ours.
            None => true,
        };
        let known = built_in::names().chain(snapshot.offered_tool_names());
        let message = match names::closest_allowed(offered, known, is_visible) {
            Some(close) => {
                format!("Unknown tool: {offered:?}. The closest known name is {close:?}.")
            }
            None => format!("Unknown tool: {offered:?}"),
        };
        RpcError::invalid_params(message)
    }

    pub(super) async fn get_offered_prompt(
        &self,
        context: &CallContext,
        params: Option<&Raw>,
    ) -> Result<Reply, Refused> {
        let (offered, params) = named(method::PROMPTS_GET, params)?;
        let (server, prompt) = self.offered_prompt(&offered)?;
        let admitted = self.admit(context, server.as_str(), Wanted::Prompt(&prompt))?;
        self.forward(
            context,
            &admitted,
            method::PROMPTS_GET,
            Some(params),
            &[("name", text(&prompt))],
        )
        .await
    }

    fn offered_prompt(&self, offered: &str) -> Result<(ServerName, Box<str>), Failure> {
        let snapshot = self.0.catalog.glance();
        if let Some((server, prompt)) = snapshot.offered_prompt(offered) {
            return Ok((server.clone(), prompt.name.clone()));
        }
        let hint = match names::closest(offered, snapshot.offered_prompt_names()) {
            Some(close) => format!("The closest known name is {close:?}."),
            None => "Look the name up in the list of prompts.".to_owned(),
        };
        Err(Failure::new(
            ErrorCode::UnknownPrompt,
            format!("Unknown prompt: {offered:?}"),
            hint,
        ))
    }

    /// `completion/complete`: the reference names a prompt or a resource template.
    pub(super) async fn complete_offered(
        &self,
        context: &CallContext,
        params: Option<&Raw>,
    ) -> Result<Reply, Refused> {
        #[derive(Deserialize)]
        struct Params {
            r#ref: Reference,
        }
        #[derive(Deserialize)]
        #[serde(tag = "type")]
        enum Reference {
            #[serde(rename = "ref/prompt")]
            Prompt { name: String },
            #[serde(rename = "ref/resource")]
            Resource { uri: String },
        }
        let wrong = |why: &dyn std::fmt::Display| {
            RpcError::invalid_params(format!("{}: {why}", method::COMPLETE))
        };
        let params = params.ok_or_else(|| wrong(&"`ref` is missing"))?;
        let view: Params = params.read().map_err(|error| wrong(&error))?;
        let forward = async |admitted: &gate::Admitted, key: &str, value: &str| {
            let inner = [(key, text(value))];
            self.forward(
                context,
                admitted,
                method::COMPLETE,
                Some(params),
                &[("ref", Edit::Within(&inner))],
            )
            .await
        };
        match view.r#ref {
            Reference::Prompt { name } => {
                let (server, prompt) = self.offered_prompt(&name)?;
                let admitted = self.admit(context, server.as_str(), Wanted::Prompt(&prompt))?;
                forward(&admitted, "name", &prompt).await
            }
            Reference::Resource { uri } => {
                let owner = self.owner_of(&uri)?;
                let admitted =
                    self.admit(context, owner.server.as_str(), Wanted::Resource(&owner.uri))?;
                forward(&admitted, "uri", &owner.uri).await
            }
        }
    }
}
