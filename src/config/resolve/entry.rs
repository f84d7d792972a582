//! One entry under `mcpServers`, as it is written, to a [`ServerEntry`]. Any fault breaks this entry only.

use std::time::Duration;

use jsonc_parser::ast;
use percent_encoding::{AsciiSet, utf8_percent_encode};
use serde_json::{Map, Value};

use super::{
    ContainerDefaults, isolation,
    transport::{transport, without_effect},
};
use crate::{
    config::{
        ConfigFinding, Environment, Globs, IdleTimeout, ProtocolEra, RemoteKind, Root, ServerEntry,
        Surroundings, ToolFilter, Transport, Warning, credentials, duration,
        entry_switches::EntrySwitches,
        finding::Checked,
        fingerprint::fingerprint,
        fingerprint_as_written, guards,
        raw::{RawEntry, RawRoot},
        references::{SecretLookup, ValueLookup},
        spanned::{self, ReadValue},
    },
    runtime::sync::Guarded,
    text::{Secret, Secrets, ServerName, percent::UNRESERVED},
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

const INIT_TIMEOUT: Duration = Duration::from_mins(1);
const FIRST_INIT_TIMEOUT: Duration = Duration::from_mins(5);
const MIN_IDLE_TIMEOUT: Duration = Duration::from_mins(1);
const MAX_IDLE_TIMEOUT: Duration = Duration::from_mins(5);

/// Closing sooner would start the server anew for each call.
const SHORTEST_IDLE_TIMEOUT: Duration = Duration::from_secs(1);

/// Whether references are filled in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Filling {
    /// Where the entry may be used.
    WhereUsed,
    /// They stay as they are written.
    Never,
}

/// Reads one entry, and says what of it was ignored.
pub(super) fn read_entry(
    name: &ServerName,
    entry: &Map<String, Value>,
    written: &ast::Value<'_>,
    context: &Context<'_>,
    filling: Filling,
) -> Result<(ServerEntry, Vec<Warning>), Vec<ConfigFinding>> {
    let switches = EntrySwitches::read(entry);
    let may_be_used = switches.is_some_and(EntrySwitches::let_it_be_used);
    let is_filled = filling == Filling::WhereUsed && may_be_used;
    let lookup = ValueLookup {
        variables: context.surroundings.lookup,
        secrets: context.secrets,
    };
    let noted = Noted::default();
    let ReadValue { read, ignored } = noted.reading(lookup, |lookup| {
        spanned::read::<RawEntry>(written, is_filled.then_some(lookup))
    });
    let read = read.and_then(|raw| {
        let switches = switches.ok_or_else(|| vec![bad_switches(entry)])?;
        let made = made(name, raw, entry, context, is_filled);
        let mut made = made.map_err(|fault| vec![fault])?;
        made.0.enabled = switches.enabled;
        made.0.quarantined = switches.quarantined;
        made.0.changed_by = switches.changed_by;
        Ok(made)
    });
    let (mut entry, mut warnings) = match read {
        Err(mut faults) => {
            faults.extend(ignored);
            return Err(faults);
        }
        Ok(_)
            if ignored
                .iter()
                .any(|key| guards::is_misspelt_guard(key, entry)) =>
        {
            return Err(ignored);
        }
        Ok(read) => read,
    };
    warnings.extend(ignored.iter().map(guards::ignored));
    let found = noted.take_secrets();
    entry.uses_secrets = !found.is_empty();
    let found = [found, context.secrets_of_settings.to_vec()].concat();
    entry.fingerprint = fingerprint(
        &entry.transport,
        entry.protocol_era,
        &entry.roots,
        context.environment,
        found,
    );
    entry.secrets = secrets(&entry.transport, context.environment, noted.take_hidden());
    Ok((entry, warnings))
}

/// What is wrong with keys of which each by itself can be read.
fn bad_switches(entry: &Map<String, Value>) -> ConfigFinding {
    let [enabled, disabled] = ["enabled", "disabled"].map(|key| entry.get(key));
    if enabled.is_some_and(Value::is_boolean) && enabled == disabled {
        return ConfigFinding::new("disabled", "contradicts `enabled`");
    }
    ConfigFinding::new("changed_by", "must be \"person\" or \"agent\"")
}

