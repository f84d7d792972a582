//! One entry under `mcpServers`, from JSON to [`ServerEntry`]. Any fault breaks this entry only.

use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use super::{
    credentials, duration, entry_faults,
    entry_switches::EntrySwitches,
    fields::{BadField, ObjectFields},
    fingerprint::{fingerprint, fingerprint_as_written},
    read_isolation::{self, ContainerDefaults},
    read_transport::{read_transport, without_effect},
    references::{SecretLookup, ValueLookup},
    server_entry::{
        IdleTimeout, ProtocolEra, RemoteKind, Root, ServerEntry, SessionScope, Start, ToolChanges,
        Transport,
    },
    settings::Environment,
    surroundings::Surroundings,
    tool_filter::{Globs, ToolAcl, ToolFilter},
    unknown_keys,
};
use crate::{
    runtime::sync::Guarded,
    text::{
        names::ServerName,
        secret::{Secret, Secrets},
    },
};

/// What an entry needs to know of the rest of the configuration.
pub(super) struct Context<'a> {
    pub(super) surroundings: &'a Surroundings<'a>,
    pub(super) secrets: SecretLookup<'a>,
    /// Those that the settings have, which are in the environment of servers where that refers to them.
    pub(super) secrets_of_settings: &'a [(String, Secret)],
    pub(super) environment: &'a Environment,
    /// `$MCP_TIMEOUT`, where it counts.
    pub(super) init_timeout: Option<Duration>,
    /// What `docker_isolation` says.
    pub(super) containers: ContainerDefaults,
}

/// Every key of an entry, for suggestions.
pub(super) const KEYS: &[&str] = &[
    "command",
    "args",
    "env",
    "cwd",
    "working_dir",
    "url",
    "headers",
    "ca_file",
    "client_cert",
    "type",
    "protocol",
    "transport",
    "enabled",
    "disabled",
    "quarantined",
    "changed_by",
    "idle_timeout",
    "min_idle_timeout",
    "max_idle_timeout",
    "start",
    "session_scope",
    "protocol_era",
    "roots",
    "enabled_tools",
    "disabled_tools",
    "tool_changes",
    "tool_acl",
    "init_timeout",
    "call_tool_timeout",
    "max_concurrent_requests",
    "oauth",
    "isolation",
];

/// Whether an entry may have this key.
pub fn is_entry_key(key: &str) -> bool {
    KEYS.contains(&key)
}

/// Keys that the Go program writes for itself.
const NOTES: &[&str] = &["created", "updated"];

const INIT_TIMEOUT: Duration = Duration::from_mins(1);
const FIRST_INIT_TIMEOUT: Duration = Duration::from_mins(5);
const CALL_TOOL_TIMEOUT: Duration = Duration::from_mins(2);
const MIN_IDLE_TIMEOUT: Duration = Duration::from_mins(1);
const MAX_IDLE_TIMEOUT: Duration = Duration::from_mins(5);

/// Limit: shorter timeouts are mistakes about the unit.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(100);
/// Limit: closing sooner would start the server anew for each call.
const SHORTEST_IDLE_TIMEOUT: Duration = Duration::from_secs(1);
/// Limit: more requests than this in flight is the same as no bound.
const MOST_REQUESTS: usize = 100_000;

/// Reads one entry, and says what of it was ignored.
pub(super) fn read_entry(
    name: &ServerName,
    entry: &Map<String, Value>,
    context: &Context<'_>,
) -> Result<(ServerEntry, Vec<String>), BadField> {
    let known = [KEYS, NOTES].concat();
    let filled = References::Filled;
    let read = read_known(name.clone(), entry.clone(), context, filled).map_err(|first| {
        let unknown = unknown_keys::in_broken_entry(entry.keys(), &known);
        let others = entry_faults::others(&first, entry.clone(), |entry| {
            read_known(name.clone(), entry, context, filled).err()
        });
        BadField {
            problem: first.problem + &others + &unknown,
            ..first
        }
    })?;
    let Some((key, meant)) = unknown_keys::misspelt_guard(entry, &known) else {
        return Ok(read);
    };
    let others = entry.keys().filter(|other| *other != key);
    let unknown = unknown_keys::in_broken_entry(others, &known);
    let problem = format_args!(
        "is unknown, did you mean `{meant}`? Without that the server would be guarded less than was meant{unknown}"
    );
    Err(BadField::new(key, problem))
}

