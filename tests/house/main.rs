//! House rules that the compiler cannot check. Each failure names the file and says what to do.

mod cycles;
mod pages;
mod seams;
mod source;
mod words;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::Command,
};

use self::source::{
    assert_none, defined_types, floors, names_crate, root, rust_files, sources, used_modules,
    without_comments,
};

/// Longest file, not counting its `#[cfg(test)]` tail: about ten screens, past which nobody reads from the top.
const MAX_LINES: usize = 500;

/// Big dependencies, and the only places (paths below `src`) that may name them. Replacing one stays a local change.
const DOORS: &[(&str, &[&str])] = &[
    ("aho_corasick", &["text/redact"]),
    ("axum", &["inbound", "api", "daemon", "api/page"]),
    ("chrono", &["text/moment"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli/completions"]),
    ("directories", &["config"]),
    ("frostem", &["catalog/tokenizer"]),
    ("globset", &["config"]),
    (
        "hyper",
        &[
            "link",
            "daemon_client/bridge",
            "daemon",
            "daemon_client",
            "inbound/attach",
        ],
    ),
    ("hyper_rustls", &["link"]),
    (
        "hyper_util",
        &[
            "link",
            "daemon_client/bridge",
            "daemon",
            "daemon_client",
            "inbound/attach",
        ],
    ),
    ("jsonc_parser", &["config"]),
    ("notify", &["config"]),
    ("opentelemetry", &["telemetry/spans"]),
    ("opentelemetry_http", &["telemetry/spans"]),
    ("opentelemetry_otlp", &["telemetry/spans"]),
    ("opentelemetry_sdk", &["telemetry/spans"]),
    ("prometheus_client", &["telemetry/metrics"]),
    ("redb", &["activity"]),
    ("regex", &["text/redact", "trust/scanner"]),
    ("ring", &["sessions/sealing", "link/remote/tls"]),
    ("rquickjs", &["code_execution/engine"]),
    ("rmcp", &["authorization"]),
    ("rustls", &["link"]),
    (
        "schemars",
        &[
            "activity",
            "api",
            "authorization/pending",
            "clients",
            "config",
            "doctor",
            "failure",
            "management",
            "router/search",
        ],
    ),
    ("sd_notify", &["daemon"]),
    ("security_framework", &["keyring"]),
    ("tantivy", &["catalog/index"]),
    ("toml_edit", &["clients/toml"]),
    ("tracing_subscriber", &["telemetry/logging"]),
    ("unicode_width", &["cli"]),
    (
        "unicode_security",
        &["trust/scanner", "text/visible/letters"],
    ),
    ("which", &["process"]),
    ("zbus", &["keyring/secret_service"]),
    ("yaml_edit", &["clients/yaml"]),
];

/// What stands at the top of the repository.
const TOP_LEVEL: &[&str] = &[
    ".ci",
    ".github",
    ".gitignore",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "docs",
    "examples",
    "src",
    "tests",
];

/// Words that say nothing about what a thing is, as parts of file names.
const EMPTY_WORDS: &[&str] = &[
    "common", "helper", "helpers", "info", "manager", "misc", "util", "utils",
];

#[test]
fn modules_use_lower_floors_only() {
    let floors = floors();
    let mut wrong = Vec::new();
    for file in sources() {
        // `main.rs` stands on top of the house, and `lib.rs` is its map.
        let Some(module) = file.module.as_deref() else {
            continue;
        };
        let Some(&from) = floors.get(module) else {
            wrong.push(format!("{}: `{module}` is on no floor", file.name));
            continue;
        };
        for target in used_modules(&without_comments(&file.text)) {
            match floors.get(&target) {
                Some(&to) if to < from || target == module => (),
                Some(&to) => wrong.push(format!(
                    "{}: `{module}` (floor {from}) uses `{target}` (floor {to})",
                    file.name
                )),
                None => wrong.push(format!("{}: `{target}` is on no floor", file.name)),
            }
        }
    }
    assert_none(&wrong, "a module uses lower floors of `src/lib.rs` only");
}

#[test]
fn the_code_map_names_every_module() {
    let page = fs::read_to_string(root().join("docs/ARCHITECTURE.md")).expect("the page is there");
    let map = page
        .split("\n## ")
        .find(|part| part.starts_with("Code map"));
    let mut named: BTreeMap<String, usize> = BTreeMap::new();
    for line in map.expect("the page has a code map").lines() {
        let mut cells = line.split('|').skip(1).map(str::trim);
        let (floor, modules) = (cells.next(), cells.next().unwrap_or_default());
        if let Some(floor) = floor.and_then(|floor| floor.parse().ok()) {
            let modules = modules.split('`').skip(1).step_by(2);
            named.extend(modules.map(|module| (module.to_owned(), floor)));
        }
    }
    let floors = floors();
    let mut wrong = Vec::new();
    for (module, floor) in &floors {
        match named.get(module) {
            Some(found) if found == floor => (),
            Some(found) => wrong.push(format!("{module}: on floor {floor}, not {found}")),
            None => wrong.push(format!("{module}: has no line")),
        }
    }
    let gone = named.keys().filter(|module| !floors.contains_key(*module));
    wrong.extend(gone.map(|module| format!("{module}: is no module")));
    assert_none(
        &wrong,
        "the code map of docs/ARCHITECTURE.md says what `src/lib.rs` says",
    );
}

/// What stands there as `link::stdio`, `connect::era` or `gate::Admitted`: each name is a file, or stands in the file before it. And what
/// stands there as `gate/rules.rs` or `docs/rest.md` is a file, and as `Admitted` a word of the sources.
#[test]
fn the_pages_on_the_architecture_name_what_there_is() {
    let pages = ["docs/ARCHITECTURE.md", "docs/internals.md"];
    let pages = pages.map(|page| fs::read_to_string(root().join(page)).expect("the page is there"));
    let page = pages.concat();
    let files = sources();
    let holds =
        |text: &str, name: &str| text.split(|c: char| !source::is_word(c)).any(|w| w == name);
    let is_there = |path: &str| {
        // What stands in a type is its own affair.
        let mut names: Vec<&str> = path.split("::").collect();
        let is_type = |name: &&str| name.starts_with(|c: char| c.is_ascii_uppercase());
        if let Some(at) = names.iter().position(is_type) {
            names.truncate(at + 1);
        }
        let file = |names: &[&str]| {
            let end = format!("/{}", names.join("/"));
            let ends = [format!("{end}.rs"), format!("{end}/mod.rs")];
            files
                .iter()
                .find(|file| ends.iter().any(|end| file.name.ends_with(end)))
        };
        match names.split_last() {
            Some((last, room)) => {
                file(&names).is_some()
                    || file(room).is_some_and(|file| holds(&without_comments(&file.text), last))
            }
            None => true,
        }
    };
    let quoted = || page.split('`').skip(1).step_by(2);
    let starts_small = |path: &&str| path.starts_with(|c: char| c.is_ascii_lowercase());
    let paths = quoted().filter(|path| {
        let is_path = |c: char| source::is_word(c) || c == ':';
        path.contains("::") && path.chars().all(is_path)
    });
    let modules = paths.filter(starts_small).filter(|path| !is_there(path));
    let is_file = |path: &&str| {
        let ends = [".rs", ".md", ".js", ".json", ".txt", ".mjs"];
        path.contains('/')
            && ends.iter().any(|end| path.ends_with(end))
            && !path.contains(char::is_uppercase)
    };
    let absent =
        |path: &&str| !root().join(path).exists() && !root().join("src").join(path).exists();
    let listed = quoted().filter(is_file).filter(absent);
    let is_type = |name: &&str| {
        name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.contains(|c: char| c.is_ascii_lowercase())
            && name.chars().all(source::is_word)
    };
    let texts = files.iter().map(|file| without_comments(&file.text));
    let texts: Vec<String> = texts.collect();
    let is_nowhere = |name: &&str| !texts.iter().any(|text| holds(text, name));
    let types = quoted().filter(is_type).filter(is_nowhere);
    let wrong = modules.chain(listed).chain(types).map(str::to_owned);
    let wrong: Vec<String> = wrong.collect();
    assert_none(
        &wrong,
        "the pages on the architecture name what is not there",
    );
}

#[test]
fn every_big_dependency_has_one_door() {
    let mut wrong = Vec::new();
    for file in sources() {
        if file.is_test() {
            continue;
        }
        let code = without_comments(&file.text);
        for (dependency, doors) in DOORS {
            if names_crate(&code, dependency) && !doors.iter().any(|door| file.is_below(door)) {
                wrong.push(format!(
                    "{}: `{dependency}` belongs to {doors:?}",
                    file.name
                ));
            }
        }
    }
    assert_none(&wrong, "big dependencies enter through one door");
}

#[test]
fn files_stay_short() {
    let wrong: Vec<String> = rust_files()
        .into_iter()
        .filter_map(|file| {
            let n_lines = file.code().lines().count();
            (MAX_LINES < n_lines && !file.is_test())
                .then(|| format!("{}: {n_lines} lines", file.name))
        })
        .collect();
    assert_none(&wrong, "split these files by idea");
}

/// A room grows by a tenth, and then somebody says why.
#[test]
fn a_room_that_grows_says_why() {
    let page = fs::read_to_string(root().join("docs/decisions/rooms.md"));
    let page = page.expect("the page is there");
    let known: BTreeMap<&str, usize> = page
        .lines()
        .filter_map(|line| {
            let mut cells = line.split('|').skip(1).map(str::trim);
            let (room, n_lines) = (cells.next()?, cells.next()?);
            Some((room.trim_matches('`'), n_lines.parse().ok()?))
        })
        .collect();
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for file in sources().into_iter().filter(|file| !file.is_test()) {
        let code = without_comments(file.code());
        let n_lines = code.lines().filter(|line| !line.trim().is_empty()).count();
        let room = file.module.unwrap_or_else(|| "lib".to_owned());
        *found.entry(room).or_default() += n_lines;
    }
    let mut wrong = Vec::new();
    for (room, n_lines) in &found {
        match known.get(room.as_str()) {
            Some(known) if *n_lines <= known + known / 10 => (),
            Some(known) => wrong.push(format!("{room}: {n_lines} lines, not {known}")),
            None => wrong.push(format!("{room}: {n_lines} lines, and has no line")),
        }
    }
    let gone = known.keys().filter(|room| !found.contains_key(**room));
    wrong.extend(gone.map(|room| format!("{room}: is no room")));
    assert_none(&wrong, "say in docs/decisions/rooms.md why it grew");
}

/// A file that no `mod` line names is never compiled, and a test file so forgotten never runs.
#[test]
fn no_file_is_forgotten() {
    let mut wrong = Vec::new();
    for file in rust_files() {
        if ["src/lib.rs", "src/main.rs"].contains(&file.name.as_str()) || is_target(&file.name) {
            continue;
        }
        let line = format!("mod {};", file.own_name());
        // Platform siblings share one module name.
        let path = format!("#[path = \"{}.rs\"]", file.own_name());
        let named = file.parents().iter().any(|parent| {
            let text = fs::read_to_string(root().join(parent)).unwrap_or_default();
            text.lines().any(|known| known.trim().ends_with(&line)) || text.contains(&path)
        });
        if !named {
            wrong.push(format!(
                "{}: `{line}` is missing in {:?}",
                file.name,
                file.parents()
            ));
        }
    }
    assert_none(&wrong, "every file is named by a `mod` line");
}

/// Whether a manifest names it: a test, a benchmark, a fuzz target.
fn is_target(file: &str) -> bool {
    let packages = ["", "tests/bench/", "tests/fuzz/", "tests/peers/rmcp/"];
    packages.into_iter().any(|package| {
        let manifest = fs::read_to_string(root().join(package).join("Cargo.toml"));
        let manifest = manifest.expect("every package has a manifest");
        let inside = file.strip_prefix(package);
        inside.is_some_and(|path| manifest.contains(&format!("path = \"{path}\"")))
    })
}

#[test]
fn names_say_what_a_thing_is() {
    let mut wrong = Vec::new();
    for file in rust_files() {
        let own_name = file.own_name();
        if own_name.split('_').any(|word| EMPTY_WORDS.contains(&word)) {
            wrong.push(file.name.clone());
        }
        for name in defined_types(&file.text) {
            let lower = name.to_lowercase();
            if ["helper", "info", "manager", "utils"]
                .iter()
                .any(|word| lower.ends_with(word))
            {
                wrong.push(format!("{}: {name}", file.name));
            }
        }
    }
    assert_none(&wrong, "name it after what it is to the reader");
}

/// Tests are built with the libraries that the program was built with. One that they want other features of is built again, with all that
/// stand on it and the program itself.
#[test]
fn tests_change_no_library() {
    let (program, tests) = (
        built_libraries("normal,build"),
        built_libraries("normal,build,dev"),
    );
    let wrong: Vec<_> = program.difference(&tests).cloned().collect();
    assert_none(
        &wrong,
        "give it under [dependencies] the features that [dev-dependencies] bring",
    );
}

/// Name, version and features of every library on such edges.
fn built_libraries(edges: &str) -> BTreeSet<String> {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--prefix", "none"])
        .args(["--format", "{p} {f}", "--edges", edges])
        .current_dir(root())
        .output();
    let tree = tree.expect("cargo is here");
    let problem = String::from_utf8_lossy(&tree.stderr);
    assert!(tree.status.success(), "{problem}");
    let lines = String::from_utf8(tree.stdout).expect("names are UTF-8");
    let known = lines
        .lines()
        .map(|line| line.trim_end_matches(" (*)").to_owned());
    known.collect()
}

#[test]
fn the_top_level_holds_what_everybody_expects() {
    let listing = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root())
        .output();
    // A package without its repository has no listing.
    let Ok(listing) = listing else { return };
    let listing = String::from_utf8(listing.stdout).expect("paths are UTF-8");
    let wrong: BTreeSet<&str> = listing
        .split('\0')
        .filter_map(|path| path.split('/').next())
        .filter(|entry| !entry.is_empty() && !TOP_LEVEL.contains(entry))
        .collect();
    let wrong: Vec<String> = wrong.into_iter().map(str::to_owned).collect();
    assert_none(&wrong, "these do not belong at the top of the repository");
}