/// The entry but for what decides whether it is used and what depends on its references; and what has no effect.
fn made(
    name: &ServerName,
    mut raw: RawEntry,
    entry: &Map<String, Value>,
    context: &Context<'_>,
    is_filled: bool,
) -> Checked<(ServerEntry, Vec<Warning>)> {
    let mut warnings = Vec::new();
    let mut transport = transport(&mut raw, context.surroundings, is_filled, &mut warnings)?;
    warnings.splice(..0, without_effect(entry, &transport));
    let written = std::mem::take(&mut raw.isolation);
    isolation::isolate_if_wanted(
        written,
        &mut transport,
        &context.containers,
        is_filled,
        &mut warnings,
    )?;
    let idle_timeout = idle_timeout(
        &mut raw,
        matches!(transport, Transport::Stdio(_)),
        &mut warnings,
    )?;
    let roots = raw.roots.into_iter().enumerate();
    let roots: Checked<Vec<Root>> = roots.map(|(at, written)| root(at, written)).collect();
    if raw.enabled_tools.as_ref().is_some_and(Globs::is_empty) {
        let what = "is empty: none of the server's tools is offered";
        warnings.push(Warning::of_key("enabled_tools", what));
    }
    let is_sse = matches!(&transport, Transport::Remote(remote) if remote.kind == RemoteKind::Sse);
    if is_sse && raw.protocol_era == ProtocolEra::Modern {
        let what = "has no effect: HTTP+SSE always begins with a handshake";
        warnings.push(Warning::of_key("protocol_era", what));
    }
    let given = raw.init_timeout.map(|time| time.0).or(context.init_timeout);
    let (init_timeout, first_init_timeout) =
        given.map_or_else(|| init_timeouts(&transport), |given| (given, given));
    let entry = ServerEntry {
        name: name.clone(),
        transport,
        enabled: false,
        quarantined: raw.quarantined,
        changed_by: raw.changed_by,
        idle_timeout,
        start: raw.start,
        session_scope: raw.session_scope,
        protocol_era: raw.protocol_era,
        roots: roots?,
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
        fingerprint: String::new(),
        as_written: fingerprint_as_written(entry),
        secrets: Secrets::default(),
        former_secrets: Secrets::default(),
        uses_secrets: false,
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

fn idle_timeout(
    raw: &mut RawEntry,
    is_stdio: bool,
    warnings: &mut Vec<Warning>,
) -> Checked<IdleTimeout> {
    let least = raw.min_idle_timeout.map(|time| time.0);
    let most = raw.max_idle_timeout.map(|time| time.0);
    let (min, max) = match (least, most) {
        (Some(min), Some(max)) if min > max => {
            let problem = "is longer than `max_idle_timeout`";
            return Err(ConfigFinding::new("min_idle_timeout", problem));
        }
        (Some(min), Some(max)) => (min, max),
        // Where only one is given, the default of the other makes room for it.
        (Some(min), None) => (min, min.max(MAX_IDLE_TIMEOUT)),
        (None, Some(max)) => (max.min(MIN_IDLE_TIMEOUT), max),
        (None, None) => (MIN_IDLE_TIMEOUT, MAX_IDLE_TIMEOUT),
    };
    let adaptive = IdleTimeout::Adaptive { min, max };
    let written = raw.idle_timeout.take().map(Value::from);
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
                ConfigFinding::new("idle_timeout", accepted)
            })?,
    };
    if chosen != adaptive && (least.is_some() || most.is_some()) {
        let ignored =
            "`min_idle_timeout` and `max_idle_timeout` bound only \"adaptive\" and are ignored";
        let key = if least.is_some() {
            "min_idle_timeout"
        } else {
            "max_idle_timeout"
        };
        warnings.push(Warning::new(ignored).at(key));
    }
    Ok(chosen)
}

/// How long connecting may take where nobody says it, and how long the first time.
fn init_timeouts(transport: &Transport) -> (Duration, Duration) {
    match transport {
        // An image may be missing at any start, and packages are never kept in a container that is removed.
        Transport::Stdio(stdio) if stdio.isolation.is_some() => {
            (FIRST_INIT_TIMEOUT, FIRST_INIT_TIMEOUT)
        }
        Transport::Stdio(stdio) if stdio.may_download() => (INIT_TIMEOUT, FIRST_INIT_TIMEOUT),
        _ => (INIT_TIMEOUT, INIT_TIMEOUT),
    }
}

/// Roots are URIs, absolute paths, or objects with `uri` and `name`.
fn root(at: usize, written: RawRoot) -> Checked<Root> {
    let (uri, name) = match written {
        RawRoot::String(uri) => (uri, None),
        RawRoot::Object(root) => (root.uri, root.name),
    };
    let uri = root_uri(&uri.value);
    Ok(Root {
        uri: uri.ok_or_else(|| {
            ConfigFinding::new(
                format!("roots[{at}]"),
                "is neither an absolute path nor a URI",
            )
        })?,
        name: name.map(|name| name.value),
    })
}

/// What stands in the path of a URI as it is (RFC 3986, 2.3 and 3.3).
const PATH: &AsciiSet = &UNRESERVED.remove(b'/');

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

// Lookups that note what they give: nothing of it may show in what is said of the text, and connections depend on which secrets are in it.

/// What lookups gave.
#[derive(Default)]
pub(super) struct Noted {
    hidden: Guarded<Vec<String>>,
    secrets: Guarded<Vec<(String, Secret)>>,
}

impl Noted {
    /// Reads with these lookups, and notes what they give.
    pub(super) fn reading<T>(
        &self,
        lookup: ValueLookup<'_>,
        read: impl FnOnce(ValueLookup<'_>) -> T,
    ) -> T {
        let variables = |name: &str| {
            let value = (lookup.variables)(name)?;
            let credentials = credentials::in_variable(name, &value);
            self.hidden.lock().extend(credentials);
            Some(value)
        };
        let secrets = |name: &str| {
            let value = (lookup.secrets)(name)?;
            self.hide([&value]);
            self.secrets.lock().push((name.to_owned(), value.clone()));
            Ok(value)
        };
        read(ValueLookup {
            variables: &variables,
            secrets: &secrets,
        })
    }

    /// Notes what must not show. Whatever a secret looks like, it is one.
    pub(super) fn hide<'s>(&self, secrets: impl IntoIterator<Item = &'s Secret>) {
        let values = secrets.into_iter().map(|secret| secret.reveal().to_owned());
        self.hidden.lock().extend(values);
    }

    /// What must not show.
    pub(super) fn take_hidden(&self) -> Vec<String> {
        std::mem::take(&mut *self.hidden.lock())
    }

    /// The secrets that were given, each with its name.
    pub(super) fn take_secrets(&self) -> Vec<(String, Secret)> {
        std::mem::take(&mut *self.secrets.lock())
    }
}
