//! What a request wants: its method and the one thing that its params name. Read here and nowhere else, so that nobody decides about
//! one thing and sends another.

use std::borrow::Cow;

use super::{Edit, NotAnObject, Raw, RpcError, method, splice};

/// What a request wants. Cheap to make for a name that is known; [`Target::of`] reads it from a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target<'a> {
    method: Cow<'a, str>,
    thing: Thing<'a>,
}

/// The thing that a request names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Thing<'a> {
    /// A tool, to call it.
    Tool(Cow<'a, str>),
    /// A prompt, to get it or to complete an argument of it.
    Prompt(Cow<'a, str>),
    /// A resource by its URI, to read it or to hear of its updates; a template by its URI template, to complete an argument of it.
    Resource(Cow<'a, str>),
    /// A task by its id.
    Task(Cow<'a, str>),
    /// Nothing: the method says it all, or we do not know the method.
    Nothing,
}

/// Limit: bytes of the name of a requested tool or prompt, with its server's in front. No server can list one with more than 4,096.
pub const LONGEST_NAME: usize = 8 << 10;

/// Limit: bytes of a requested URI, and of the id of a task. None that is listed has more than 4,096, but what a template stands
/// for may.
pub const LONGEST_URI: usize = 64 << 10;

/// A name that is not looked for. Decisions read names several times, and each is a stranger's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("\"{key}\" is longer than {} KiB", most >> 10)]
pub struct TooLong {
    key: &'static str,
    most: usize,
}

/// The types of reference that `completion/complete` knows.
const OF_A_PROMPT: &str = "ref/prompt";
const OF_A_RESOURCE: &str = "ref/resource";

impl<'a> Target<'a> {
    /// Reads what a request wants. A key that appears twice is refused, so nobody can mean one thing for us and another for the
    /// upstream; so is a name that is missing or no string.
    pub fn of(method: &'a str, params: Option<&Raw>) -> Result<Self, RpcError> {
        let thing = match method {
            method::TOOLS_CALL => Thing::Tool(called(method, params)?.into()),
            method::PROMPTS_GET => Thing::Prompt(called(method, params)?.into()),
            method::RESOURCES_READ
            | method::RESOURCES_SUBSCRIBE
            | method::RESOURCES_UNSUBSCRIBE => Thing::Resource(text(method, params, "uri")?.into()),
            method::TASKS_GET
            | method::TASKS_UPDATE
            | method::TASKS_CANCEL
            | method::TASKS_RESULT => Thing::Task(text(method, params, "taskId")?.into()),
            method::COMPLETE => completed(method, params)?,
            _ => Thing::Nothing,
        };
        let length = thing.check_length();
        length.map_err(|why| wrong(method, &why.to_string()))?;
        Ok(Self {
            method: method.into(),
            thing,
        })
    }

    /// To call a tool.
    pub fn tool(name: &'a str) -> Self {
        Self::new(method::TOOLS_CALL, Thing::Tool(name.into()))
    }

    /// To get a prompt.
    pub fn prompt(name: &'a str) -> Self {
        Self::new(method::PROMPTS_GET, Thing::Prompt(name.into()))
    }

    /// To read a resource.
    pub fn resource(uri: &'a str) -> Self {
        Self::new(method::RESOURCES_READ, Thing::Resource(uri.into()))
    }

    /// To hear of the updates of a resource.
    pub fn subscription(uri: &'a str) -> Self {
        Self::new(method::RESOURCES_SUBSCRIBE, Thing::Resource(uri.into()))
    }

    /// To hear of the states of a task.
    pub fn followed_task(id: &'a str) -> Self {
        Self::new(method::LISTEN, Thing::Task(id.into()))
    }

    /// A method that names nothing, a list for example.
    pub fn method_alone(method: &'a str) -> Self {
        Self::new(method, Thing::Nothing)
    }

    fn new(method: &'a str, thing: Thing<'a>) -> Self {
        Self {
            method: method.into(),
            thing,
        }
    }

    /// The same request for the thing of another name.
    #[must_use]
    pub fn renamed(self, name: &'a str) -> Self {
        let thing = self.thing.named(name.into());
        Self { thing, ..self }
    }

    /// Without borrowing.
    pub fn into_owned(self) -> Target<'static> {
        let owned = |name: Cow<'_, str>| Cow::Owned(name.into_owned());
        Target {
            method: owned(self.method),
            thing: match self.thing {
                Thing::Tool(name) => Thing::Tool(owned(name)),
                Thing::Prompt(name) => Thing::Prompt(owned(name)),
                Thing::Resource(uri) => Thing::Resource(owned(uri)),
                Thing::Task(id) => Thing::Task(owned(id)),
                Thing::Nothing => Thing::Nothing,
            },
        }
    }

    /// The method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// What is named.
    pub fn thing(&self) -> &Thing<'a> {
        &self.thing
    }

    /// The params of a request for this target: `params` with its name in them and with `edits` of other members, everything else
    /// as it stands. The very same params where that changes nothing.
    pub fn params(
        &self,
        params: Option<&Raw>,
        edits: &[(&str, Edit<'_>)],
    ) -> Result<Option<Raw>, NotAnObject> {
        let (key, name) = match &self.thing {
            Thing::Tool(name) | Thing::Prompt(name) => ("name", name),
            Thing::Resource(uri) => ("uri", uri),
            Thing::Task(id) => ("taskId", id),
            Thing::Nothing => return edited(params, edits),
        };
        let written = Raw::author(name);
        let inner;
        let (member, stands, edit) = if self.method == method::COMPLETE {
            let reference = params.and_then(|params| only(params, "ref"));
            let stands = reference.is_some_and(|reference| says(&reference, key, (name, &written)));
            inner = [(key, Edit::Set(written))];
            ("ref", stands, Edit::Within(&inner))
        } else {
            let stands = params.is_some_and(|params| says(params, key, (name, &written)));
            (key, stands, Edit::Set(written))
        };
        let name = (!stands).then_some((member, edit));
        // Whatever else is edited, the name is the target's.
        let others = edits.iter().filter(|(key, _)| *key != member).cloned();
        let all: Vec<(&str, Edit<'_>)> = name.into_iter().chain(others).collect();
        edited(params, &all)
    }
}

impl Thing<'_> {
    /// The same kind of thing, of another name.
    #[must_use]
    pub fn named<'n>(&self, name: Cow<'n, str>) -> Thing<'n> {
        match self {
            Self::Tool(_) => Thing::Tool(name),
            Self::Prompt(_) => Thing::Prompt(name),
            Self::Resource(_) => Thing::Resource(name),
            Self::Task(_) => Thing::Task(name),
            Self::Nothing => Thing::Nothing,
        }
    }

    /// The name, the URI or the id.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Tool(name) | Self::Prompt(name) | Self::Resource(name) | Self::Task(name) => {
                Some(name)
            }
            Self::Nothing => None,
        }
    }

    /// Whether it is short enough to be looked for.
    ///
    /// # Errors
    ///
    /// Which limit it passes. Nothing of the name is in it.
    pub fn check_length(&self) -> Result<(), TooLong> {
        let (key, most) = match self {
            Self::Tool(_) | Self::Prompt(_) => ("name", LONGEST_NAME),
            Self::Resource(_) => ("uri", LONGEST_URI),
            Self::Task(_) => ("taskId", LONGEST_URI),
            Self::Nothing => return Ok(()),
        };
        let is_short = self.name().is_none_or(|name| name.len() <= most);
        is_short.then_some(()).ok_or(TooLong { key, most })
    }
}

