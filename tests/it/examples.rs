//! The files in `examples/`: people start from them, so they must load. The script is run by `tests/peers`.

use std::{fs, path::Path};

use mcpproxy::config::{Surroundings, parse};

#[test]
fn every_example_loads_without_a_word() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    // Examples refer to variables that their readers have.
    let value = "0123456789abcdef-0123456789abcdef";
    let lookup = |name: &str| (name != "MCP_TIMEOUT").then(|| value.to_owned());
    let mut seen = 0;
    for file in fs::read_dir(&folder).expect("the folder is there") {
        let path = file.expect("readable").path();
        if path.extension().is_some_and(|end| end == "py") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("readable");
        let surroundings = Surroundings {
            lookup: &lookup,
            folder: &folder,
        };
        let settings =
            parse(&text, &surroundings).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(
            settings.broken.is_empty(),
            "{}: {:?}",
            path.display(),
            settings.broken
        );
        assert!(
            settings.warnings.is_empty(),
            "{}: {:?}",
            path.display(),
            settings.warnings
        );
        assert!(!settings.servers.is_empty(), "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 3, "{seen} examples");
}
