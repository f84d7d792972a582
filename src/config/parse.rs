//! The text of a configuration file as [`Settings`]. Pure: variables come through a lookup, no file is read.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use serde_json::{Map, Value};

use super::{
    ConfigError, activity,
    document::{self, Document, SERVERS, WrittenServer},
    fields::{BadField, ObjectFields},
    keyring::{KeyringChoice, KeyringLookup},
    keyring_place::read_keyring_place,
    listen::{BadListen, Listen},
    lock_key,
    ourselves::{BEHIND_ITSELF, LeadsTo, OurAddress},
    profiles, rate_limit,
    read_entry::{Context, read_entry, read_unresolved},
    read_groups::{read_code_execution, read_intervals, read_management, read_response_limit},
    read_isolation::{self, ContainerDefaults},
    read_otlp,
    read_transport::is_variable,
    references::{ValueLookup, VariableLookup},
    rule_warnings, secret_uses, server_auth,
    server_entry::ServerEntry,
    settings::{BrokenEntry, Environment, Inherit, RoutingMode, Settings},
    surroundings::Surroundings,
    unknown_keys, unknown_servers,
};
use crate::{
    runtime::sync::Guarded,
    text::{names::ServerName, secret::Secret},
};

/// Every key of the top level, for suggestions.
pub(super) const KEYS: &[&str] = &[
    SERVERS,
    "listen",
    "data_dir",
    "lock_file",
    "routing_mode",
    "tools_limit",
    "top_k",
    "legacy_call_tool",
    "management",
    "tool_discovery_interval",
    "idle_check_interval",
    "health_check_interval",
    "api_key",
    "session_key",
    "keyring",
    "serverAuth",
    "profiles",
    "enable_code_execution",
    "code_execution_timeout_ms",
    "code_execution_max_tool_calls",
    "tool_response_limit",
    "intent_declaration",
    "activity",
    "otlp_endpoint",
    "rate_limit",
    "trusted_hosts",
    "trusted_origins",
    "environment",
];

/// Keys that mean something to editors only.
pub(super) const NOTES: &[&str] = &["$schema"];

/// Limit: `$MCP_TIMEOUT` above this many seconds is taken for milliseconds, which other programs mean by it.
const LONGEST_MCP_TIMEOUT: u64 = 600;

/// Limit: searches never return more.
const MOST_RESULTS: usize = 1_000;

/// Reads a configuration. An empty text is an empty configuration.
pub fn parse(text: &str, surroundings: &Surroundings<'_>) -> Result<Settings, ConfigError> {
    let nowhere: KeyringLookup = Arc::new(|_, _| BTreeMap::new());
    parse_with_secrets(text, surroundings, &nowhere)
}

/// [`parse`], where secrets can be looked up.
pub(super) fn parse_with_secrets(
    text: &str,
    surroundings: &Surroundings<'_>,
    keyring: &KeyringLookup,
) -> Result<Settings, ConfigError> {
    let read_without = |bad: &BTreeSet<String>| {
        let mut document = document::read(text)?;
        document.settings.retain(|key, _| !bad.contains(key));
        read(text, document, surroundings, keyring)
    };
    read_without(&BTreeSet::new()).map_err(|first| {
        let others = other_mistakes(&first, read_without);
        first.and(others).placed(text)
    })
}

/// What else is wrong at the top level: what is found there without the keys that are known to be wrong.
fn other_mistakes(
    first: &ConfigError,
    read_without: impl Fn(&BTreeSet<String>) -> Result<Settings, ConfigError>,
) -> Vec<ConfigError> {
    let key_of = |error: &ConfigError| match error {
        ConfigError::BadValue { key, .. } => key.split(['.', '[']).next().map(str::to_owned),
        _ => None,
    };
    let (mut bad, mut others) = (BTreeSet::new(), Vec::new());
    let mut last = key_of(first);
    // Each time with one key less, so this ends.
    while let Some(key) = last.take()
        && KEYS.contains(&&*key)
        && bad.insert(key)
    {
        if let Err(error) = read_without(&bad) {
            last = key_of(&error);
            others.extend(last.is_some().then_some(error));
        }
    }
    others
}

