//! Tools, prompts and completions under the names that the aggregated view offers.

use super::{
    Reply, RequestError, Router, View, built_in, cutting::Cutting, recording, tasks::NOT_AS_A_TASK,
};
use crate::{
    access::Caller,
    activity::OpenCall,
    call_context::CallContext,
    config::{RoutingMode, Settings},
    failure::{ErrorCode, Failure, Result},
    forward::{EndpointKind, ForwardRequest},
    text::names::{self, ServerName},
    trust::approvals::ThingKind,
    wire::{
        MemberSpan, Outcome, Raw, Request, RpcError, Target, Thing, header_params::HeaderParam,
        method,
    },
};

impl Router {
    /// Sends a request for a thing that is offered to the server whose it is, under the server's own name for it.
    pub(super) async fn call_offered(
        &self,
        context: &CallContext,
        view: &View,
        request: &Request,
    ) -> Result<Reply, RequestError> {
        let mut record = self.record(context, view, request);
        let cutting = self.cutting(&context.caller, view, &request.method);
        // Awaited where it is made: what is named first is kept twice, here and in every future around this one.
        let answered = self
            .answer_offered(context, request, &mut record, cutting.as_ref())
            .await;
        if let Err(error) = &answered {
            self.note_blocked_request(context, view, request, error);
        }
        recording::end(record, &answered);
        match cutting {
            Some(cutting) => Box::pin(self.cut(&context.caller, answered, cutting)).await,
            None => answered,
        }
    }

    async fn answer_offered(
        &self,
        context: &CallContext,
        request: &Request,
        record: &mut OpenCall,
        cutting: Option<&Cutting>,
    ) -> Result<Reply, RequestError> {
        let (method, params) = (&*request.method, request.params.as_ref());
        if method::is_of_tasks(method) && !context.revision.has_task_results() {
            return Err(RpcError::method_not_found(method).into());
        }
        let target = Target::of(method, params)?;
        record.is_of(None, target.thing());
        let (server, own_name) = match target.thing() {
            Thing::Tool(offered) => {
                params.map_or(Ok(()), check_spelling)?;
                if let (Some(tool), Some(params)) = (built_in::find(offered), params) {
                    self.0.gate.admit_built_in(&context.caller, tool.name)?;
                    let cutting = cutting.filter(|cutting| cutting.note_ours(tool.name));
                    return tool.run(self, context, params, cutting).await;
                }
                let found = self.offered_tool(context, offered).await;
                let found = found.inspect_err(|_| self.note_parts(record, &target, offered));
                found.map_err(|failure| match failure.code {
                    ErrorCode::UnknownTool => {
                        let text = format!("{}. {}", failure.error, failure.hint);
                        RpcError::invalid_params(text).into()
                    }
                    _ => RequestError::from(failure),
                })?
            }
            Thing::Prompt(offered) => {
                let found = self.offered_prompt(&context.caller, offered);
                found.inspect_err(|_| self.note_parts(record, &target, offered))?
            }
            Thing::Resource(uri) => {
                let owner = self.owner_of(context, uri)?;
                (owner.server, owner.uri)
            }
            Thing::Task(id) => (self.server_of_task(context, id)?, id.as_ref().into()),
            // A completion for what is neither a prompt nor a resource.
            Thing::Nothing => {
                let error = format!(
                    "{method} did not run: ref.type must be \"ref/prompt\" or \"ref/resource\""
                );
                return Err(RpcError::invalid_params(error).into());
            }
        };
        let target = target.renamed(&own_name);
        record.is_of(Some(server.as_str()), target.thing());
        let gate = &self.0.gate;
        let decide = || gate.admit(&context.caller, server.as_str(), target.clone());
        let wanted = (server.as_str(), &target);
        let admitted = self.admit_awake(context, wanted, decide).await?;
        self.check_tool_of_task(context, &admitted)?;
        let edits: &[_] = match admitted.target().thing() {
            Thing::Tool(_) => &[NOT_AS_A_TASK],
            _ => &[],
        };
        let request = ForwardRequest {
            params,
            edits,
            endpoint: EndpointKind::ManyServers,
        };
        let outcome = self.forward(context, &admitted, request).await?;
        if let (Some(cutting), Outcome::Result(result)) = (cutting, &outcome) {
            self.note_offered(cutting, &admitted, result);
        }
        Ok(Reply::Passed(outcome))
    }

