//! The actions `list` and `info`: the definitions that clients get in lists, of things that the caller may use.

use super::{
    super::{Call, listed, unlisted},
    answer,
    arguments::ProxyType,
    paths::{self, NamedResource, NamedTool, ResourceKind},
    put_together,
};
use crate::{
    router::{
        RequestError,
        definitions::{offered_tool, renamed, with_uri},
        resources::unknown_resource,
    },
    wire::{Raw, Target},
};

/// Everything of a kind, in one embedded resource.
pub(super) async fn list(call: &Call<'_>, kind: ProxyType) -> Raw {
    let caller = &call.context.caller;
    let lists = call.router.lists(caller).await;
    let listed_in = |list: &Raw, key| list.get(key).unwrap_or_else(|| Raw::array([]));
    let mut parts = match kind {
        ProxyType::Tool => vec![listed_in(&lists.direct, "tools")],
        ProxyType::Resource => vec![
            listed_in(&lists.resources, "resources"),
            listed_in(&lists.templates, "resourceTemplates"),
        ],
        ProxyType::Prompt => vec![listed_in(&lists.prompts, "prompts")],
    };
    if kind == ProxyType::Tool {
        let now = call.now();
        let may_use =
            |name: &str| !paths::is_barred(name) && now.rules().permits_built_in(caller, name);
        parts.push(Raw::array(&listed(now.settings(), may_use)));
    }
    let size = parts.iter().map(|part| part.as_bytes().len()).sum();
    let make = move || {
        let definitions: Vec<Raw> = parts.iter().flat_map(Raw::elements).collect();
        answer::list(kind, &Raw::array(&definitions))
    };
    put_together(call, size, make).await
}

/// The definition of one thing, in one embedded resource.
pub(super) async fn info(
    call: &Call<'_>,
    kind: ProxyType,
    path: String,
) -> Result<Raw, RequestError> {
    let (python_type, definition) = match kind {
        ProxyType::Tool => ("Tool", tool(call, &path).await?),
        ProxyType::Prompt => ("Prompt", prompt(call, &path).await?),
        ProxyType::Resource => resource(call, &path).await?,
    };
    let size = definition.as_bytes().len();
    let make = move || answer::info(kind, &path, python_type, &definition);
    Ok(put_together(call, size, make).await)
}

async fn tool(call: &Call<'_>, path: &str) -> Result<Raw, RequestError> {
    let caller = &call.context.caller;
    let (server, tool) = match paths::tool(call, path).await? {
        NamedTool::OfServer(server, tool) => (server, tool),
        NamedTool::Own(own) => {
            call.router.0.gate.admit_built_in(caller, own.name)?;
            return Ok(own.definition(&call.router.0.gate.settings()));
        }
    };
    let target = Target::tool(&tool);
    call.router.ensure_known(caller, &server, &target).await?;
    let now = call.now();
    now.rules().decide(caller, &server, &target)?;
    let known = now.snapshot().servers.get_key_value(&*server);
    let known = known.and_then(|(name, known)| Some((name, known.tool(&tool)?)));
    let Some((name, known)) = known else {
        return Err(unlisted(&server, &tool).into());
    };
    Ok(offered_tool(now.snapshot(), name, known))
}

async fn prompt(call: &Call<'_>, path: &str) -> Result<Raw, RequestError> {
    let (server, prompt) = paths::prompt(call, path).await?;
    let now = call.now();
    let target = Target::prompt(&prompt);
    now.rules().decide(&call.context.caller, &server, &target)?;
    let known = now.snapshot().servers.get(&*server);
    let known = known.and_then(|known| known.prompt(&prompt));
    let known = known.ok_or_else(|| paths::unknown_prompt(path))?;
    Ok(renamed(&known.definition, "name", &known.offered))
}

/// The type and definition of a resource or template; of a URI that is in no list, those of the template that describes it.
async fn resource(call: &Call<'_>, path: &str) -> Result<(&'static str, Raw), RequestError> {
    let found = paths::resource(call, path).await?;
    let (now, caller) = (call.now(), &call.context.caller);
    let NamedResource { owner, offered, .. } = &found;
    let target = Target::resource(&owner.uri);
    now.rules().decide(caller, owner.server.as_str(), &target)?;
    let snapshot = now.snapshot();
    let known = snapshot.servers.get(&owner.server);
    let template = match found.kind {
        ResourceKind::Listed => {
            let resource = known.and_then(|known| known.resource(&owner.uri));
            let resource = resource.ok_or_else(|| unknown_resource(path))?;
            let definition = with_uri(&resource.definition, "uri", &resource.uri, offered);
            return Ok(("Resource", definition));
        }
        ResourceKind::Template => known.and_then(|known| known.template(&owner.uri)),
        ResourceKind::Unlisted => paths::template_of(&now, caller, owner),
    };
    let template = template.ok_or_else(|| unknown_resource(path))?;
    let own = &template.uri_template;
    let offered = snapshot.offered_template(&owner.server, own);
    let definition = with_uri(&template.definition, "uriTemplate", own, &offered);
    Ok(("ResourceTemplate", definition))
}
