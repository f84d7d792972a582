//! The text of a configuration file as [`Settings`]. Pure: variables come through a lookup, no file is read.

mod entry;
mod isolation;
mod transport;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use jsonc_parser::ast;
use serde_json::{Map, Value};

pub use self::transport::is_set_for_each_request;
use self::{
    entry::{Context, read_entry},
    isolation::ContainerDefaults,
};
use super::{
    ConfigError,
    activity::{ActivitySettings, Kept},
    document::{self, Document, SERVERS, WrittenServer, tree},
    finding::{ConfigFinding, listed},
    guards,
    keyring::{KeyringLookup, KeyringPlace},
    ourselves::{BEHIND_ITSELF, LeadsTo, OurAddress},
    raw::{File, InheritWord, RawActivity, RawInherit, RawPlace, entry_keys},
    references::{Text, ValueLookup, VariableLookup},
    rule_warnings, secret_uses,
    server_auth::ServerAuth,
    server_entry::ServerEntry,
    settings::{AgentManagement, BrokenEntry, CodeExecution, Environment, Inherit, Settings},
    spanned::{self, ReadValue},
    surroundings::Surroundings,
    unknown_servers,
    values::{RawVariables, Word},
};
use crate::{
    runtime::sync::Guarded,
    text::{names::ServerName, secret::Secret},
};

/// Limit: `$MCP_TIMEOUT` above this many seconds is taken for milliseconds, which other programs mean by it.
const LONGEST_MCP_TIMEOUT: u64 = 600;

/// Limit: fewer characters would leave too little of a text beside the words on how to go on.
const SHORTEST_RESPONSE: usize = 1_000;

/// Limit: anything more often than this is load without use.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);

/// Limit: characters that the operator's key has at least.
const SHORTEST_API_KEY: usize = 12;

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
    let document = document::read(text)?;
    let wanted = secret_uses::wanted(&document);
    let mut values = BTreeMap::new();
    if !wanted.is_empty() {
        values = keyring(&place_of(&document, surroundings)?, &wanted);
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
    let lookup = ValueLookup {
        variables: surroundings.lookup,
        secrets: &noting,
    };
    let ReadValue { read, ignored } = match &document.root {
        Some(root) => spanned::read::<File>(root, Some(lookup)),
        None => ReadValue {
            read: Ok(File::default()),
            ignored: Vec::new(),
        },
    };
    let mut findings = guards::findings(&document);
    let mut file = read
        .map_err(|mut faults| findings.append(&mut faults))
        .unwrap_or_default();
    let containers = isolation::defaults(std::mem::take(&mut file.docker_isolation));
    let containers = containers.map_err(|fault| findings.push(fault));
    findings.extend(check(&file, surroundings.lookup));
    if !findings.is_empty() {
        let findings = findings.into_iter();
        let findings = findings.map(|one| located(one, &document)).collect();
        return Err(ConfigError::of(findings, document.text));
    }
    let mut settings = Settings::of(file, surroundings);
    settings.lacks_secrets = values.values().any(Result::is_err);
    let repeated = document.repeated.iter();
    let repeated = repeated.map(|path| format!("`{path}` stands twice; the last one counts"));
    let ignored = ignored.iter().map(guards::ignored);
    settings.warnings.splice(..0, repeated.chain(ignored));
    let init_timeout = read_mcp_timeout(surroundings.lookup, &mut settings.warnings);
    let context = Context {
        surroundings,
        secrets: &secrets,
        secrets_of_settings: &of_settings.lock().clone(),
        environment: &settings.environment.clone(),
        init_timeout,
        containers: containers.unwrap_or_default(),
    };
    read_servers(&document, &context, &mut settings);
    let unknown = unknown_servers::warnings(&settings);
    settings.warnings.extend(unknown);
    let idle = rule_warnings::warnings(&settings);
    settings.warnings.extend(idle);
    Ok(settings)
}

/// A finding with the place of the key of the top level that it is about.
fn located(finding: ConfigFinding, document: &Document<'_>) -> ConfigFinding {
    use jsonc_parser::common::Ranged;

    let key = finding.key.split(['.', '[']).next();
    let mut members = document.members().iter().rev();
    let member = members.find(|member| Some(member.name.as_str()) == key);
    ConfigFinding {
        at: finding.at.or(member.map(Ranged::start)),
        ..finding
    }
}

/// Where the text says that secrets are kept.
pub(super) fn keyring_place(
    text: &str,
    surroundings: &Surroundings<'_>,
) -> Result<KeyringPlace, ConfigError> {
    place_of(&document::read(text)?, surroundings)
}

