//! Reads one entry under `mcpServers` into a [`ServerEntry`]. A mistake in it breaks this entry only.

use std::{path::Path, time::Duration};

use jsonc_parser::ast;
use serde_json::{Map, Value};

use super::{
    ContainerDefaults,
    idle_timeout::idle_timeout,
    isolation,
    roots::roots,
    transport::{transport, without_effect},
    used_values::UsedValues,
};
use crate::{
    config::{
        ConfigFinding, Environment, Globs, ProtocolEra, RemoteKind, ServerEntry, Surroundings,
        ToolFilter, Transport, Warning, credentials, document,
        entry_switches::EntrySwitches,
        finding::Checked,
        fingerprint::fingerprint,
        fingerprint_as_written, guards,
        raw::RawEntry,
        references::{Resolution, SecretLookup, ValueLookup},
        spanned::{self, ReadValue},
    },
    text::{Secret, Secrets, ServerName},
};

/// What the reading of an entry needs from the rest of the configuration.
pub(super) struct Context<'a> {
    pub(super) surroundings: &'a Surroundings<'a>,
    pub(super) secrets: SecretLookup<'a>,
    /// The secrets that the top level uses, with their names: `environment` may pass them to servers.
    pub(super) secrets_of_settings: &'a [(String, Secret)],
    pub(super) environment: &'a Environment,
    /// The value of `$MCP_TIMEOUT`, if it is set and valid.
    pub(super) init_timeout: Option<Duration>,
    /// The values of `docker_isolation`.
    pub(super) containers: ContainerDefaults,
}

const INIT_TIMEOUT: Duration = Duration::from_mins(1);
const FIRST_INIT_TIMEOUT: Duration = Duration::from_mins(5);

/// An entry as it is written.
#[derive(Clone, Copy)]
pub(super) struct WrittenEntry<'a> {
    pub(super) name: &'a ServerName,
    /// Its members by their keys.
    pub(super) members: &'a Map<String, Value>,
    /// The same members in the syntax tree, with their places in the text.
    pub(super) tree: &'a ast::Value<'a>,
}

/// Reads one entry, with warnings of what was ignored. Its references are resolved if that is `wanted` and the entry may be used.
pub(super) fn read_entry(
    written: WrittenEntry<'_>,
    context: &Context<'_>,
    wanted: Resolution,
) -> Result<(ServerEntry, Vec<Warning>), Vec<ConfigFinding>> {
    let switches = EntrySwitches::read(written.members);
    let resolution = if switches.is_some_and(EntrySwitches::may_be_used) {
        wanted
    } else {
        Resolution::Omitted
    };
    let lookup = ValueLookup {
        variables: context.surroundings.lookup,
        secrets: context.secrets,
    };
    let used = UsedValues::default();
    let ReadValue { read, ignored } = used.noting(lookup, |lookup| {
        spanned::read::<RawEntry>(written.tree, resolution.is_done().then_some(lookup))
    });
    let entry = read.and_then(|raw| {
        let switches = switches.ok_or_else(|| bad_switches(written.members));
        let entry = switches
            .and_then(|switches| make_entry(raw, written, switches, context, &used, resolution));
        entry.map_err(|fault| vec![fault])
    });
    let is_misspelt_guard = |key: &ConfigFinding| guards::is_misspelt_guard(key, written.members);
    match entry {
        Ok(_) if ignored.iter().any(is_misspelt_guard) => Err(ignored),
        Ok((entry, mut warnings)) => {
            warnings.extend(ignored.iter().map(guards::ignored));
            Ok((entry, warnings))
        }
        Err(mut faults) => {
            faults.extend(ignored);
            Err(faults)
        }
    }
}

/// Reads an entry by itself: without the rest of the configuration, variables and secrets.
pub(in crate::config) fn read_alone(
    name: &ServerName,
    members: &Map<String, Value>,
) -> Result<ServerEntry, Vec<ConfigFinding>> {
    let nothing = ValueLookup::to_variables(&|_| None);
    let context = Context {
        surroundings: &Surroundings {
            lookup: nothing.variables,
            folder: Path::new("/"),
        },
        secrets: nothing.secrets,
        secrets_of_settings: &[],
        environment: &Environment::default(),
        init_timeout: None,
        containers: ContainerDefaults::default(),
    };
    let text = Value::Object(members.clone()).to_string();
    let tree = document::tree(&text).ok().flatten();
    let tree = tree.ok_or_else(|| vec![ConfigFinding::new("", "is nested too deeply")])?;
    let written = WrittenEntry {
        name,
        members,
        tree: &tree,
    };
    read_entry(written, &context, Resolution::Done).map(|(entry, _)| entry)
}

