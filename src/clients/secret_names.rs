//! Names of secrets for servers that are taken over: `SERVER-NAME`, each for one server alone, because what two clients call by one name
//! need not be one value. Pure: the caller knows what is stored.

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
};

use serde_json::{Map, Value};

use super::{
    NeededKind, NeededValue, conversion::change_texts, convert::Carried,
    literal_secrets::LiteralSecret, needs::secret_name, placeholders::fill,
};
use crate::config;

/// What is stored under the name of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredUnderName {
    /// Nothing, as far as is known.
    Nothing,
    /// The value that was asked for.
    This,
    /// Another value, or one with which nothing was compared.
    Other,
    /// It is not known: the keyring does not answer.
    Unknown,
}

/// Says what is stored under a name, compared with a value if one is given.
pub(super) type StoredLookup<'a> = &'a dyn Fn(&str, Option<&str>) -> StoredUnderName;

/// The names that are in use: of existing entries, and those that were given here.
pub struct SecretNames<'a> {
    used: BTreeSet<String>,
    stored: StoredLookup<'a>,
}

impl<'a> SecretNames<'a> {
    /// With those that our configuration refers to.
    pub fn new(used: BTreeSet<String>, stored: StoredLookup<'a>) -> Self {
        Self { used, stored }
    }

    /// If nothing is imported: no name is in use, and nothing is stored.
    pub fn none() -> Self {
        Self::new(BTreeSet::new(), &|_, _| StoredUnderName::Nothing)
    }

    /// Gives every secret of an entry a name of its server's own, under which nothing is stored: a value that is there was stored for
    /// something else, and whoever wrote the file could name it. Or says why that cannot be.
    pub(super) fn give(&mut self, server: &str, carried: &mut Carried) -> Result<(), String> {
        let mut given = BTreeMap::new();
        for need in &mut carried.needs {
            if need.kind == NeededKind::Variable {
                need.settle();
                continue;
            }
            let wanted = own_name(server, &need.name);
            let stored = |name: &str| (self.stored)(name, None);
            if stored(&wanted) == StoredUnderName::Unknown {
                let why = "it needs a secret, and the keyring does not answer (`mcpproxy doctor`)";
                return Err(why.to_owned());
            }
            let is_left_over =
                !self.used.contains(&wanted) && stored(&wanted) == StoredUnderName::Other;
            need.not_given = Some(wanted.clone()).filter(|_| is_left_over);
            let lookup = self.stored;
            let name = self.take(&wanted, |name| lookup(name, None) != StoredUnderName::Other);
            given.insert(need.name.clone(), name.clone());
            need.name = name;
            need.settle();
        }
        carried.entry = renamed(&carried.entry, &|name| given.get(name).cloned());
        let is_given = |name: &String| given.values().any(|given| given == name);
        if !config::secrets_of(&carried.entry).iter().all(is_given) {
            return Err("it refers to another server's secret".to_owned());
        }
        for secret in &mut carried.literals {
            let stored = self.stored;
            let value = value_of(&carried.entry, secret);
            let found = |name: &str| stored(name, value.as_deref());
            let wanted = secret
                .key()
                .map_or_else(|| secret_name(server), |key| own_name(server, key));
            // The command that stores it must not replace another secret.
            let name = self.take(&wanted, |name| found(name) != StoredUnderName::Other);
            secret.is_stored = found(&name) == StoredUnderName::This;
            secret.name = name;
        }
        Ok(())
    }

    /// What a server that is here needs, with these secrets and the other values of its entry.
    pub(super) fn needs_of(
        &self,
        secrets: &BTreeSet<String>,
        mut needs: Vec<NeededValue>,
    ) -> Vec<NeededValue> {
        needs.retain(|need| need.kind == NeededKind::Variable);
        for need in &mut needs {
            need.settle();
        }
        let secrets = secrets.iter().map(|name| {
            let mut need = NeededValue::secret(name.clone(), None);
            need.settle();
            need.is_set = (self.stored)(name, None) != StoredUnderName::Nothing;
            need
        });
        needs.into_iter().chain(secrets).collect()
    }

