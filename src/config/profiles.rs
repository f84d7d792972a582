//! `profiles`: named parts of what there is, each with an endpoint of its own. Whose they are is no question: that is access control.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use super::{
    fields::{BadField, ObjectFields},
    unknown_keys,
    wildcard::{self, Coverage, NamePattern, Wildcard},
};

/// What an endpoint `/mcp/p/NAME` shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    /// These servers; all where not given.
    pub servers: Option<Vec<Wildcard>>,
    /// These tools; all of the servers where not given.
    pub tools: Option<Vec<NamePattern>>,
}

/// Profiles by their names.
pub(super) type Profiles = BTreeMap<String, Arc<Profile>>;

/// Limit: characters of a profile's name, which is a part of an address.
const LONGEST_NAME: usize = 64;

impl Profile {
    /// Whether a server is in it, and with it its prompts and resources.
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

    /// Whether a tool of a server is in it.
    pub fn has_tool(&self, server: &str, tool: &str) -> bool {
        let tools = self.tools.as_ref();
        self.has_server(server)
            && tools.is_none_or(|tools| tools.iter().any(|one| one.matches(server, tool)))
    }
}

/// Reads the profiles, by their names. An unknown key is an error: without what was meant the profile would show more.
pub(super) fn read(fields: &mut ObjectFields<'_>) -> Result<Profiles, BadField> {
    let mut profiles = Profiles::new();
    let Some(mut written) = fields.object("profiles")? else {
        return Ok(profiles);
    };
    for name in written.keys() {
        if !is_name(&name) {
            let problem = "cannot be a part of an address: letters, digits, `.`, `_` and `-` are allowed, 64 at most";
            return Err(written.bad(&name, problem));
        }
        if let Some(Value::Null) = written.peek(&name) {
            written.value(&name);
            continue;
        }
        let Some(mut profile) = written.object(&name)? else {
            continue;
        };
        let patterns = |fields: &mut ObjectFields<'_>, key: &str| {
            let texts = fields.texts(key)?;
            Ok::<_, BadField>(
                texts.map(|texts| texts.into_iter().map(|text| text.value).collect::<Vec<_>>()),
            )
        };
        let servers = patterns(&mut profile, "servers")?;
        let tools = patterns(&mut profile, "tools")?;
        let place = |key: &str| format!("profiles.{name}.{key}");
        let read = Profile {
            servers: servers
                .map(|all| wildcard::all(&place("servers"), &all, wildcard::plain))
                .transpose()?,
            tools: tools
                .map(|all| wildcard::all(&place("tools"), &all, NamePattern::parse))
                .transpose()?,
        };
        let known = ["servers", "tools"];
        if let Some(key) = profile.keys().first() {
            return Err(profile.bad(key, unknown_keys::refused(key, &known)));
        }
        profiles.insert(name, Arc::new(read));
    }
    Ok(profiles)
}

fn is_name(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    !name.is_empty()
        && name.len() <= LONGEST_NAME
        && name.chars().all(is_allowed)
        && name.chars().any(|c| c != '.')
}
