//! The action `call`: calls a tool, reads a resource or gets a prompt, with the rights of the caller of `proxy` and a record under its call.
//! Adds the annotations of section 3.2 to the result, which otherwise stays.

use super::{
    super::Call,
    answer,
    arguments::ProxyType,
    expansion, paths,
    paths::{NamedResource, NamedTool, ResourceKind},
    put_together,
};
use crate::{
    catalog::Owner,
    gate::Variant,
    router::{
        Reply, RequestError,
        declared_call::{Audience, DeclaredCall},
        resources::unknown_resource,
    },
    wire::{Edit, Outcome, Raw, Target, splice},
};

pub(super) async fn call(
    call: &Call<'_>,
    kind: ProxyType,
    path: String,
    args: Option<Raw>,
) -> Result<Reply, RequestError> {
    match kind {
        ProxyType::Tool => tool(call, path, args).await,
        ProxyType::Resource => resource(call, &path, args).await,
        ProxyType::Prompt => prompt(call, path, args).await,
    }
}

async fn tool(call: &Call<'_>, path: String, args: Option<Raw>) -> Result<Reply, RequestError> {
    let found = paths::tool(call, &path).await;
    let found = recorded(call, (ProxyType::Tool, &path), found)?;
    let called = match found {
        NamedTool::Own(own) => call.call_another(own, args).await?,
        NamedTool::OfServer(server, tool) => {
            // As for a call by its offered name: the caller states no variant, and knows the tool's annotations from its definition.
            let declared = DeclaredCall {
                variant: Variant::Destructive,
                is_stated: false,
                server: &server,
                tool: &tool,
                arguments: args,
                intent: None,
                audience: Audience::Client,
            };
            call.things
                .call_tool(call.context, declared, call.params)
                .await?
        }
    };
    let annotate = |result: Raw| {
        let size = result.as_bytes().len();
        put_together(call, size, move || answer::of_tool(&result, &path))
    };
    Ok(match called {
        Reply::Own(result) => Reply::Own(annotate(result).await),
        Reply::Passed(Outcome::Result(result)) if answer::is_complete(&result) => {
            Reply::Passed(Outcome::Result(annotate(result).await))
        }
        other @ Reply::Passed(_) => other,
    })
}

async fn prompt(call: &Call<'_>, path: String, args: Option<Raw>) -> Result<Reply, RequestError> {
    let found = paths::prompt(call, &path).await.map_err(RequestError::from);
    let (server, prompt) = recorded(call, (ProxyType::Prompt, &path), found)?;
    let named = (&*server, &*prompt);
    let args = args.as_ref().map(texts).transpose();
    let args = args.map_err(|why| call.wrong(why))?;
    let getting = call
        .things
        .get_prompt(call.context, named, args.as_ref(), call.params);
    let outcome = getting.await?;
    Ok(match outcome {
        Outcome::Result(result) if answer::is_complete(&result) => {
            let size = result.as_bytes().len();
            let make = move || answer::of_prompt(&result, &path);
            Reply::Own(put_together(call, size, make).await)
        }
        other => Reply::Passed(other),
    })
}

/// The arguments of a prompt as texts, as MCP wants them: numbers, true and false as they are written, and without nulls.
fn texts(args: &Raw) -> Result<Raw, String> {
    let mut edits = Vec::new();
    let names = args.members();
    let names: Vec<String> = names
        .filter_map(|member| member.name(args.as_bytes()))
        .collect();
    for name in &names {
        let value = args.get(name).filter(|value| value.string().is_none());
        if value.is_some() {
            let text = expansion::value(args, name)?;
            let edit = text.map_or(Edit::Remove, |text| Edit::Set(Raw::author(&text)));
            edits.push((&**name, edit));
        }
    }
    splice(args, &edits).map_err(|_| "\"args\" is not an object".to_owned())
}

async fn resource(call: &Call<'_>, path: &str, args: Option<Raw>) -> Result<Reply, RequestError> {
    let found = paths::resource(call, path).await;
    let found = recorded(call, (ProxyType::Resource, path), found)?;
    let (owner, uri) = to_be_read(call, found, path, args)?;
    let reading = call.things.read_resource(call.context, &owner, call.params);
    let outcome = reading.await?;
    Ok(Reply::Passed(match outcome {
        Outcome::Result(result) if answer::is_complete(&result) => {
            let size = result.as_bytes().len();
            let make = move || answer::of_resource(&result, &uri);
            Outcome::Result(put_together(call, size, make).await)
        }
        other => other,
    }))
}

/// The owner of the resource to read, and its offered URI. A template gets the values of its variables from the arguments.
fn to_be_read(
    call: &Call<'_>,
    found: NamedResource,
    path: &str,
    args: Option<Raw>,
) -> Result<(Owner, String), RequestError> {
    let NamedResource {
        owner,
        offered,
        kind,
    } = found;
    if kind != ResourceKind::Template {
        let is_empty = args.is_none_or(|args| args.members().next().is_none());
        return if is_empty {
            Ok((owner, offered))
        } else {
            Err(call.wrong(format_args!(
                "\"args\" is only for resource templates, but {path:?} is a resource"
            )))
        };
    }
    let args = args.unwrap_or_else(Raw::empty_object);
    let uri = expansion::expanded(&offered, &args).map_err(|why| call.wrong(why))?;
    let now = call.now();
    let mut templates = now.snapshot().offered_templates();
    let template = templates.find(|one| *one.server == owner.server && one.offered == offered);
    let template = template.ok_or_else(|| unknown_resource(path))?;
    let owner = Owner {
        uri: template.own_uri(&uri),
        server: owner.server,
    };
    Ok((owner, uri))
}

/// Records the refusal of a path that names a thing of a server, as that of the request would be recorded.
fn recorded<T>(
    call: &Call<'_>,
    (kind, path): (ProxyType, &str),
    found: Result<T, RequestError>,
) -> Result<T, RequestError> {
    if let Err(RequestError::Failed(failure)) = &found
        && failure.server.is_some()
    {
        let own_name = path.split_once(':').map_or(path, |(_, own)| own);
        let target = match kind {
            ProxyType::Tool => Target::tool(failure.tool.as_deref().unwrap_or(own_name)),
            ProxyType::Prompt => Target::prompt(own_name),
            ProxyType::Resource => Target::resource(path),
        };
        call.things
            .refuse(call.context, &target, failure, call.params);
    }
    found
}