/// Why [`EntrySwitches::read`] gave nothing, although the type of each key is right.
fn bad_switches(entry: &Map<String, Value>) -> ConfigFinding {
    let [enabled, disabled] = ["enabled", "disabled"].map(|key| entry.get(key));
    if enabled.is_some_and(Value::is_boolean) && enabled == disabled {
        return ConfigFinding::new("disabled", "contradicts `enabled`");
    }
    ConfigFinding::new("changed_by", "must be \"person\" or \"agent\"")
}

/// Makes the entry of its keys, with warnings of keys without effect. `used` has the values of its references.
fn make_entry(
    mut raw: RawEntry,
    written: WrittenEntry<'_>,
    switches: EntrySwitches,
    context: &Context<'_>,
    used: &UsedValues,
    resolution: Resolution,
) -> Checked<(ServerEntry, Vec<Warning>)> {
    let mut warnings = Vec::new();
    let mut transport = transport(&mut raw, context.surroundings, resolution, &mut warnings)?;
    warnings.splice(..0, without_effect(written.members, &transport));
    isolation::isolate_if_wanted(
        std::mem::take(&mut raw.isolation),
        &mut transport,
        &context.containers,
        resolution,
        &mut warnings,
    )?;
    let idle_timeout = idle_timeout(&mut raw, &transport, &mut warnings)?;
    let roots = roots(raw.roots)?;
    if raw.enabled_tools.as_ref().is_some_and(Globs::is_empty) {
        let what = "is empty: none of the server's tools is offered";
        warnings.push(Warning::of_key("enabled_tools", what));
    }
    let is_sse = matches!(&transport, Transport::Remote(remote) if remote.kind == RemoteKind::Sse);
    if is_sse && raw.protocol_era == ProtocolEra::Modern {
        let what = "has no effect: HTTP+SSE always begins with a handshake";
        warnings.push(Warning::of_key("protocol_era", what));
    }
    let chosen = raw.init_timeout.map(|time| time.0).or(context.init_timeout);
    let (init_timeout, first_init_timeout) =
        chosen.map_or_else(|| init_timeouts(&transport), |chosen| (chosen, chosen));
    let used_secrets = used.take_secrets();
    let has_secrets = !used_secrets.is_empty();
    let entry = ServerEntry {
        name: written.name.clone(),
        enabled: switches.enabled,
        quarantined: switches.quarantined,
        changed_by: switches.changed_by,
        idle_timeout,
        start: raw.start,
        session_scope: raw.session_scope,
        protocol_era: raw.protocol_era,
        tools: ToolFilter {
            enabled: raw.enabled_tools,
            disabled: raw.disabled_tools,
        },
        tool_changes: raw.tool_changes,
        new_tools: raw.new_tools,
        tool_acl: raw.tool_acl,
        init_timeout,
        first_init_timeout,
        call_tool_timeout: raw.call_tool_timeout.0,
        max_concurrent_requests: raw.max_concurrent_requests.map(|count| count.0),
        fingerprint: fingerprint(
            &transport,
            raw.protocol_era,
            &roots,
            context.environment,
            [&used_secrets[..], context.secrets_of_settings].concat(),
        ),
        as_written: fingerprint_as_written(written.members),
        secrets: secrets(&transport, context.environment, used.take_hidden()),
        former_secrets: Secrets::default(),
        uses_secrets: has_secrets,
        transport,
        roots,
    };
    Ok((entry, warnings))
}

/// The texts to mask when the server or a library repeats them: `hidden`, and what looks like a credential in the entry.
fn secrets(transport: &Transport, environment: &Environment, hidden: Vec<String>) -> Secrets {
    let set = |(name, value): (&String, &Secret)| credentials::in_setting(name, value.reveal());
    let mut texts = hidden;
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

/// The default of `init_timeout`, and that of the first start.
fn init_timeouts(transport: &Transport) -> (Duration, Duration) {
    match transport {
        // Any start may have to download: the image may be missing, and packages do not outlast their container.
        Transport::Stdio(stdio) if stdio.isolation.is_some() => {
            (FIRST_INIT_TIMEOUT, FIRST_INIT_TIMEOUT)
        }
        Transport::Stdio(stdio) if stdio.may_download() => (INIT_TIMEOUT, FIRST_INIT_TIMEOUT),
        _ => (INIT_TIMEOUT, INIT_TIMEOUT),
    }
}