/// Where in the params of a modern request that stands which the header `Mcp-Name` repeats (Streamable HTTP, "Request Metadata").
pub fn name_key(method: &str) -> Option<&'static str> {
    match method {
        method::TOOLS_CALL | method::PROMPTS_GET => Some("name"),
        method::RESOURCES_READ => Some("uri"),
        method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL => Some("taskId"),
        _ => None,
    }
}

/// The `name` of what has arguments.
fn called(method: &str, params: Option<&Raw>) -> Result<String, RpcError> {
    let params = object(method, params, "name")?;
    let [name, arguments] = params.look_up(["name", "arguments"]);
    let name = member(method, &name, "name")?;
    if arguments.times > 1 {
        return Err(wrong(method, "\"arguments\" appears twice"));
    }
    let arguments = arguments.value;
    if arguments.is_some_and(|value| !value.is_object() && !value.is_null()) {
        return Err(wrong(method, "\"arguments\" is not an object"));
    }
    Ok(name)
}

/// What the reference of `completion/complete` names. Of a type that we do not know it is nothing that we could name.
fn completed(method: &str, params: Option<&Raw>) -> Result<Thing<'static>, RpcError> {
    let [reference] = object(method, params, "ref")?.look_up(["ref"]);
    let reference = match (reference.value, reference.times) {
        (Some(reference), 1) if reference.is_object() => reference,
        (Some(_), 1) => return Err(wrong(method, "\"ref\" is not an object")),
        (None, _) => return Err(wrong(method, "\"ref\" is missing")),
        (Some(_), _) => return Err(wrong(method, "\"ref\" appears twice")),
    };
    let of = |key: &str| {
        let [found] = reference.look_up([key]);
        member(method, &found, &format!("ref.{key}"))
    };
    Ok(match &*of("type")? {
        OF_A_PROMPT => Thing::Prompt(of("name")?.into()),
        OF_A_RESOURCE => Thing::Resource(of("uri")?.into()),
        _ => Thing::Nothing,
    })
}