fn read(
    text: &str,
    document: Document,
    surroundings: &Surroundings<'_>,
    keyring: &KeyringLookup,
) -> Result<Settings, ConfigError> {
    let mut settings = Settings::default();
    let wanted = secret_uses::wanted(&document);
    let mut values = BTreeMap::new();
    if !wanted.is_empty() {
        values = keyring(
            &read_keyring_place(&document.settings, surroundings)?,
            &wanted,
        );
    }
    let secrets = |name: &str| {
        let value = values.get(name).cloned();
        value.unwrap_or_else(|| Err("is not looked up here".to_owned()))
    };
    let of_settings = Guarded::new(Vec::new());
    let noting = |name: &str| {
        let value = secrets(name)?;
        of_settings.lock().push((name.to_owned(), value.clone()));
        Ok(value)
    };
    settings.lacks_secrets = values.values().any(Result::is_err);
    for path in &document.repeated {
        settings
            .warnings
            .push(format!("`{path}` stands twice; the last one counts"));
    }
    let lookup = ValueLookup {
        variables: surroundings.lookup,
        secrets: &noting,
    };
    let mut fields = ObjectFields::new(document.settings, Some(lookup));
    let server_auth = server_auth::read(text, KEYS, lookup, &mut settings.warnings)?;
    settings.server_auth = server_auth.map(Arc::new);
    fields.value("serverAuth");
    lock_key::check(text, KEYS)?;
    fields.flag("require_mcp_auth")?;
    let containers = read_isolation::read_defaults(&mut fields, &mut settings.warnings)?;
    read_settings(&mut fields, surroundings, &mut settings)?;
    settings.warnings.extend(fields.unknown(KEYS));
    let init_timeout = read_mcp_timeout(surroundings.lookup, &mut settings.warnings);
    let context = Context {
        surroundings,
        secrets: &secrets,
        secrets_of_settings: &of_settings.lock().clone(),
        environment: &settings.environment.clone(),
        init_timeout,
        containers,
    };
    read_servers(document.servers, &context, &mut settings);
    let unknown = unknown_servers::warnings(&settings);
    settings.warnings.extend(unknown);
    let idle = rule_warnings::warnings(&settings);
    settings.warnings.extend(idle);
    Ok(settings)
}

fn read_settings(
    fields: &mut ObjectFields<'_>,
    surroundings: &Surroundings<'_>,
    settings: &mut Settings,
) -> Result<(), BadField> {
    if let Some(listen) = fields.text("listen")? {
        settings.listen = listen.value.parse::<Listen>().map_err(|_| {
            fields.bad(
                "listen",
                format_args!("is wrong: {}", BadListen(listen.shown)),
            )
        })?;
    }
    settings.data_dir = fields
        .text("data_dir")?
        .map(|written| surroundings.path(&written.value));
    if let Some(written) = fields.text("lock_file")? {
        if written.value.trim().is_empty() {
            return Err(fields.bad("lock_file", "is empty once its references are filled in"));
        }
        settings.lock_file = Some(surroundings.path(&written.value));
    }
    if let Some(mode) = fields.choice("routing_mode", &RoutingMode::ALL)? {
        settings.routing_mode = mode;
    }
    if let Some(limit) = fields.count("tools_limit", 1..=MOST_RESULTS)? {
        settings.tools_limit = limit;
    }
    if let Some(count) = fields.count("top_k", 0..=MOST_RESULTS)? {
        settings.top_k = count;
    }
    if let Some(listed) = fields.flag("legacy_call_tool")? {
        settings.legacy_call_tool = listed;
    }
    settings.management = read_management(fields)?;
    settings.code_execution = read_code_execution(fields)?;
    settings.tool_response_limit = read_response_limit(fields, &mut settings.warnings)?;
    read_intervals(fields, settings)?;
    read_keys(fields, surroundings.lookup, settings)?;
    if let Some(choice) = fields.choice("keyring", &KeyringChoice::ALL)? {
        settings.keyring = choice;
    }
    settings.profiles = profiles::read(fields)?;
    let (limit, warnings) = rate_limit::read(fields)?;
    settings.rate_limit = limit;
    settings.warnings.extend(warnings);
    settings.trusted_hosts = read_texts(fields, "trusted_hosts")?;
    settings.trusted_origins = read_texts(fields, "trusted_origins")?;
    if let Some(mut intent) = fields.object("intent_declaration")? {
        if let Some(strict) = intent.flag("strict_server_validation")? {
            settings.strict_server_validation = strict;
        }
        settings
            .warnings
            .extend(intent.unknown(&["strict_server_validation"]));
    }
    if let Some(mut written) = fields.object("activity")? {
        settings.activity = activity::read(&mut written, &mut settings.warnings)?;
    }
    settings.otlp_endpoint = read_otlp::read(fields)?;
    if let Some(mut environment) = fields.object("environment")? {
        settings.environment = read_environment(&mut environment)?;
        settings
            .warnings
            .extend(environment.unknown(&["inherit", "set"]));
    }
    for key in NOTES {
        fields.value(key);
    }
    Ok(())
}