/// The same without what it refers to: what stands in an entry of which only that is missing.
pub(super) fn read_unresolved(
    name: &ServerName,
    entry: &Map<String, Value>,
    context: &Context<'_>,
) -> Option<ServerEntry> {
    let read = read_known(name.clone(), entry.clone(), context, References::Left);
    read.ok().map(|(entry, _)| entry)
}

/// What becomes of references.
#[derive(Clone, Copy, PartialEq, Eq)]
enum References {
    /// They are filled in where the entry may be used.
    Filled,
    /// They stay as they are.
    Left,
}

fn read_known(
    name: ServerName,
    entry: Map<String, Value>,
    context: &Context<'_>,
    references: References,
) -> Result<(ServerEntry, Vec<String>), BadField> {
    let as_written = fingerprint_as_written(&entry);
    let switches = EntrySwitches::read(&entry)?;
    let EntrySwitches {
        enabled,
        quarantined,
        changed_by,
    } = switches;
    let resolved = Guarded::new(Vec::new());
    let noting = |name: &str| {
        let value = (context.surroundings.lookup)(name)?;
        let credentials = credentials::in_variable(name, &value);
        resolved.lock().extend(credentials);
        Some(value)
    };
    let found = Guarded::new(Vec::new());
    let finding = |name: &str| -> Result<Secret, String> {
        let value = (context.secrets)(name)?;
        // Whatever a secret looks like, it is one.
        resolved.lock().push(value.reveal().to_owned());
        found.lock().push((name.to_owned(), value.clone()));
        Ok(value)
    };
    let lookup = ValueLookup {
        variables: &noting,
        secrets: &finding,
    };
    let is_filled = references == References::Filled && switches.let_it_be_used();
    let mut fields = ObjectFields::new(entry, is_filled.then_some(lookup));
    for read_above in ["enabled", "disabled", "quarantined", "changed_by"] {
        fields.value(read_above);
    }
    for note in NOTES {
        fields.value(note);
    }

    let mut said_of_oauth = Vec::new();
    let mut transport = read_transport(&mut fields, context.surroundings, &mut said_of_oauth)?;
    let is_stdio = matches!(transport, Transport::Stdio(_));
    let mut warnings = without_effect(&mut fields, &transport);
    read_isolation::read(
        &mut fields,
        &mut transport,
        &context.containers,
        &mut warnings,
    )?;
    warnings.extend(said_of_oauth);
    let idle_timeout = read_idle_timeout(&mut fields, is_stdio, &mut warnings)?;
    let starts = [("on_demand", Start::OnDemand), ("eager", Start::Eager)];
    let start = fields.choice("start", &starts)?.unwrap_or(Start::OnDemand);
    let changes = [("hold", ToolChanges::Hold), ("allow", ToolChanges::Allow)];
    let tool_changes = fields
        .choice("tool_changes", &changes)?
        .unwrap_or(ToolChanges::Hold);
    let roots = read_roots(&mut fields)?;
    let tools = ToolFilter {
        enabled: fields.globs("enabled_tools")?,
        disabled: fields.globs("disabled_tools")?.unwrap_or_default(),
    };
    if tools.enabled.as_ref().is_some_and(Globs::is_empty) {
        warnings.push("`enabled_tools` is empty: none of the server's tools is offered".to_owned());
    }
    let tool_acl = read_tool_acl(&mut fields)?;
    let (init_timeout, first_init_timeout) = read_init_timeout(&mut fields, &transport, context)?;
    let session_scope = read_session_scope(&mut fields)?;
    let protocol_era = read_protocol_era(&mut fields, &transport, &mut warnings)?;
    let call_tool_timeout = fields
        .duration("call_tool_timeout", SHORTEST_TIMEOUT)?
        .unwrap_or(CALL_TOOL_TIMEOUT);
    let max_concurrent_requests = fields.count("max_concurrent_requests", 1..=MOST_REQUESTS)?;
    warnings.extend(fields.unknown(KEYS));

    let found = std::mem::take(&mut *found.lock());
    let environment = context.environment;
    let uses_secrets = !found.is_empty();
    let found = [found, context.secrets_of_settings.to_vec()].concat();
    let fingerprint = fingerprint(&transport, protocol_era, &roots, environment, found);
    let resolved = std::mem::take(&mut *resolved.lock());
    let secrets = secrets(&transport, environment, resolved);
    let entry = ServerEntry {
        name,
        transport,
        enabled,
        quarantined,
        changed_by,
        idle_timeout,
        start,
        session_scope,
        protocol_era,
        roots,
        tools,
        tool_changes,
        tool_acl,
        init_timeout,
        first_init_timeout,
        call_tool_timeout,
        max_concurrent_requests,
        fingerprint,
        as_written,
        secrets,
        former_secrets: Secrets::default(),
        uses_secrets,
    };
    Ok((entry, warnings))
}

