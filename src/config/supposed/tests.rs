use std::{fs, path::Path, sync::Arc};

use super::{
    super::{keyring::no_values, places::RequestedPlaces},
    *,
};

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
    let text = r#"{ "api_key": "${KEY}", "mcpServers": { "a": { "command": "x", "env": { "B": "${ONLY_A}" } } },
            "serverAuth": { "provider": "bearer", "bearer": { "tokens": { "${ADA}": "ada", "${BEN}": "ben" } } } }"#;
    let found = load(text).expect("it is sound");
    let expected = ["ADA", "BEN", "KEY"].map(str::to_owned);
    assert_eq!(found.missing, BTreeSet::from(expected));
    let auth = found.settings.server_auth.expect("it is configured");
    assert_eq!(auth.tokens.len(), 2);
    assert_eq!(found.settings.broken.len(), 1, "that of the server counts");
    load(&text.replace("\"provider\"", "\"providr\"")).expect_err("it has a mistake");
    load("{").expect_err("it is no JSON");
}