fn read_keys(
    fields: &mut ObjectFields<'_>,
    lookup: VariableLookup<'_>,
    settings: &mut Settings,
) -> Result<(), BadField> {
    settings.api_key = read_api_key(fields, &mut settings.warnings)?;
    let from_variable = lookup("MCPPROXY_SESSION_KEY").filter(|key| !key.is_empty());
    let written = fields.text("session_key")?.map(|key| key.value);
    for (name, key) in [
        ("session_key", written.as_ref()),
        ("$MCPPROXY_SESSION_KEY", from_variable.as_ref()),
    ] {
        if key.is_some_and(|key| is_guessable(key)) {
            return Err(fields.bad(name, "is too easy to guess: whoever knows it can make session ids. It must have at least 32 characters, 12 different ones among them, as `openssl rand -base64 32` prints them; without it a key is made and kept in the data folder"));
        }
    }
    settings.session_key = from_variable.or(written).map(Secret::new);
    Ok(())
}

/// Whether a key is shorter or plainer than random ones are.
fn is_guessable(key: &str) -> bool {
    let different: BTreeSet<char> = key.chars().collect();
    key.chars().count() < 32 || different.len() < 12
}

/// Limit: characters that the operator's key has at least.
const SHORTEST_API_KEY: usize = 12;

/// A key that is easy to guess does not count: then the one that is kept in the data folder does.
fn read_api_key(
    fields: &mut ObjectFields<'_>,
    warnings: &mut Vec<String>,
) -> Result<Option<Secret>, BadField> {
    let Some(key) = fields.text("api_key")? else {
        return Ok(None);
    };
    if key.value.chars().count() < SHORTEST_API_KEY {
        warnings.push(format!(
            "`api_key` is ignored: it has fewer than {SHORTEST_API_KEY} characters, so it can be guessed; the one in the file `api_key` of the data folder counts"
        ));
        return Ok(None);
    }
    Ok(Some(Secret::new(key.value)))
}

fn read_texts(fields: &mut ObjectFields<'_>, key: &str) -> Result<Vec<String>, BadField> {
    let texts = fields.texts(key)?.unwrap_or_default();
    Ok(texts.into_iter().map(|text| text.value).collect())
}

fn read_environment(fields: &mut ObjectFields<'_>) -> Result<Environment, BadField> {
    let inherit = if fields.is_array("inherit") {
        let also = fields.globs("inherit")?.unwrap_or_default();
        Inherit::Safe { also }
    } else {
        let words = [("safe", 0), ("all", 1), ("none", 2)];
        match fields.choice("inherit", &words)? {
            Some(1) => Inherit::All,
            Some(2) => Inherit::None,
            _ => Inherit::default(),
        }
    };
    let mut set = BTreeMap::new();
    for (name, text) in fields.named_texts("set")? {
        if !is_variable(&name) || text.value.contains('\0') {
            let key = format!("set.{}", name.escape_debug());
            return Err(fields.bad(&key, "cannot be an environment variable"));
        }
        set.insert(name, Secret::new(text.value));
    }
    Ok(Environment { inherit, set })
}

/// `$MCP_TIMEOUT`, in seconds.
fn read_mcp_timeout(lookup: VariableLookup<'_>, warnings: &mut Vec<String>) -> Option<Duration> {
    let written = lookup("MCP_TIMEOUT").filter(|text| !text.is_empty())?;
    match written.trim().parse::<u64>() {
        Ok(seconds) if (1..=LONGEST_MCP_TIMEOUT).contains(&seconds) => {
            Some(Duration::from_secs(seconds))
        }
        _ => {
            warnings.push(format!(
                "$MCP_TIMEOUT is {written:?} and is ignored: it counts seconds, from 1 to {LONGEST_MCP_TIMEOUT}"
            ));
            None
        }
    }
}