/// What must not show when the server or a library repeats it.
fn secrets(transport: &Transport, environment: &Environment, resolved: Vec<String>) -> Secrets {
    let set = |(name, value): (&String, &Secret)| credentials::in_setting(name, value.reveal());
    let mut texts = resolved;
    match transport {
        Transport::Stdio(stdio) => {
            texts.extend(credentials::in_arguments(&stdio.args));
            if let Some(isolation) = &stdio.isolation {
                texts.extend(credentials::in_arguments(&isolation.extra_args));
            }
            texts.extend(stdio.env.iter().chain(&environment.set).flat_map(set));
        }
        Transport::Remote(remote) => {
            texts.extend(credentials::in_url(&remote.url));
            let values = remote.headers.iter().map(|(_, value)| value);
            texts.extend(values.map(|value| value.reveal().to_owned()));
            let secret = remote.oauth.client_secret.iter();
            texts.extend(secret.map(|secret| secret.reveal().to_owned()));
            let extra = remote.oauth.extra_params.iter();
            texts.extend(
                extra.flat_map(|(name, value)| credentials::in_setting(name, value.reveal())),
            );
        }
    }
    Secrets::new(texts)
}

fn read_session_scope(fields: &mut ObjectFields<'_>) -> Result<SessionScope, BadField> {
    let scopes = [
        ("auto", SessionScope::Auto),
        ("shared", SessionScope::Shared),
        ("client", SessionScope::Client),
        ("workspace", SessionScope::Workspace),
    ];
    let written = fields.choice("session_scope", &scopes)?;
    Ok(written.unwrap_or(SessionScope::Auto))
}

fn read_protocol_era(
    fields: &mut ObjectFields<'_>,
    transport: &Transport,
    warnings: &mut Vec<String>,
) -> Result<ProtocolEra, BadField> {
    let eras = [
        ("auto", ProtocolEra::Auto),
        ("legacy", ProtocolEra::Legacy),
        ("modern", ProtocolEra::Modern),
    ];
    let era = fields.choice("protocol_era", &eras)?;
    let is_sse = matches!(transport, Transport::Remote(remote) if remote.kind == RemoteKind::Sse);
    if is_sse && era == Some(ProtocolEra::Modern) {
        warnings.push(
            "`protocol_era` has no effect: HTTP+SSE always begins with a handshake".to_owned(),
        );
    }
    Ok(era.unwrap_or(ProtocolEra::Auto))
}

