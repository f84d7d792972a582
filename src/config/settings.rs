//! The settings in force: typed, checked, immutable. They are published whole and read where they are used.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ActivitySettings, ConfigFinding, Globs, IssuedTokens, KeyringChoice, Listen, NewTools,
    OtlpEndpoint, Profile, RateLimit, ServerAuth, ServerEntry, Warning, finding::listed,
    safe_variables::is_safe_variable, unknown_callers::UnknownCaller,
};
use crate::{
    failure::NextStep,
    text::{Secret, Secrets, ServerName, spelt},
};

/// Everything the configuration says.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of its own")]
pub struct Settings {
    /// Where the daemon listens.
    pub listen: Listen,
    /// Where data is kept, if the file says so.
    pub data_dir: Option<PathBuf>,
    /// The lock file, if the file or `--locked` names one. Then exactly the tools in it are accepted.
    pub lock_file: Option<PathBuf>,
    /// What `/mcp` lists.
    pub routing_mode: RoutingMode,
    /// Default and ceiling of a search's `limit`.
    pub tools_limit: usize,
    /// How many search results carry the full input schema.
    pub top_k: usize,
    /// Whether `call_tool` is listed.
    pub legacy_call_tool: bool,
    /// What agents may do with `upstream_servers`.
    pub management: AgentManagement,
    /// Whether agents may run scripts.
    pub code_execution: CodeExecution,
    /// Characters of text in a tool's result above which it is cut; 0 for never.
    pub tool_response_limit: usize,
    /// What happens to a tool that a trusted server did not list before, unless its entry says otherwise.
    pub new_tools: NewTools,
    /// How often awake servers are listed again; nothing where that is off.
    pub tool_discovery_interval: Option<Duration>,
    /// How often idle servers are looked for.
    pub idle_check_interval: Duration,
    /// How often connections are checked.
    pub health_check_interval: Duration,
    /// The key of the REST interface and the page, if the file sets it.
    pub api_key: Option<Secret>,
    /// The key that encrypts session ids, if the file or `$MCPPROXY_SESSION_KEY` sets it.
    pub session_key: Option<Secret>,
    /// Where `${keyring:NAME}` is looked up.
    pub keyring: KeyringChoice,
    /// Whether a secret that the file refers to could not be read. The keeper then reads the file again from time to time.
    pub lacks_secrets: bool,
    /// How clients identify themselves, and what each may use.
    pub server_auth: Option<Arc<ServerAuth>>,
    /// The tokens that were issued to clients. They are in a file of the data folder, not in the configuration.
    pub issued: IssuedTokens,
    /// Whether other machines can reach the daemon, or could since it began.
    pub is_exposed: bool,
    /// The profiles by name.
    pub profiles: BTreeMap<String, Arc<Profile>>,
    /// How many requests one caller may send, if that is limited.
    pub rate_limit: Option<RateLimit>,
    /// Values of `Host` that are accepted besides our own addresses.
    pub trusted_hosts: Vec<String>,
    /// Values of `Origin` that are accepted besides our own pages.
    pub trusted_origins: Vec<String>,
    /// Whether a call is refused whose declared type allows less than the tool does, such as a read call of a destructive tool.
    pub strict_server_validation: bool,
    /// What the activity log keeps.
    pub activity: ActivitySettings,
    /// The collector that gets the spans of calls, if there is one.
    pub otlp_endpoint: Option<OtlpEndpoint>,
    /// Which variables children get.
    pub environment: Environment,
    /// The servers whose entries are sound, disabled ones included.
    pub servers: BTreeMap<ServerName, Arc<ServerEntry>>,
    /// How the bundled demo server was started; nothing where it does not run. It is in `servers`, but not in the file.
    pub demo: Option<DemoOrigin>,
    /// The entries that cannot be used. Each disables itself only.
    pub broken: Vec<BrokenEntry>,
    /// What was ignored, and why.
    pub warnings: Vec<Warning>,
    /// The subjects and roles of access rules that no token in the file has.
    pub unknown_callers: Vec<UnknownCaller>,
}

/// How the bundled demo server was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DemoOrigin {
    /// By `serve --demo`.
    CommandLine,
    /// While the daemon runs: in the web UI, or over REST.
    Request,
}

/// An entry under `mcpServers` that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BrokenEntry {
    /// The name as the file has it, or the position of an entry without one.
    pub name: String,
    /// What is wrong with it.
    pub reason: String,
    /// `reason` as data, where it is about keys of the entry.
    #[serde(skip)]
    pub findings: Vec<ConfigFinding>,
    /// Whether the entry has `"quarantined": true`, which counts although the entry cannot be used.
    #[serde(skip)]
    pub quarantined: bool,
    /// The entry with its references not filled in, where only a variable or a secret is missing.
    #[serde(skip)]
    pub unresolved: Option<Arc<ServerEntry>>,
}

impl BrokenEntry {
    /// One that cannot be used for this reason.
    pub(super) fn new(reason: String) -> Self {
        Self {
            name: String::new(),
            reason,
            findings: Vec::new(),
            quarantined: false,
            unresolved: None,
        }
    }

    /// Whether its server would be offered if the entry could be used.
    pub fn would_be_offered(&self) -> bool {
        !self.quarantined
    }

    /// One with these faults.
    pub(super) fn of(findings: Vec<ConfigFinding>) -> Self {
        Self {
            reason: listed(&findings),
            findings,
            ..Self::new(String::new())
        }
    }

    /// The same entry, with line and column in its reason.
    #[must_use]
    pub fn with_places(self) -> Self {
        match &self.findings[..] {
            [] => self,
            findings => Self {
                reason: listed(findings),
                ..self
            },
        }
    }