/// What is wrong with an entry before it stands in a file, but for its references, which only the daemon's environment resolves.
pub fn entry_fault(
    name: &ServerName,
    entry: &Map<String, Value>,
    us: &OurAddress,
) -> Option<String> {
    if us.is_behind(&LeadsTo::of_written(entry)) {
        return Some(format!("it {BEHIND_ITSELF}"));
    }
    let context = Context {
        surroundings: &Surroundings {
            lookup: &|_| None,
            folder: std::path::Path::new("/"),
        },
        secrets: ValueLookup::to_variables(&|_| None).secrets,
        secrets_of_settings: &[],
        environment: &Environment::default(),
        init_timeout: None,
        containers: ContainerDefaults::default(),
    };
    let fault = |entry: &Map<String, Value>| {
        let read = read_entry(name, entry, &context);
        read.err().map(|bad| bad.to_string())
    };
    if !has_references(&Value::Object(entry.clone())) {
        return fault(entry);
    }
    // Of what is switched off no reference is resolved.
    let mut unresolved = entry.clone();
    unresolved.insert("enabled".to_owned(), Value::Bool(false));
    unresolved.shift_remove("disabled");
    fault(&unresolved).or_else(|| fault(&without_references(entry)))
}

fn has_references(value: &Value) -> bool {
    value.to_string().contains("${")
}

/// What of an entry has no references, with something in place of what it cannot be without.
fn without_references(entry: &Map<String, Value>) -> Map<String, Value> {
    let rest = entry.iter().filter_map(|(key, value)| {
        let value = match (has_references(value), key.as_str()) {
            (false, _) => value.clone(),
            (true, "command") => "program".into(),
            (true, "url") => "https://localhost/".into(),
            (true, _) => return None,
        };
        Some((key.clone(), value))
    });
    rest.collect()
}

fn read_servers(servers: Vec<WrittenServer>, context: &Context<'_>, settings: &mut Settings) {
    let mut taken: HashMap<String, String> = HashMap::new();
    for (index, written) in servers.into_iter().enumerate() {
        let WrittenServer {
            name,
            entry,
            repeated,
        } = written;
        let place = name.unwrap_or_else(|| format!("{SERVERS}[{index}]"));
        let read = read_server(&place, &entry, context, &mut taken);
        let read = match unknown_keys::repeated_guard(&repeated) {
            Some(why) => read.and(Err(BrokenEntry::new(place, why))),
            None => read,
        };
        match read {
            Ok((entry, warnings)) => {
                let warnings = warnings
                    .iter()
                    .map(|w| format!("server {:?}: {w}", entry.name.as_str()));
                settings.warnings.extend(warnings);
                settings.servers.insert(entry.name.clone(), Arc::new(entry));
            }
            Err(broken) => settings.broken.push(broken.of(&entry)),
        }
    }
}

fn read_server(
    written: &str,
    entry: &Value,
    context: &Context<'_>,
    taken_by_lower_case: &mut HashMap<String, String>,
) -> Result<(ServerEntry, Vec<String>), BrokenEntry> {
    let broken = |reason: String| BrokenEntry::new(written.to_owned(), reason);
    if written.starts_with(SERVERS) && written.ends_with(']') {
        return Err(broken("the entry has no `name`".to_owned()));
    }
    let name = ServerName::parse(written).map_err(|error| broken(error.to_string()))?;
    if let Some(first) = taken_by_lower_case.insert(written.to_lowercase(), written.to_owned()) {
        taken_by_lower_case.insert(written.to_lowercase(), first.clone());
        return Err(broken(format!(
            "its name is taken: the entry {first:?} stands before it, and names have to differ in more than upper and lower case"
        )));
    }
    let Value::Object(entry) = entry else {
        return Err(broken("the entry must be an object {…}".to_owned()));
    };
    read_entry(&name, entry, context).map_err(|error| BrokenEntry {
        unresolved: read_unresolved(&name, entry, context).map(Arc::new),
        ..broken(error.to_string())
    })
}
