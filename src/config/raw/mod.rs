//! The keys of the file, with their types, defaults and documentation. The reader, the JSON Schema for editors and
//! `docs/configuration-reference.md` are derived from these types.

mod entry;

use std::{collections::BTreeMap, sync::LazyLock};

use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde::Deserialize;
use serde_json::{Value, json};

pub use self::entry::WrittenTransport;
pub(super) use self::entry::{RawEntry, RawIsolation, RawOAuth, RawRoot, entry_keys};
use super::{
    AgentManagement, Globs, Kept, KeyringChoice, Listen, NewTools, OtlpEndpoint, Profile,
    RateLimit, RoutingMode, ServerAuth,
    profiles::ProfileName,
    references::Text,
    spanned,
    values::{Apart, Foreign, Pairs, RawVariables, Span, WholeNumber, Word},
};

/// JSON with comments and trailing commas. Strings may hold ${VAR}, ${env:VAR} and ${VAR:-default}; write $${ for a literal ${.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(title = "mcpproxy configuration")]
#[expect(clippy::struct_field_names, reason = "fields are called as keys are")]
pub(super) struct File {
    #[serde(rename = "$schema")]
    #[schemars(with = "String")]
    pub(super) schema: Apart,
    /// The servers, as a map by name or as an array of entries with a name.
    #[serde(rename = "mcpServers")]
    #[schemars(with = "entry::Servers")]
    pub(super) servers: Apart,
    /// The daemon's address. "localhost:8080" and ":8080" mean loopback. An address other than loopback needs --insecure. Takes effect
    /// after a restart.
    #[schemars(extend("default" = "127.0.0.1:8080", "x-after-restart" = true))]
    pub(super) listen: Listen,
    /// The data folder; by default the platform's. Takes effect after a restart.
    #[schemars(extend("x-after-restart" = true))]
    pub(super) data_dir: Option<Text>,
    /// The tools that /mcp lists.
    pub(super) routing_mode: RoutingMode,
    /// Default and maximum number of search results.
    pub(super) tools_limit: WholeNumber<1, 1_000, 15>,
    /// Number of search results with the full input schema.
    pub(super) top_k: WholeNumber<0, 1_000, 5>,
    /// Whether /mcp lists `call_tool`, for clients made for older versions of mcpproxy-go.
    pub(super) legacy_call_tool: bool,
    /// Whether agents may use all operations of `upstream_servers` (full), only list servers and read their logs (read), or none (off).
    pub(super) management: AgentManagement,
    /// If true, the same as management: read.
    pub(super) read_only_mode: Option<bool>,
    /// If true, the same as management: off.
    pub(super) disable_management: Option<bool>,
    /// Whether agents can use new tools of a trusted server at once, except those with dangerous findings (allow), or only after you
    /// approve them (hold).
    pub(super) new_tools: NewTools,
    /// Interval at which mcpproxy lists the tools of connected servers again; 0s means never.
    pub(super) tool_discovery_interval: Span<300_000, 0>,
    /// Interval at which mcpproxy checks for idle servers.
    pub(super) idle_check_interval: Span<30_000, 100>,
    /// Time without messages after which mcpproxy pings a connected server.
    pub(super) health_check_interval: Span<30_000, 100>,
    /// The key for REST over TCP (header X-API-Key), at least 12 characters. By default, mcpproxy generates a key and keeps it in the data
    /// folder.
    pub(super) api_key: Option<Text>,
    /// A lock file that `mcpproxy upstream lock` wrote; a relative path is relative to the folder of this file. mcpproxy accepts exactly
    /// the tools in the lock file, and does not start without it. `serve --locked` overrides this key. Takes effect after a restart.
    #[schemars(length(min = 1), extend("x-after-restart" = true))]
    pub(super) lock_file: Option<Text>,
    /// The key that encrypts session ids, at least 32 characters; by default generated and kept in the data folder. Daemons with the same
    /// key can continue each other's sessions. `$MCPPROXY_SESSION_KEY` overrides this key. Takes effect after a restart.
    #[schemars(length(min = 32), extend("x-after-restart" = true))]
    pub(super) session_key: Option<Text>,
    /// The place of the secrets for ${keyring:NAME}. platform: the platform's keyring. file: a private file in the data folder. auto: the
    /// keyring or, if there is none, the file. `$MCPPROXY_KEYRING` overrides this key.
    pub(super) keyring: KeyringChoice,
    /// Access control. The daemon does not start if a key in it is unknown. See docs/access.md.
    #[serde(rename = "serverAuth")]
    pub(super) server_auth: Option<ServerAuth>,
    /// A key of mcpproxy-go for access control. mcpproxy accepts true only with a provider in serverAuth.
    pub(super) require_mcp_auth: Option<bool>,
    /// Smaller sets of servers and tools, by name: /mcp/p/NAME shows only these.
    #[schemars(with = "BTreeMap<String, Profile>")]
    pub(super) profiles: BTreeMap<ProfileName, Profile>,
    /// Limit on the requests of each caller; without this key, no limit.
    pub(super) rate_limit: Option<RateLimit>,
    /// Whether agents may run scripts with `code_execution`.
    pub(super) enable_code_execution: bool,
    /// Default and maximum of a script's `timeout_ms`.
    pub(super) code_execution_timeout_ms: WholeNumber<1, 600_000, 120_000>,
    /// Default and maximum of a script's `max_tool_calls`; 0 means no limit.
    pub(super) code_execution_max_tool_calls: WholeNumber<0, 1_000_000, 0>,
    /// Maximum number of characters of text in a tool's result, at least 1000; `read_cache` reads the rest. 0 means no limit.
    pub(super) tool_response_limit: WholeNumber<0, 100_000_000, 0>,
    /// Contents and limits of the activity log.
    pub(super) activity: RawActivity,
    /// The URL of an OTLP collector, which gets spans of calls over HTTP. mcpproxy appends `/v1/traces` if it is missing.
    #[schemars(extend("format" = "uri", "examples" = ["http://127.0.0.1:4318"]))]
    pub(super) otlp_endpoint: Option<OtlpEndpoint>,
    /// Check of the call type that an agent declares.
    pub(super) intent_declaration: RawIntent,
    /// Additional host names that clients may use (values of Host).
    pub(super) trusted_hosts: Vec<Word>,
    /// Additional origins whose web pages may send requests (values of Origin).
    pub(super) trusted_origins: Vec<Word>,
    /// Environment variables that stdio servers get.
    pub(super) environment: RawEnvironment,
    /// A key of mcpproxy-go. If enabled, stdio servers run in containers unless their entry has "isolation": {"enabled": false}. The other
    /// keys are defaults for containers.
    pub(super) docker_isolation: RawDefaults,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(inline)]
