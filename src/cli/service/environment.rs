//! What a service would lack: references to variables that a service does not get, whether they are set in this shell or not.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::Arc,
};

use crate::config::{self, Places, Variables};

/// What refers to variables that a service does not have.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Lacking {
    /// Variables without which the daemon refuses the file as a whole: those of tokens, for example.
    pub(super) whole: BTreeSet<String>,
    /// The servers whose entries cannot be used without theirs.
    pub(super) servers: Vec<String>,
}

/// What of the file refers to variables that are not among these, which a service has.
pub(super) fn lacking(places: &Places, given: &BTreeMap<String, String>) -> Lacking {
    let given = given.clone();
    let variables: Variables = Arc::new(move |name| given.get(name).cloned());
    // Secrets by name are the same there as here.
    match config::load_supposing(places, &variables, &config::no_values()) {
        Ok(there) => {
            let broken = there.settings.broken.into_iter();
            let broken = broken.filter(|broken| config::lacks_variable(&broken.reason));
            Lacking {
                whole: there.missing,
                servers: broken.map(|broken| broken.name).collect(),
            }
        }
        // What is wrong with it is said elsewhere.
        Err(_) => Lacking::default(),
    }
}

/// The variables that a service has: those of the manager, and those of a file that it reads.
pub(super) fn given(manager: &str, file: &Path) -> BTreeMap<String, String> {
    let home = std::env::var("HOME").unwrap_or_default();
    let mut given = BTreeMap::from([("HOME".to_owned(), home)]);
    given.extend(manager.lines().filter_map(assignment));
    given.extend(of_file(file));
    given
}

/// What this command sees, and above it what stands in a file that a service reads.
pub(super) fn with_file(file: &Path) -> Variables {
    let (process, of_file) = (config::process_environment(), of_file(file));
    Arc::new(move |name| of_file.get(name).cloned().or_else(|| process(name)))
}

fn of_file(file: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().filter_map(assignment).collect()
}

/// `NAME=VALUE`, the value in quotes or without.
fn assignment(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once('=')?;
    let value = value.trim();
    let inside = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    let value = inside('"').or_else(|| inside('\'')).unwrap_or(value);
    Some((name.trim().to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::{given, lacking};
    use crate::config::{Places, RequestedPlaces};

    fn places(file: &Path) -> Places {
        let asked = RequestedPlaces {
            config_file: Some(file.to_owned()),
            data_dir: file.parent().map(Path::to_owned),
        };
        Places::find(&asked, &|_| None).expect("both are named")
    }

    #[test]
    fn a_server_whose_variable_a_service_does_not_get_is_named() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("mcp_config.json");
        // Tests are always given it.
        let text = r#"{ "mcpServers": { "a": { "command": "x", "env": { "K": "${PATH}" } }, "b": { "command": "x", "env": { "H": "${HOME}" } }, "c": { "command": "x", "env": { "N": "${NOT_SET_ANYWHERE}" } } } }"#;
        fs::write(&file, text).expect("writable");
        let none = given("LANG=C\n", Path::new("/no/such/file"));
        assert_eq!(lacking(&places(&file), &none).servers, ["a", "c"]);
        let environment_file = folder.path().join("mcpproxy.env");
        fs::write(&environment_file, "# keys\nPATH=x\n").expect("writable");
        let some = given("", &environment_file);
        assert_eq!(
            lacking(&places(&file), &some).servers,
            ["c"],
            "what is set nowhere is lacking here and there"
        );
    }

    #[test]
    fn variables_of_tokens_are_named_and_servers_are_looked_at_all_the_same() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("mcp_config.json");
        let text = r#"{ "mcpServers": { "a": { "command": "x", "env": { "K": "${PATH}" } } }, "api_key": "${PATH}",
            "serverAuth": { "provider": "bearer", "bearer": { "tokens": { "${PATH}": "ada", "${CARGO_MANIFEST_DIR}": "ben" } } } }"#;
        fs::write(&file, text).expect("writable");
        let found = lacking(&places(&file), &given("", Path::new("/no/such/file")));
        let expected = ["CARGO_MANIFEST_DIR", "PATH"].map(str::to_owned);
        assert_eq!(found.whole, BTreeSet::from(expected));
        let environment_file = folder.path().join("mcpproxy.env");
        let lines = "PATH=\"0123456789abcdef0123456789abcdef\"\nCARGO_MANIFEST_DIR='another token of thirty-two signs'\n";
        fs::write(&environment_file, lines).expect("writable");
        let found = lacking(&places(&file), &given("", &environment_file));
        assert_eq!(found, super::Lacking::default());
    }
}