    /// Whether a variable is missing where it was read.
    pub fn lacks_variable(&self) -> bool {
        let mut findings = self.findings.iter();
        findings.any(|finding| finding.missing_variable().is_some())
    }

    /// The operator's next step, with all missing variables or secrets.
    pub fn step(&self) -> NextStep {
        let mut steps = self.findings.iter().filter_map(ConfigFinding::step);
        let mut first = steps.next().unwrap_or(NextStep::FIX);
        steps.for_each(|step| first.join(step));
        first
    }
}

impl Settings {
    /// Whether clients that connect over the network need a credential.
    pub fn requires_credentials(&self) -> bool {
        let auth = self.server_auth.as_deref();
        let required = auth.and_then(|auth| auth.required);
        required.unwrap_or_else(|| {
            self.is_exposed || auth.is_some_and(ServerAuth::asks_for_credentials)
        })
    }

    /// All warnings. One about an unknown caller is left out where an issued token is for that caller.
    pub fn all_warnings(&self) -> Vec<Warning> {
        let unknown = self.unknown_callers.iter();
        let unknown =
            unknown.filter(|caller| !self.issued.iter().any(|token| caller.matches(token)));
        let unknown = unknown.map(|caller| &caller.warning);
        self.warnings.iter().chain(unknown).cloned().collect()
    }

    /// The entry of this name if it cannot be used.
    pub fn broken_entry(&self, name: &str) -> Option<&BrokenEntry> {
        self.broken.iter().find(|broken| broken.name == name)
    }

    /// The entry of this name, also where it cannot be used only because a variable or a secret is missing.
    pub fn readable_entry(&self, name: &str) -> Option<&Arc<ServerEntry>> {
        let unresolved = || self.broken_entry(name)?.unresolved.as_ref();
        self.servers.get(name).or_else(unresolved)
    }

    /// The entries whose last known tools are listed: those that can be used, and quarantined ones that only lack a variable or a secret.
    pub fn listed_entries(&self) -> impl Iterator<Item = &Arc<ServerEntry>> {
        let held = self.broken.iter().filter(|broken| broken.quarantined);
        let held = held.filter_map(|broken| broken.unresolved.as_ref());
        self.servers.values().chain(held)
    }

    /// Every secret of the configuration.
    pub fn secrets(&self) -> Secrets {
        let tokens = self.server_auth.iter().flat_map(|auth| &auth.tokens);
        let tokens = tokens.map(|token| &token.token);
        let collector = self.otlp_endpoint.iter();
        let collector = collector.flat_map(|endpoint| &endpoint.secrets);
        let keys = self.api_key.iter().chain(&self.session_key);
        let keys = keys.chain(tokens).chain(collector);
        let ours = Secrets::new(keys.map(|key| key.reveal().to_owned()));
        let servers = self.servers.values();
        let servers = servers.flat_map(|entry| [&entry.secrets, &entry.former_secrets]);
        Secrets::all(servers.chain([&ours]))
    }
}

spelt! {
    /// What `/mcp` lists.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[schemars(inline)]
    pub enum RoutingMode {
        /// Search and call.
        #[default]
        RetrieveTools = "retrieve_tools",
        /// Every server's tool as `server__tool`.
        Direct = "direct",
        /// `code_execution` and search.
        CodeExecution = "code_execution",
        /// The one tool `proxy`.
        Proxy = "proxy",
    }
}

/// Whether agents may run scripts, and the limits of one script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeExecution {
    /// Whether agents may run scripts.
    pub is_on: bool,
    /// Milliseconds that a script may take; the script can choose fewer.
    pub timeout_ms: usize,
    /// Calls that a script may make; 0 means no limit. The script can choose fewer.
    pub max_tool_calls: usize,
}

/// What agents may do with `upstream_servers`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum AgentManagement {
    /// List and change.
    #[default]
    Full,
    /// List, and read logs.
    Read,
    /// Nothing; the tool is not offered.
    Off,
}

/// Which variables child processes get.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// Which of our own variables they inherit.
    pub inherit: Inherit,
    /// Variables set for every child; an entry's `env` wins over them.
    pub set: BTreeMap<String, Secret>,
}

/// Which of our own variables children inherit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inherit {
    /// All of them.
    All,
    /// None.
    None,
    /// The safe list, and names or globs that the configuration adds to it.
    Safe {
        /// The additions.
        also: Globs,
    },
}

impl Default for Inherit {
    fn default() -> Self {
        Self::Safe {
            also: Globs::default(),
        }
    }
}

impl Environment {
    /// Whether children inherit a variable of this name.
    pub fn inherits(&self, name: &str) -> bool {
        match &self.inherit {
            Inherit::All => true,
            Inherit::None => false,
            Inherit::Safe { also } => is_safe_variable(name) || also.matches(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_inherit_a_safe_list_unless_told_otherwise() {
        let safe = Environment::default();
        for name in ["PATH", "HOME", "LC_ALL", "XDG_CONFIG_HOME", "https_proxy"] {
            assert!(safe.inherits(name), "{name}");
        }
        for name in [
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "LD_PRELOAD",
            "MCPPROXY_TOKEN",
        ] {
            assert!(!safe.inherits(name), "{name}");
        }
        let also = Globs::new(vec!["AWS_*".to_owned()]).expect("a good glob");
        let inherit = Inherit::Safe { also };
        let more = Environment {
            inherit,
            ..Environment::default()
        };
        assert!(more.inherits("AWS_REGION") && more.inherits("HOME") && !more.inherits("X"));
    }

    #[test]
    fn every_mode_reads_back() {
        for &(mode, word) in RoutingMode::ALL {
            assert_eq!(mode.as_str(), word);
            assert_eq!(RoutingMode::parse(word), Some(mode));
        }
    }
}