pub(super) struct RawActivity {
    /// Age at which mcpproxy removes records.
    pub(super) max_age: Span<7_776_000_000, 60_000>,
    /// Maximum number of records; with 0, mcpproxy keeps none on disk.
    pub(super) max_records: WholeNumber<0, 10_000_000, 100_000>,
    /// Approximate maximum size of the log on disk, in megabytes.
    pub(super) max_size_mb: WholeNumber<8, 100_000, 256>,
    /// The part of each call's arguments that mcpproxy keeps.
    #[schemars(extend("default" = "redacted"))]
    pub(super) arguments: Option<Kept>,
    /// The part of each call's result that mcpproxy keeps.
    #[schemars(extend("default" = "off"))]
    pub(super) results: Option<Kept>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(inline)]
pub(super) struct RawIntent {
    /// Whether mcpproxy refuses calls whose type allows less than the tool does, such as a read call of a destructive tool.
    #[schemars(extend("default" = true))]
    pub(super) strict_server_validation: Option<bool>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct RawEnvironment {
    /// The daemon's variables that stdio servers get: a safe list (safe), all, none, or names and globs in addition to the safe list.
    #[schemars(extend("default" = "safe"))]
    pub(super) inherit: Option<RawInherit>,
    /// Variables that all stdio servers get.
    pub(super) set: RawVariables,
    #[schemars(skip)]
    inherit_system_safe: Foreign,
    #[schemars(skip)]
    allowed_system_vars: Foreign,
    #[schemars(skip)]
    custom_vars: Foreign,
    #[schemars(skip)]
    enhance_path: Foreign,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename = "$kind", rename_all = "lowercase")]
#[schemars(inline, untagged)]
pub(super) enum RawInherit {
    String(InheritWord),
    Array(Globs),
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum InheritWord {
    Safe,
    All,
    None,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct RawDefaults {
    /// Whether stdio servers run in containers.
    pub(super) enabled: bool,
    /// Images by command; they override those that mcpproxy knows.
    pub(super) default_images: Pairs<String, Word>,
    /// The value of docker run --network: none, bridge, …
    pub(super) network_mode: Option<Text>,
    /// Additional arguments for docker run, before those of the entry.
    pub(super) extra_args: Vec<Word>,
    /// The value of docker run --memory.
    pub(super) memory_limit: Option<Text>,
    /// The value of docker run --cpus.
    pub(super) cpu_limit: Option<Text>,
    #[schemars(skip)]
    registry: Foreign,
    #[schemars(skip)]
    timeout: Foreign,
    #[schemars(skip)]
    log_driver: Foreign,
    #[schemars(skip)]
    log_max_size: Foreign,
    #[schemars(skip)]
    log_max_files: Foreign,
}

/// The keys that say where secrets are kept. They are read before all others, which may refer to secrets.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct RawPlace {
    pub(super) keyring: KeyringChoice,
    pub(super) data_dir: Option<Text>,
}

/// Every key of the top level.
pub(super) fn file_keys() -> &'static [&'static str] {
    static KEYS: LazyLock<&[&str]> = LazyLock::new(spanned::keys_of::<File>);
    &KEYS
}

/// The JSON Schema of the file, for editors and for `config schema`.
pub fn schema() -> &'static str {
    static SCHEMA: LazyLock<String> = LazyLock::new(|| {
        let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(simplify));
        let schema = settings.into_generator().into_root_schema_for::<File>();
        format!("{:#}\n", schema.to_value())
    });
    &SCHEMA
}

