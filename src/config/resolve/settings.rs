//! Makes [`Settings`] of the top level of the file, and checks what depends on several keys.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use crate::{
    config::{
        ActivitySettings, AgentManagement, CodeExecution, ConfigFinding, Environment, FindingKind,
        Inherit, IssuedTokens, Kept, ServerAuth, Settings, Surroundings, VariableLookup, Warning,
        raw::{File, InheritWord, RawActivity, RawInherit},
        references::Text,
        values::{RawVariables, Word},
    },
    text::Secret,
};

/// The maximum of `$MCP_TIMEOUT` in seconds. A larger number is probably in milliseconds, which other programs use.
const LONGEST_MCP_TIMEOUT: u64 = 600;

/// The minimum of `tool_response_limit`, in characters: a part of it is for the hint how to read the rest.
const SHORTEST_RESPONSE: usize = 1_000;

/// The minimum of `tool_discovery_interval`: more frequent lists would only load the servers.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);

/// The minimum length of `api_key`, in characters.
const SHORTEST_API_KEY: usize = 12;

impl Settings {
    /// The settings of the top level, without servers.
    pub(super) fn of(file: File, surroundings: &Surroundings<'_>) -> Self {
        let mut warnings: Vec<Warning> = Vec::new();
        let auth = file.server_auth;
        warnings.extend(auth.iter().flat_map(ServerAuth::warnings));
        let api_key = file.api_key.as_ref().map(|key| &key.value);
        if api_key.is_some_and(|key| !is_long(key)) {
            let what = format!(
                "is ignored: shorter than {SHORTEST_API_KEY} characters; the file `api_key` in the data folder is used instead"
            );
            warnings.push(Warning::of_key("api_key", what));
        }
        let limit = file.tool_response_limit.0;
        let is_small = (1..SHORTEST_RESPONSE).contains(&limit);
        if is_small {
            let what =
                format!("is {limit}; mcpproxy uses the minimum, {SHORTEST_RESPONSE} (0: no limit)");
            warnings.push(Warning::of_key("tool_response_limit", what));
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
            // The keys of mcpproxy-go for the same restrictions count, too. The strictest wins.
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
            new_tools: file.new_tools,
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
            issued: IssuedTokens::default(),
            is_exposed: !file.listen.is_loopback(),
            profiles: profiles
                .map(|(name, profile)| (name.0, Arc::new(profile)))
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
            unknown_callers: Vec::new(),
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

/// Checks what depends on several keys, on variables, or on the values of references.
pub(super) fn check_top_level(file: &File, lookup: VariableLookup<'_>) -> Option<ConfigFinding> {
    let path = file.lock_file.as_ref();
    if path.is_some_and(|path| path.value.trim().is_empty()) {
        return Some(ConfigFinding::new("lock_file", "is empty"));
    }
    let interval = file.tool_discovery_interval.0;
    if !interval.is_zero() && interval < SHORTEST_INTERVAL {
        let problem = "must be 0s (off) or at least 100ms";
        return Some(ConfigFinding::new("tool_discovery_interval", problem));
    }
    let auth = file.server_auth.as_ref();
    let asks = auth.is_some_and(ServerAuth::asks_for_credentials);
    if file.require_mcp_auth == Some(true) && !asks {
        let problem = "has no provider to ask for tokens; set `serverAuth` instead";
        return Some(ConfigFinding::new("require_mcp_auth", problem));
    }
    let keys = session_keys(file.session_key.as_ref(), lookup);
    let (name, _) = keys.into_iter().find(|(_, key)| is_guessable(key))?;
    let problem = "needs at least 32 characters, at least 12 of them different, such as the output of `openssl rand -base64 32`";
    Some(match name.strip_prefix('$') {
        Some(_) => ConfigFinding {
            key: name.to_owned(),
            ..ConfigFinding::of(FindingKind::OwnVariable(problem))
        },
        None => ConfigFinding::new(name, problem),
    })
}

/// The candidates for the key of session ids, with their names; the first counts.
fn session_keys(written: Option<&Text>, lookup: VariableLookup<'_>) -> Vec<(&'static str, String)> {
    let from_variable = lookup("MCPPROXY_SESSION_KEY").filter(|key| !key.is_empty());
    let from_variable = from_variable.map(|key| ("$MCPPROXY_SESSION_KEY", key));
    let written = written.map(|key| ("session_key", key.value.clone()));
    from_variable.into_iter().chain(written).collect()
}

fn is_long(api_key: &str) -> bool {
    api_key.chars().count() >= SHORTEST_API_KEY
}

/// Whether a key is shorter than 32 characters, or has fewer than 12 different ones.
fn is_guessable(key: &str) -> bool {
    let different: BTreeSet<char> = key.chars().collect();
    key.chars().count() < 32 || different.len() < 12
}

pub(super) fn values(words: Vec<Word>) -> Vec<String> {
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

/// The variables of a process.
pub(super) fn variables(written: RawVariables) -> BTreeMap<String, Secret> {
    let pairs = written.0.into_iter();
    pairs
        .map(|(name, value)| (name.0, Secret::new(value.0.value)))
        .collect()
}

/// Reads `$MCP_TIMEOUT`, in seconds.
pub(super) fn read_mcp_timeout(
    lookup: VariableLookup<'_>,
    warnings: &mut Vec<Warning>,
) -> Option<Duration> {
    let written = lookup("MCP_TIMEOUT").filter(|text| !text.is_empty())?;
    match written.trim().parse::<u64>() {
        Ok(seconds) if (1..=LONGEST_MCP_TIMEOUT).contains(&seconds) => {
            Some(Duration::from_secs(seconds))
        }
        _ => {
            warnings.push(Warning::new(format!(
                "$MCP_TIMEOUT is {written:?} and is ignored: it must be 1 to {LONGEST_MCP_TIMEOUT} seconds"
            )));
            None
        }
    }
}
