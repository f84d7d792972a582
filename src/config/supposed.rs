//! Reading a file of which some environment variables are missing in this process: the daemon has them, and a command need not. The file
//! as a whole cannot be used without the variables of its top level, such as those of tokens.

use std::{collections::BTreeSet, sync::Arc};

use super::{KeyringLookup, LoadError, Places, Settings, Variables, keyring::placeholder, load};

/// The settings of a file, and the variables that this process lacks.
#[derive(Debug)]
pub struct Supposed {
    /// The settings, with a placeholder for the value of each missing variable.
    pub settings: Settings,
    /// The missing variables without which the file could not be used as a whole.
    pub missing: BTreeSet<String>,
}

/// Reads a file as if every variable were set without which it cannot be used as a whole. Variables of a single server stay missing: they
/// break only its entry.
pub fn load_supposing(
    places: &Places,
    variables: &Variables,
    keyring: &KeyringLookup,
) -> Result<Supposed, LoadError> {
    let mut missing = BTreeSet::new();
    loop {
        let (supposed, real) = (missing.clone(), Arc::clone(variables));
        let lookup: Variables = Arc::new(move |name| {
            let value = || supposed.contains(name).then(|| placeholder(name));
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

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::config::{RequestedPlaces, no_values};

    fn places_of(file: &Path) -> Places {
        let asked = RequestedPlaces {
            config_file: Some(file.to_owned()),
            data_dir: file.parent().map(Path::to_owned),
        };
        Places::find(&asked, &|_| None).expect("both are named")
    }

    #[test]
    fn what_tokens_refer_to_is_supposed_and_other_mistakes_are_not() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("mcp_config.json");
        let none: Variables = Arc::new(|_| None);
        let load = |text: &str| {
            fs::write(&file, text).expect("ours");
            let places = places_of(&file);
            load_supposing(&places, &none, &no_values())
        };
        let text = r#"{ "api_key": "${KEY}", "mcpServers": { "a": { "command": "x", "env": { "B": "${ONLY_A}" } } }, "serverAuth": { "provider": "bearer", "bearer": { "tokens": { "${ADA}": "ada", "${BEN}": "ben" } } } }"#;
        let found = load(text).expect("it is sound");
        let expected = ["ADA", "BEN", "KEY"].map(str::to_owned);
        assert_eq!(found.missing, BTreeSet::from(expected));
        let auth = found.settings.server_auth.expect("it is configured");
        assert_eq!(auth.tokens.len(), 2);
        assert_eq!(found.settings.broken.len(), 1, "that of the server counts");
        load(&text.replace("\"provider\"", "\"providr\"")).expect_err("it has a mistake");
        load("{").expect_err("it is no JSON");
    }
}
