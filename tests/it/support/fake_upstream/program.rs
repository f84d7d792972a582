//! The program `fake_stdio`, which `cargo test` builds as an example, beside the folder of this test. `cargo test --test it` does
//! not: a program that is older than its sources would make tests fail for no reason, or pass for none.

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
    time::SystemTime,
};

/// Where it is, once it is known to be up to date.
pub(super) fn fake_stdio() -> PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(found).clone()
}

fn found() -> PathBuf {
    let test = std::env::current_exe().expect("a running program");
    let profile = test.ancestors().nth(2).expect("target/PROFILE/deps/it");
    let name = format!("fake_stdio{}", std::env::consts::EXE_SUFFIX);
    let program = profile.join("examples").join(name);
    let remedy = "`cargo build --example fake_stdio` makes it anew";
    assert!(
        program.exists(),
        "{} is missing: {remedy}",
        program.display()
    );
    let built = changed(&program);
    for source in sources() {
        assert!(
            changed(&source) <= built,
            "{} is older than {}: {remedy}",
            program.display(),
            source.display()
        );
    }
    program
}

/// What it is made of: its main file and the files that this names.
fn sources() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let main = folder.join("fake_stdio.rs");
    let text = std::fs::read_to_string(&main).expect("the sources are there");
    let named = text.lines().filter_map(|line| {
        let path = line.strip_prefix("#[path = \"")?.strip_suffix("\"]")?;
        Some(folder.join(path))
    });
    let mut sources: Vec<PathBuf> = named.collect();
    assert!(!sources.is_empty(), "{} names its parts", main.display());
    sources.push(main);
    sources
}

fn changed(file: &Path) -> SystemTime {
    let metadata = std::fs::metadata(file);
    let changed = metadata.and_then(|metadata| metadata.modified());
    changed.unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
