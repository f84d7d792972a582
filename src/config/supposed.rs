//! What a file says where variables are missing here without which it cannot be used as a whole, such as those of tokens: the daemon has
//! them, and a command need not.

use std::{collections::BTreeSet, sync::Arc};

use super::{KeyringLookup, LoadError, Places, Settings, Variables, load};

/// What a file says, and what is missing here.
#[derive(Debug)]
pub struct Supposed {
    /// What it says, with something in place of every value that is missing.
    pub settings: Settings,
    /// The variables that are missing, without which it could not be used as a whole.
    pub missing: BTreeSet<String>,
}

/// What a file says where every variable that keeps it from being used as a whole is supposed to be set. What a server alone refers to
/// is none of them.
pub fn load_supposing(
    places: &Places,
    variables: &Variables,
    keyring: &KeyringLookup,
) -> Result<Supposed, LoadError> {
    let mut missing = BTreeSet::new();
    loop {
        let (supposed, real) = (missing.clone(), Arc::clone(variables));
        let lookup: Variables = Arc::new(move |name| {
            let value = || supposed.contains(name).then(|| in_place_of(name));
            real(name).or_else(value)
        });
        let error = match load(places, &lookup, keyring) {
            Ok(settings) => return Ok(Supposed { settings, missing }),
            Err(error) => error,
        };
        let known = missing.len();
        missing.extend(error.missing_variables().map(str::to_owned));
        if missing.len() == known {
            return Err(error);
        }
    }
}

/// As long as any key has to be, and for each name another.
fn in_place_of(name: &str) -> String {
    blake3::hash(name.as_bytes()).to_hex().to_string()
}

#[cfg(test)]
mod tests;