    /// Has the record of a name that no list has say which server it begins with: people look for what was refused by server. Nobody decides
    /// by it.
    fn note_parts(&self, record: &mut OpenCall, target: &Target<'_>, offered: &str) {
        let settings = self.settings();
        if let Some((server, own_name)) = parts(&settings, offered).next() {
            let own = target.clone().renamed(own_name);
            record.is_of(Some(server.as_str()), own.thing());
        }
    }

    /// Whose tool is offered under this name, and its own name.
    pub(super) async fn offered_tool(
        &self,
        context: &CallContext,
        offered: &str,
    ) -> Result<(ServerName, Box<str>)> {
        let caller = &context.caller;
        if let Some(found) = self.find_tool(caller, offered) {
            return Ok(found);
        }
        // Boxed, because it is large and seldom.
        let unavailable = Box::pin(self.discover_owners_of(context, offered)).await;
        if let Some(found) = self.find_tool(caller, offered) {
            return Ok(found);
        }
        let refused = self.refusal_of_unlisted(caller, offered).or(unavailable);
        Err(refused.unwrap_or_else(|| self.unknown_tool(context, offered)))
    }

    /// Why a name that no list has may not be called, where it is of a server that may not be used: the same as by any other way of naming
    /// it. What is denied to the caller stays unknown, as it is to every list.
    fn refusal_of_unlisted(&self, caller: &Caller, offered: &str) -> Option<Failure> {
        let now = self.0.gate.now_for(caller);
        parts(now.settings(), offered).find_map(|(server, tool)| {
            let refused = now
                .rules()
                .decide(caller, server.as_str(), &Target::tool(tool));
            refused.err().filter(|failure| {
                matches!(
                    failure.code,
                    ErrorCode::ServerQuarantined
                        | ErrorCode::ServerDisabled
                        | ErrorCode::ServerMisconfigured
                )
            })
        })
    }

    pub(super) fn find_tool(
        &self,
        caller: &Caller,
        offered: &str,
    ) -> Option<(ServerName, Box<str>)> {
        let snapshot = self.0.catalog.seen_by(caller);
        let (server, tool) = snapshot.offered_tool(offered)?;
        self.reaches(caller, server, &Target::tool(&tool.name))
            .then(|| (server.clone(), tool.name.clone()))
    }

    /// What the profile of the caller's endpoint and its token lack is not there.
    pub(super) fn reaches(
        &self,
        caller: &Caller,
        server: &ServerName,
        target: &Target<'_>,
    ) -> bool {
        let now = self.0.gate.now();
        now.rules().reaches(caller, server.as_str(), target)
    }

    /// A name that nobody knows may belong to a server whose lists are not known yet. Waits for the servers whose names it begins
    /// with; why that which it names has no lists still.
    async fn discover_owners_of(&self, context: &CallContext, offered: &str) -> Option<Failure> {
        let caller = &context.caller;
        let snapshot = self.0.catalog.snapshot();
        let unknown = |name: &ServerName| !snapshot.servers.contains_key(name);
        let candidates: Vec<ServerName> = self
            .settings()
            .servers
            .keys()
            .filter(|name| {
                unknown(name)
                    && names::may_own(name, offered)
                    && self.0.gate.offers(caller, name.as_str())
            })
            .cloned()
            .collect();
        let mut unavailable = None;
        for server in &candidates {
            let listed = {
                let _waits = context.course.wait();
                self.ensure_listed(server.as_str()).await
            };
            if let Err(failure) = listed {
                tracing::debug!(%server, %failure, "a server that a call may be for is not available");
                let tool = names::tool_part(server, offered).map(Target::tool);
                let knows = |target| self.0.gate.knows(caller, server.as_str(), &target).is_ok();
                if tool.is_some_and(knows) {
                    unavailable = Some(failure);
                }
            }
        }
        unavailable
    }

    fn unknown_tool(&self, context: &CallContext, offered: &str) -> Failure {
        let now = self.0.gate.now_for(&context.caller);
        let snapshot = now.snapshot();
        let rules = now.rules();
        let is_visible = |name: &str| {
            if let Some((server, tool)) = snapshot.offered_tool(name) {
                let target = Target::tool(&tool.name);
                return rules.allows(&context.caller, server.as_str(), &target);
            }
            let is_listed = name != "call_tool" || now.settings().legacy_call_tool;
            is_listed && rules.permits_built_in(&context.caller, name)
        };
        let known = built_in::names().chain(snapshot.offered_tool_names());
        let hint = match names::closest_allowed(offered, known, is_visible) {
            Some(close) => format!("Nothing ran. Did you mean {close:?}?"),
            None => "Nothing ran. Find its name with retrieve_tools or tools/list.".to_owned(),
        };
        Failure::new(
            ErrorCode::UnknownTool,
            format!("Unknown tool: {offered:?}"),
            hint,
        )
    }