/// A member that is one string.
fn text(method: &str, params: Option<&Raw>, key: &str) -> Result<String, RpcError> {
    let [found] = object(method, params, key)?.look_up([key]);
    member(method, &found, key)
}

fn member(method: &str, found: &super::Lookup, key: &str) -> Result<String, RpcError> {
    match (&found.value, found.times) {
        (Some(value), 1) => {
            let text = value.string();
            text.ok_or_else(|| wrong(method, &format!("\"{key}\" is not a string")))
        }
        (None, _) => Err(wrong(method, &format!("\"{key}\" is missing"))),
        (Some(_), _) => Err(wrong(method, &format!("\"{key}\" appears twice"))),
    }
}

fn object<'p>(method: &str, params: Option<&'p Raw>, key: &str) -> Result<&'p Raw, RpcError> {
    let params = params.ok_or_else(|| wrong(method, &format!("\"{key}\" is missing")))?;
    if params.is_object() {
        Ok(params)
    } else {
        Err(wrong(method, "\"params\" is not an object"))
    }
}

fn wrong(method: &str, why: &str) -> RpcError {
    RpcError::invalid_params(format!(
        "{method} did not run: {why}. Correct that and send it again."
    ))
}

/// Whether an object has this text under this key, once: as we write it, or with escapes that need not be.
fn says(object: &Raw, key: &str, (text, written): (&str, &Raw)) -> bool {
    only(object, key).is_some_and(|value| {
        let is_escaped = || value.as_bytes().contains(&b'\\');
        value == *written || is_escaped() && value.string().is_some_and(|value| value == text)
    })
}

fn only(object: &Raw, key: &str) -> Option<Raw> {
    let [found] = object.look_up([key]);
    found.value.filter(|_| found.times == 1)
}