    /// The entry as it would be if it were the server of that name, which refers to `theirs`. A number that was added because the name was
    /// taken makes no other secret, and a literal that is stored for that server is that secret.
    pub(super) fn entry_as(
        &self,
        server: &str,
        theirs: &BTreeSet<String>,
        carried: &Carried,
    ) -> Map<String, Value> {
        let mut entry = carried.entry.clone();
        for secret in &carried.literals {
            let (Some(key), Some(value)) = (secret.key(), value_of(&entry, secret)) else {
                continue;
            };
            let own = own_name(server, key);
            let is_it = |name: &&String| {
                let is_own = **name == own || is_numbered(name, &own);
                is_own && (self.stored)(name, Some(&value)) == StoredUnderName::This
            };
            if let Some(name) = theirs.iter().find(is_it) {
                fill(&mut entry, &secret.place, &secret.reference(name));
            }
        }
        let secrets = carried.needs.iter();
        let mut secrets = secrets.filter(|need| need.kind == NeededKind::Secret);
        if secrets.next().is_none() {
            return entry;
        }
        let is_taken = |name: &String| {
            self.used.contains(name) || (self.stored)(name, None) == StoredUnderName::Other
        };
        renamed(&entry, &|name| {
            let own = own_name(server, name);
            if theirs.contains(&own) || !is_taken(&own) {
                return Some(own);
            }
            let numbered = theirs.iter().find(|name| is_numbered(name, &own));
            Some(numbered.cloned().unwrap_or(own))
        })
    }

    /// The name, or the first numbered one that is free and will do.
    fn take(&mut self, wanted: &str, will_do: impl Fn(&str) -> bool) -> String {
        let mut name = wanted.to_owned();
        let mut n = 1;
        while self.used.contains(&name) || !will_do(&name) {
            n += 1;
            name = format!("{wanted}-{n}");
        }
        self.used.insert(name.clone());
        name
    }
}

/// Whether it is that name with a number of [`SecretNames::take`].
fn is_numbered(name: &str, own: &str) -> bool {
    let number = name.strip_prefix(own);
    let number = number.and_then(|rest| rest.strip_prefix('-'));
    number.is_some_and(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()))
}

/// `SERVER-NAME`; a name that begins with the server's stays. The page names what is typed there by the same rule: `secretName` in
/// `src/api/page/assets/entry.js`.
pub(super) fn own_name(server: &str, name: &str) -> String {
    let name = secret_name(name);
    let rest = name.strip_prefix(server);
    if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_', '.'])) {
        return name;
    }
    secret_name(&format!("{server}-{name}"))
}

fn renamed(
    entry: &Map<String, Value>,
    name: &dyn Fn(&str) -> Option<String>,
) -> Map<String, Value> {
    let mut entry = entry.clone();
    for value in entry.values_mut() {
        let Ok(()) = change_texts(value, &mut |text| {
            *text = config::with_secrets_renamed(text, name);
            Ok::<(), Infallible>(())
        });
    }
    entry
}

/// The secret itself, where its place has nothing else but a scheme before it.
pub(super) fn value_of(entry: &Map<String, Value>, secret: &LiteralSecret) -> Option<String> {
    let (list, key) = secret.place.split_once('.')?;
    let text = entry.get(list)?.get(key)?.as_str()?;
    let text = text.get(secret.scheme.len()..)?;
    Some(text.replace("$${", "${"))
}

#[cfg(test)]
mod tests {
    use super::own_name;

    #[test]
    fn a_secret_is_called_after_its_server() {
        let check = |server: &str, name: &str, expected: &str| {
            assert_eq!(own_name(server, name), expected);
        };
        check("docs", "TOKEN", "docs-TOKEN");
        check("docs", "docs-key", "docs-key");
        check("docs", "docs", "docs");
        check("docs", "docsearch", "docs-docsearch");
        check("a", "team/key", "a-team-key");
    }
}
