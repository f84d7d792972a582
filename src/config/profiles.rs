//! The key `profiles`: named subsets of servers and tools, each with its own endpoint. Access control decides who may use which.

use schemars::JsonSchema;
use serde::Deserialize;

use super::wildcard::{Coverage, NamePattern, Wildcard};

/// The servers and tools at `/mcp/p/NAME`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Profile {
    /// Names of servers, with * for any characters; all if absent.
    pub servers: Option<Vec<Wildcard>>,
    /// Tools, as `server__tool`, with * for any characters; all tools of the servers if absent.
    pub tools: Option<Vec<NamePattern>>,
}

/// The longest name of a profile, in characters: it is a part of a URL.
const LONGEST_NAME: usize = 64;

impl Profile {
    /// Whether it has a server, with the server's prompts and resources.
    pub fn has_server(&self, server: &str) -> bool {
        let servers = self.servers.as_ref();
        let tools = self.tools.as_ref();
        servers.is_none_or(|servers| servers.iter().any(|one| one.matches(server)))
            && tools.is_none_or(|tools| {
                tools
                    .iter()
                    .any(|tool| tool.coverage(server) > Coverage::Nothing)
            })
    }

    /// Whether it has a tool of a server.
    pub fn has_tool(&self, server: &str, tool: &str) -> bool {
        let tools = self.tools.as_ref();
        self.has_server(server)
            && tools.is_none_or(|tools| tools.iter().any(|one| one.matches(server, tool)))
    }
}

/// The name of a profile, which is a part of a URL.
#[derive(PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct ProfileName(pub(super) String);

impl TryFrom<String> for ProfileName {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        if is_name(&name) {
            return Ok(Self(name));
        }
        Err("is not a profile name; use 1 to 64 letters, digits, `.`, `_` and `-`")
    }
}

fn is_name(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    !name.is_empty()
        && name.len() <= LONGEST_NAME
        && name.chars().all(is_allowed)
        && name.chars().any(|c| c != '.')
}