/// Removes from a schema what editors need not show: null as a value, which counts as an absent key, and empty defaults.
fn simplify(schema: &mut Schema) {
    let is_null = |schema: &Value| *schema == json!({ "type": "null" });
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    for key in ["type", "enum"] {
        if let Some(Value::Array(choices)) = schema.get_mut(key) {
            choices.retain(|choice| !choice.is_null() && *choice != "null");
            if let ("type", [only]) = (key, &choices[..]) {
                let only = only.clone();
                schema.insert(key.to_owned(), only);
            }
        }
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|choice| !is_null(choice));
        if let [Value::Object(only)] = &choices[..] {
            let only = only.clone();
            schema.remove("anyOf");
            for (key, value) in only {
                schema.ensure_object().entry(key).or_insert(value);
            }
        }
    }
    let default = schema.get("default");
    let empty_values = [Value::Null, json!([]), json!({})];
    if default.is_some_and(|default| empty_values.contains(default)) {
        schema.remove("default");
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::{super::after_restart, entry_keys, file_keys, schema};

    /// Every key that is read, of the top level and of servers.
    fn all_keys() -> impl Iterator<Item = &'static str> {
        let keys = file_keys().iter().chain(entry_keys()).copied();
        keys.filter(|key| *key != "$schema")
    }

    #[test]
    fn the_page_of_the_configuration_names_every_key() {
        let page = include_str!("../../../docs/configuration.md");
        // Restrictions of the Go program stand in docs/migrating.md.
        let of_go_program = [
            "require_mcp_auth",
            "read_only_mode",
            "disable_management",
            "docker_isolation",
        ];
        let is_missing = |key: &&str| {
            let is_named = page.contains(&format!("`{key}`")) || page.contains(&format!("`{key}."));
            !is_named && !of_go_program.contains(key)
        };
        let missing: Vec<&str> = all_keys().filter(is_missing).collect();
        assert!(
            missing.is_empty(),
            "docs/configuration.md lacks {missing:?}"
        );
    }

    #[test]
    fn the_page_of_the_configuration_names_no_other_key() {
        let page = include_str!("../../../docs/configuration.md");
        let tables = page
            .split("\n## ")
            .filter(|part| part.starts_with("Servers\n") || part.starts_with("Top level\n"));
        let cells = tables
            .flat_map(str::lines)
            .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
        let named: Vec<&str> = cells
            .flat_map(|cell| cell.split('`').skip(1).step_by(2))
            .map(|key| key.split('.').next().unwrap_or(key))
            .collect();
        assert!(named.len() > 40, "the tables are there: {named:?}");
        let known: BTreeSet<&str> = all_keys().collect();
        let unknown: Vec<&&str> = named.iter().filter(|key| !known.contains(**key)).collect();
        assert!(unknown.is_empty(), "nothing reads {unknown:?}");
    }

    /// Also the keys inside of others: `activity.max_age`, `serverAuth.acl`.
    #[test]
    fn some_page_names_every_key_of_the_schema() {
        fn inner_keys(value: &Value, found: &mut BTreeSet<String>) {
            let inner: Vec<&Value> = match value {
                Value::Object(map) => {
                    if let Some(Value::Object(keys)) = map.get("properties") {
                        found.extend(keys.keys().cloned());
                    }
                    map.values().collect()
                }
                Value::Array(all) => all.iter().collect(),
                _ => return,
            };
            for value in inner {
                inner_keys(value, found);
            }
        }
        const PAGES: &[&str] = &[
            include_str!("../../../docs/configuration.md"),
            include_str!("../../../docs/access.md"),
            include_str!("../../../docs/activity.md"),
            include_str!("../../../docs/isolation.md"),
            include_str!("../../../docs/migrating.md"),
            include_str!("../../../docs/oauth.md"),
        ];
        let schema: Value = serde_json::from_str(schema()).expect("good JSON");
        let mut keys = BTreeSet::new();
        inner_keys(&schema, &mut keys);
        // Of an editor, not of ours.
        keys.remove("$schema");
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let words: BTreeSet<&str> = PAGES
            .iter()
            .flat_map(|page| page.split(|c| !is_word(c)))
            .collect();
        let missing: Vec<&String> = keys
            .iter()
            .filter(|key| !words.contains(key.as_str()))
            .collect();
        assert!(missing.is_empty(), "no page names {missing:?}");
    }

    #[test]
    fn descriptions_name_the_keys_that_wait_for_a_restart() {
        let schema: Value = serde_json::from_str(schema()).expect("good JSON");
        let properties = schema["properties"].as_object().expect("an object");
        for (key, property) in properties {
            let says_so = property["description"]
                .as_str()
                .is_some_and(|text| text.contains("after a restart"));
            assert_eq!(says_so, after_restart::KEYS.contains(&&**key), "{key}");
            assert_eq!(property.get("x-after-restart").is_some(), says_so, "{key}");
        }
    }
}