    pub(super) fn offered_prompt(
        &self,
        caller: &Caller,
        offered: &str,
    ) -> Result<(ServerName, Box<str>)> {
        let now = self.0.gate.now_for(caller);
        let (snapshot, rules) = (now.snapshot(), now.rules());
        if let Some((server, prompt)) = snapshot.offered_prompt(offered)
            && rules.reaches(caller, server.as_str(), &Target::prompt(&prompt.name))
        {
            return Ok((server.clone(), prompt.name.clone()));
        }
        let is_visible = |name: &str| {
            snapshot
                .offered_prompt(name)
                .is_some_and(|(server, prompt)| {
                    !snapshot.hides(server.as_str(), ThingKind::Prompt, &prompt.name)
                        && rules.allows(caller, server.as_str(), &Target::prompt(&prompt.name))
                })
        };
        let mut owners = parts(now.settings(), offered).map(|(server, _)| server);
        let absence = owners.find_map(|server| {
            let server = server.as_str();
            let is_absent = !snapshot.servers.contains_key(server) && rules.offers(caller, server);
            is_absent.then(|| self.absence(server))?
        });
        if let Some(failure) = absence {
            return Err(failure);
        }
        let known = snapshot.offered_prompt_names();
        let hint = match names::closest_allowed(offered, known, is_visible) {
            Some(close) => format!("Nothing ran. Did you mean {close:?}?"),
            None => "Nothing ran. Look the name up in the list of prompts.".to_owned(),
        };
        Err(Failure::new(
            ErrorCode::UnknownPrompt,
            format!("Unknown prompt: {offered:?}"),
            hint,
        ))
    }
}

/// What the arguments of a call are called within our own tools, but not in MCP.
const NOT_IN_MCP: [&str; 2] = ["args", "args_json"];

/// Refuses `args` beside the name of a tool without `arguments`: the caller means them, and the tool does not run without.
fn check_spelling(params: &Raw) -> Result<(), RpcError> {
    let is = |member: &MemberSpan, key: &str| member.is(params.as_bytes(), key);
    let Some(key) = params
        .members()
        .find_map(|member| NOT_IN_MCP.into_iter().find(|key| is(&member, key)))
    else {
        return Ok(());
    };
    if params
        .get("arguments")
        .is_some_and(|value| !value.is_null())
    {
        return Ok(());
    }
    let error = format!(
        "tools/call did not run: \"{key}\" is unknown in its params; the arguments of the tool go into \"arguments\""
    );
    Err(RpcError::invalid_params(error))
}

/// The configured servers that an offered name begins with, and what it says after each.
fn parts<'a>(
    settings: &'a Settings,
    offered: &'a str,
) -> impl Iterator<Item = (ServerName, &'a str)> {
    let broken = settings.broken.iter();
    let broken = broken.filter_map(|entry| ServerName::parse(&entry.name).ok());
    let servers = settings.servers.keys().cloned().chain(broken);
    servers.filter_map(move |server| {
        let own_name = names::tool_part(&server, offered)?;
        Some((server, own_name))
    })
}

// Which arguments of a tool a client has to repeat in headers (revision 2026-07-28, server/tools, "x-mcp-header").

impl Router {
    /// The arguments that a client of this endpoint knows to repeat: those of a tool that is listed there. A definition whose
    /// annotations are wrong asks for nothing, because clients leave such a tool out.
    pub fn header_params(&self, view: &View, name: &str) -> Box<[HeaderParam]> {
        let snapshot = self.0.catalog.glance();
        let tool = match view {
            View::Server(server) => snapshot.tool(server.as_str(), name),
            View::Configured | View::Mode(_) | View::Profile(_) => {
                match view.mode(&self.settings()) {
                    RoutingMode::Direct => snapshot.offered_tool(name).map(|(_, tool)| tool),
                    _ => None,
                }
            }
        };
        tool.map(|tool| tool.header_params.clone())
            .unwrap_or_default()
    }
}