/// Secrets cannot say where they are.
fn place_of(
    document: &Document<'_>,
    surroundings: &Surroundings<'_>,
) -> Result<KeyringPlace, ConfigError> {
    let lookup = ValueLookup::to_variables(surroundings.lookup);
    let Some(root) = &document.root else {
        return Ok(KeyringPlace::default());
    };
    let read = spanned::read::<RawPlace>(root, Some(lookup)).read;
    let raw = read.map_err(|faults| ConfigError::of(faults, document.text))?;
    Ok(KeyringPlace {
        choice: raw.keyring,
        data_dir: raw
            .data_dir
            .map(|written| surroundings.path(&written.value)),
    })
}

impl Settings {
    /// What the file says, but for its servers.
    fn of(file: File, surroundings: &Surroundings<'_>) -> Self {
        let mut warnings: Vec<String> = Vec::new();
        let auth = file.server_auth;
        warnings.extend(auth.iter().flat_map(ServerAuth::warnings));
        let api_key = file.api_key.as_ref().map(|key| &key.value);
        if api_key.is_some_and(|key| !is_long(key)) {
            warnings.push(format!(
                "`api_key` is ignored: it has fewer than {SHORTEST_API_KEY} characters, so it can be guessed; the one in the file `api_key` of the data folder counts"
            ));
        }
        let limit = file.tool_response_limit.0;
        let is_small = (1..SHORTEST_RESPONSE).contains(&limit);
        if is_small {
            warnings.push(format!(
                "`tool_response_limit` is {limit}; {SHORTEST_RESPONSE} counts, which is the least (0: off)"
            ));
        }
        let key = session_keys(file.session_key.as_ref(), surroundings.lookup);
        let interval = file.tool_discovery_interval.0;
        let profiles = file.profiles.into_iter();
        let path = |text: Option<Text>| text.map(|text| surroundings.path(&text.value));
        Self {
            listen: file.listen,
            data_dir: path(file.data_dir),
            lock_file: path(file.lock_file),
            routing_mode: file.routing_mode,
            tools_limit: file.tools_limit.0,
            top_k: file.top_k.0,
            legacy_call_tool: file.legacy_call_tool,
            // The Go program's words for the same restrictions count, too, and the strictest wins.
            management: match file.management {
                _ if file.disable_management == Some(true) => AgentManagement::Off,
                AgentManagement::Full if file.read_only_mode == Some(true) => AgentManagement::Read,
                written => written,
            },
            code_execution: CodeExecution {
                is_on: file.enable_code_execution,
                timeout_ms: file.code_execution_timeout_ms.0,
                max_tool_calls: file.code_execution_max_tool_calls.0,
            },
            tool_response_limit: if is_small { SHORTEST_RESPONSE } else { limit },
            tool_discovery_interval: (!interval.is_zero()).then_some(interval),
            idle_check_interval: file.idle_check_interval.0,
            health_check_interval: file.health_check_interval.0,
            api_key: api_key
                .filter(|key| is_long(key))
                .map(|key| Secret::new(key.clone())),
            session_key: key.into_iter().next().map(|(_, key)| Secret::new(key)),
            keyring: file.keyring,
            lacks_secrets: false,
            server_auth: auth.map(Arc::new),
            profiles: profiles
                .filter_map(|(name, profile)| Some((name.0, Arc::new(profile?))))
                .collect(),
            rate_limit: file.rate_limit,
            trusted_hosts: values(file.trusted_hosts),
            trusted_origins: values(file.trusted_origins),
            strict_server_validation: file
                .intent_declaration
                .strict_server_validation
                .unwrap_or(true),
            activity: file.activity.into(),
            otlp_endpoint: file.otlp_endpoint,
            environment: Environment {
                inherit: inherit(file.environment.inherit),
                set: variables(file.environment.set),
            },
            servers: BTreeMap::new(),
            demo: None,
            broken: Vec::new(),
            warnings,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        let surroundings = Surroundings {
            lookup: &|_| None,
            folder: std::path::Path::new(""),
        };
        Self::of(File::default(), &surroundings)
    }
}

impl From<RawActivity> for ActivitySettings {
    fn from(raw: RawActivity) -> Self {
        Self {
            max_age: raw.max_age.0,
            max_records: raw.max_records.0,
            max_size_mb: raw.max_size_mb.0,
            arguments: raw.arguments.unwrap_or(Kept::Redacted),
            results: raw.results.unwrap_or(Kept::Off),
        }
    }
}

impl Default for ActivitySettings {
    fn default() -> Self {
        RawActivity::default().into()
    }
}

/// What is wrong at the top level that takes more than one key, or more than the text.
fn check(file: &File, lookup: VariableLookup<'_>) -> Option<ConfigFinding> {
    let path = file.lock_file.as_ref();
    if path.is_some_and(|path| path.value.trim().is_empty()) {
        let problem = "is empty once its references are filled in";
        return Some(ConfigFinding::new("lock_file", problem));
    }
    let interval = file.tool_discovery_interval.0;
    if !interval.is_zero() && interval < SHORTEST_INTERVAL {
        let problem = "must be 0s (off) or at least 100ms";
        return Some(ConfigFinding::new("tool_discovery_interval", problem));
    }
    let auth = file.server_auth.as_ref();
    let asks = auth.is_some_and(ServerAuth::asks_for_credentials);
    if file.require_mcp_auth == Some(true) && !asks {
        let problem = "asks for credentials that this program does not know: say with `serverAuth` who may come in";
        return Some(ConfigFinding::new("require_mcp_auth", problem));
    }
    let keys = session_keys(file.session_key.as_ref(), lookup);
    let (name, _) = keys.into_iter().find(|(_, key)| is_guessable(key))?;
    let problem = "is too easy to guess: whoever knows it can make session ids. It must have at least 32 characters, 12 different ones among them, as `openssl rand -base64 32` prints them; without it a key is made and kept in the data folder";
    Some(ConfigFinding::new(name, problem))
}

/// The keys of session ids; the first counts.
fn session_keys(written: Option<&Text>, lookup: VariableLookup<'_>) -> Vec<(&'static str, String)> {
    let from_variable = lookup("MCPPROXY_SESSION_KEY").filter(|key| !key.is_empty());
    let from_variable = from_variable.map(|key| ("$MCPPROXY_SESSION_KEY", key));
    let written = written.map(|key| ("session_key", key.value.clone()));
    from_variable.into_iter().chain(written).collect()
}

fn is_long(api_key: &str) -> bool {
    api_key.chars().count() >= SHORTEST_API_KEY
}

/// Whether a key is shorter or plainer than random ones are.
fn is_guessable(key: &str) -> bool {
    let different: BTreeSet<char> = key.chars().collect();
    key.chars().count() < 32 || different.len() < 12
}

fn values(words: Vec<Word>) -> Vec<String> {
    words.into_iter().map(|word| word.0.value).collect()
}

fn inherit(raw: Option<RawInherit>) -> Inherit {
    match raw {
        Some(RawInherit::Array(also)) => Inherit::Safe { also },
        Some(RawInherit::String(InheritWord::All)) => Inherit::All,
        Some(RawInherit::String(InheritWord::None)) => Inherit::None,
        None | Some(RawInherit::String(InheritWord::Safe)) => Inherit::default(),
    }
}

/// Variables as a process gets them.
fn variables(written: RawVariables) -> BTreeMap<String, Secret> {
    let pairs = written.0.into_iter();
    pairs
        .map(|(name, value)| (name.0, Secret::new(value.0.value)))
        .collect()
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

/// Whether an entry may have this key.
pub fn is_entry_key(key: &str) -> bool {
    entry_keys().contains(&key)
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
        let text = Value::Object(entry.clone()).to_string();
        let written = tree(&text).ok().flatten()?;
        let read = read_entry(name, entry, &written, &context, true);
        read.err().map(|findings| listed(&findings))
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

fn read_servers(document: &Document<'_>, context: &Context<'_>, settings: &mut Settings) {
    let mut taken: HashMap<String, &str> = HashMap::new();
    let entries = document.servers.iter().zip(document.entries());
    for (index, (written, value)) in entries.enumerate() {
        let read = read_server(written, value, context, &mut taken);
        let read = match guards::repeated_guard(&written.repeated) {
            Some(why) => read.and(Err(BrokenEntry::new(why))),
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
            Err(broken) => settings.broken.push(BrokenEntry {
                name: written
                    .name
                    .clone()
                    .unwrap_or_else(|| format!("{SERVERS}[{index}]")),
                quarantined: written.entry.get("quarantined") == Some(&Value::Bool(true)),
                ..broken
            }),
        }
    }
}

fn read_server<'d>(
    written: &'d WrittenServer,
    value: &ast::Value<'_>,
    context: &Context<'_>,
    taken_by_lower_case: &mut HashMap<String, &'d str>,
) -> Result<(ServerEntry, Vec<String>), BrokenEntry> {
    let broken = |reason: &str| BrokenEntry::new(reason.to_owned());
    let written_name = written.name.as_deref();
    let written_name = written_name.ok_or_else(|| broken("the entry has no `name`"))?;
    let name = ServerName::parse(written_name).map_err(|error| broken(&error.to_string()))?;
    let first = taken_by_lower_case.entry(written_name.to_lowercase());
    if let std::collections::hash_map::Entry::Occupied(first) = first {
        return Err(broken(&format!(
            "its name is taken: the entry {:?} stands before it, and names have to differ in more than upper and lower case",
            first.get()
        )));
    }
    first.insert_entry(written_name);
    let Value::Object(entry) = &written.entry else {
        return Err(broken("the entry must be an object {…}"));
    };
    read_entry(&name, entry, value, context, true).map_err(|findings| BrokenEntry {
        unresolved: read_entry(&name, entry, value, context, false)
            .ok()
            .map(|(entry, _)| Arc::new(entry)),
        findings: findings.clone(),
        ..broken(&listed(&findings))
    })
}