fn read_idle_timeout(
    fields: &mut ObjectFields<'_>,
    is_stdio: bool,
    warnings: &mut Vec<String>,
) -> Result<IdleTimeout, BadField> {
    let least = fields.duration("min_idle_timeout", SHORTEST_IDLE_TIMEOUT)?;
    let most = fields.duration("max_idle_timeout", SHORTEST_IDLE_TIMEOUT)?;
    let (min, max) = match (least, most) {
        (Some(min), Some(max)) if min > max => {
            return Err(fields.bad("min_idle_timeout", "is longer than `max_idle_timeout`"));
        }
        (Some(min), Some(max)) => (min, max),
        // Where only one is given, the default of the other makes room for it.
        (Some(min), None) => (min, min.max(MAX_IDLE_TIMEOUT)),
        (None, Some(max)) => (max.min(MIN_IDLE_TIMEOUT), max),
        (None, None) => (MIN_IDLE_TIMEOUT, MAX_IDLE_TIMEOUT),
    };
    let adaptive = IdleTimeout::Adaptive { min, max };
    let written = fields.resolved("idle_timeout")?;
    let chosen = match written.as_ref().map(|value| (value, value.as_str())) {
        Some((_, Some("adaptive"))) => adaptive,
        None if is_stdio => adaptive,
        None | Some((_, Some("never"))) => IdleTimeout::Never,
        Some((value, _)) => duration::from_json(value)
            .filter(|time| *time >= SHORTEST_IDLE_TIMEOUT)
            .map(IdleTimeout::After)
            .ok_or_else(|| {
                let accepted =
                    "must be \"adaptive\", \"never\" or a duration of at least 1s such as \"2m\"";
                fields.bad("idle_timeout", accepted)
            })?,
    };
    if chosen != adaptive && (least.is_some() || most.is_some()) {
        let ignored =
            "`min_idle_timeout` and `max_idle_timeout` bound only \"adaptive\" and are ignored";
        warnings.push(ignored.to_owned());
    }
    Ok(chosen)
}

/// How long connecting may take, and how long the first time.
fn read_init_timeout(
    fields: &mut ObjectFields<'_>,
    transport: &Transport,
    context: &Context<'_>,
) -> Result<(Duration, Duration), BadField> {
    let given = fields.duration("init_timeout", SHORTEST_TIMEOUT)?;
    if let Some(given) = given.or(context.init_timeout) {
        return Ok((given, given));
    }
    let downloads = match transport {
        // An image may be missing at any start, and packages are never kept in a container that is removed.
        Transport::Stdio(stdio) if stdio.isolation.is_some() => {
            return Ok((FIRST_INIT_TIMEOUT, FIRST_INIT_TIMEOUT));
        }
        Transport::Stdio(stdio) => stdio.may_download(),
        Transport::Remote(_) => false,
    };
    let first = if downloads {
        FIRST_INIT_TIMEOUT
    } else {
        INIT_TIMEOUT
    };
    Ok((INIT_TIMEOUT, first))
}

fn read_tool_acl(fields: &mut ObjectFields<'_>) -> Result<ToolAcl, BadField> {
    let Some(mut acl) = fields.object("tool_acl")? else {
        return Ok(ToolAcl::default());
    };
    let classes = ToolAcl {
        read: acl.globs("read")?.unwrap_or_default(),
        write: acl.globs("write")?.unwrap_or_default(),
        destructive: acl.globs("destructive")?.unwrap_or_default(),
    };
    let known = ["read", "write", "destructive"];
    if let Some(key) = acl.keys().first() {
        return Err(acl.bad(key, unknown_keys::refused(key, &known)));
    }
    Ok(classes)
}

/// Roots are URIs, absolute paths, or objects with `uri` and `name`.
fn read_roots(fields: &mut ObjectFields<'_>) -> Result<Vec<Root>, BadField> {
    let accepted = "must be an array of absolute paths, URIs or {\"uri\", \"name\"} objects";
    let elements = match fields.value("roots") {
        None => return Ok(Vec::new()),
        Some(Value::Array(elements)) => elements,
        Some(_) => return Err(fields.bad("roots", accepted)),
    };
    let mut roots = Vec::with_capacity(elements.len());
    for (index, element) in elements.into_iter().enumerate() {
        let place = format!("roots[{index}]");
        let mut root = match element {
            Value::Object(root) => fields.nested(&place, root),
            text => fields.nested(&place, Map::from_iter([("uri".to_owned(), text)])),
        };
        let name = root.text("name")?.map(|name| name.value);
        let uri = root.text("uri")?.and_then(|uri| root_uri(&uri.value));
        let uri = uri.ok_or_else(|| fields.bad(&place, "is no absolute path and no URI"))?;
        roots.push(Root { uri, name });
    }
    Ok(roots)
}

/// What stands in the path of a URI as it is (RFC 3986, 2.3 and 3.3).
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The URI of a root written as a URI or as an absolute path.
fn root_uri(written: &str) -> Option<String> {
    if written.contains("://") {
        return Some(written.to_owned());
    }
    if !written.starts_with('/') {
        return None;
    }
    Some(format!("file://{}", utf8_percent_encode(written, PATH)))
}