fn edited(params: Option<&Raw>, edits: &[(&str, Edit<'_>)]) -> Result<Option<Raw>, NotAnObject> {
    match params {
        params if edits.is_empty() => Ok(params.cloned()),
        Some(params) => splice(params, edits).map(Some),
        None => splice(&Raw::empty_object(), edits).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw {
        Raw::parse_str(text).expect("JSON")
    }

    #[track_caller]
    fn wants(method: &str, params: &str, expected: Result<Thing<'_>, &str>) {
        let found = Target::of(method, Some(&raw(params)));
        let found = found.map(|target| target.thing);
        let found = found.map_err(|error| {
            assert_eq!(error.code, RpcError::INVALID_PARAMS);
            error.message
        });
        let expected = expected
            .map_err(|why| format!("{method} did not run: {why}. Correct that and send it again."));
        assert_eq!(found, expected, "{method} {params}");
    }

    #[test]
    fn a_request_names_one_thing() {
        let (tool, prompt) = (Thing::Tool("x".into()), Thing::Prompt("x".into()));
        let resource = Thing::Resource("a://b".into());
        wants("tools/call", r#"{"name":"x"}"#, Ok(tool.clone()));
        wants(
            "tools/call",
            r#"{"n\u0061me":"\u0078","arguments":null}"#,
            Ok(tool),
        );
        wants(
            "prompts/get",
            r#"{"name":"x","arguments":{}}"#,
            Ok(prompt.clone()),
        );
        for method in [
            "resources/read",
            "resources/subscribe",
            "resources/unsubscribe",
        ] {
            wants(method, r#"{"uri":"a://b","name":1}"#, Ok(resource.clone()));
        }
        let completion = "completion/complete";
        let params = r#"{"ref":{"type":"ref/prompt","name":"x"},"argument":{}}"#;
        wants(completion, params, Ok(prompt));
        let params = r#"{"ref":{"type":"ref/resource","uri":"a://b","name":7}}"#;
        wants(completion, params, Ok(resource));
        wants(
            completion,
            r#"{"ref":{"type":"ref/vendor"}}"#,
            Ok(Thing::Nothing),
        );
        wants(
            "tasks/get",
            r#"{"taskId":"1"}"#,
            Ok(Thing::Task("1".into())),
        );
        wants(
            "vendor/do",
            r#"{"name":"x","name":"y"}"#,
            Ok(Thing::Nothing),
        );
        wants("vendor/do", "[1]", Ok(Thing::Nothing));
    }

    #[test]
    fn what_cannot_be_told_is_refused() {
        wants("tools/call", "{}", Err("\"name\" is missing"));
        wants("tools/call", "[]", Err("\"params\" is not an object"));
        wants(
            "tools/call",
            r#"{"name":7}"#,
            Err("\"name\" is not a string"),
        );
        let twice = r#"{"name":"x","n\u0061me":"y"}"#;
        wants("tools/call", twice, Err("\"name\" appears twice"));
        let twice = r#"{"name":"x","arguments":{},"arguments":{}}"#;
        wants("prompts/get", twice, Err("\"arguments\" appears twice"));
        let wrong = r#"{"name":"x","arguments":[]}"#;
        wants("tools/call", wrong, Err("\"arguments\" is not an object"));
        wants(
            "resources/read",
            r#"{"uri":null}"#,
            Err("\"uri\" is not a string"),
        );
        wants("tasks/cancel", "{}", Err("\"taskId\" is missing"));
        for (params, why) in [
            ("{}", "\"ref\" is missing"),
            (r#"{"ref":1}"#, "\"ref\" is not an object"),
            (r#"{"ref":{},"ref":{}}"#, "\"ref\" appears twice"),
            (r#"{"ref":{}}"#, "\"ref.type\" is missing"),
            (
                r#"{"ref":{"type":"ref/prompt","name":5}}"#,
                "\"ref.name\" is not a string",
            ),
            (
                r#"{"ref":{"type":"ref/resource","uri":"a","uri":"b"}}"#,
                "\"ref.uri\" appears twice",
            ),
        ] {
            wants("completion/complete", params, Err(why));
        }
        let without = Target::of("tools/call", None).map(drop);
        assert_eq!(
            without.map_err(|error| error.message).expect_err("refused"),
            "tools/call did not run: \"name\" is missing. Correct that and send it again."
        );
    }

    #[track_caller]
    fn sends(target: &Target<'_>, params: &str, expected: &str) {
        let extra = [("z", Edit::Set(raw("1.0")))];
        let made = |edits: &[(&str, Edit<'_>)]| {
            let made = target.params(Some(&raw(params)), edits).expect("an object");
            made.expect("params").as_str().to_owned()
        };
        assert_eq!(made(&[]), expected, "{params}");
        let (before, _) = expected.rsplit_once('}').expect("an object");
        assert_eq!(made(&extra), format!("{before},\"z\":1.0}}"), "{params}");
    }

    #[test]
    fn what_is_sent_has_the_name_of_the_target() {
        let tool = Target::tool("größe");
        sends(
            &tool,
            r#"{ "a":1.10,"name":"s__x"}"#,
            r#"{ "a":1.10,"name":"größe"}"#,
        );
        sends(&tool, r#"{"a":1.10}"#, r#"{"a":1.10,"name":"größe"}"#);
        sends(
            &tool,
            r#"{"name":"a","name":"größe"}"#,
            r#"{"name":"größe"}"#,
        );
        // Another spelling of the same name is the same name.
        let same = r#"{"n\u0061me":"gr\u00f6ße","a":1.10}"#;
        sends(&tool, same, same);
        let reads = Target::resource("a://b");
        sends(
            &reads,
            r#"{"uri":"c","name":1}"#,
            r#"{"uri":"a://b","name":1}"#,
        );
        let params = raw(r#"{"ref":{"type":"ref/prompt","name":"s__x"},"a":1.10}"#);
        let completes = Target::of(method::COMPLETE, Some(&params)).expect("a reference");
        let renamed = r#"{"ref":{"type":"ref/prompt","name":"x"},"a":1.10}"#;
        sends(&completes.clone().renamed("x"), params.as_str(), renamed);
        sends(&completes, params.as_str(), params.as_str());
        let other = [("name", Edit::Set(raw("\"other\"")))];
        for params in [r#"{"name":"größe"}"#, r#"{"name":"x"}"#, "{}"] {
            let made = tool.params(Some(&raw(params)), &other);
            assert_eq!(made, Ok(Some(raw(r#"{"name":"größe"}"#))), "{params}");
        }
        let unknown = r#"{"name":"x","name":"y"}"#;
        sends(&Target::method_alone("vendor/do"), unknown, unknown);
    }

    #[test]
    fn params_that_are_none_stay_none_where_nothing_is_named() {
        let target = Target::method_alone("vendor/do");
        assert_eq!(target.params(None, &[]), Ok(None));
        let made = Target::tool("x").params(None, &[]);
        assert_eq!(made, Ok(Some(raw(r#"{"name":"x"}"#))));
        assert!(Target::tool("x").params(Some(&raw("[]")), &[]).is_err());
        let list = raw("[]");
        assert_eq!(target.params(Some(&list), &[]), Ok(Some(list)));
    }
}
