//! House rules that the compiler cannot check. Each failure names the file and says what to do.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Longest file, not counting its `#[cfg(test)]` tail: about ten screens, past which nobody reads from the top.
const MAX_LINES: usize = 450;

/// Big dependencies, and the only places (paths below `src`) that may name them. Replacing one stays a local change.
const DOORS: &[(&str, &[&str])] = &[
    ("axum", &["inbound", "api", "daemon"]),
    ("clap", &["cli"]),
    ("comfy_table", &["cli"]),
    ("directories", &["config"]),
    ("frostem", &["catalog/tokenizer"]),
    ("globset", &["config"]),
    (
        "hyper",
        &[
            "link",
            "bridge",
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
            "bridge",
            "daemon",
            "daemon_client",
            "inbound/attach",
        ],
    ),
    ("jsonc_parser", &["config"]),
    ("notify", &["config"]),
    ("rmcp", &["upstream/control"]),
    ("rustls", &["link"]),
    ("sd_notify", &["daemon"]),
    ("tantivy", &["catalog/index"]),
    ("tracing_subscriber", &["logging"]),
    ("which", &["process"]),
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
fn only_wire_compares_revisions() {
    let wrong: Vec<String> = sources()
        .into_iter()
        .filter(|file| !file.is_below("wire"))
        .filter(|file| without_comments(file.code()).contains("Revision::V"))
        .map(|file| file.name)
        .collect();
    assert_none(&wrong, "ask a method of `Revision` instead of comparing");
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
    ["", "tests/fuzz/"].into_iter().any(|package| {
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

#[test]
fn the_readers_of_source_text_see_what_is_there() {
    let modules = |text| used_modules(text).into_iter().collect::<Vec<_>>().join(" ");
    assert_eq!(modules("use crate::a::X; fn f() { crate::b::c() }"), "a b");
    assert_eq!(modules("use crate::{a::{X, Y}, b, c::d};"), "a b c");
    assert_eq!(modules("use mycrate::z; $crate::y"), "");
    assert_eq!(
        without_comments("a // crate::x\n/// crate::y\n\"http://z\""),
        "a \n\n\"http://z\""
    );
    assert!(names_crate("use which::which;", "which"));
    assert!(names_crate("#[derive(clap::Parser)]", "clap"));
    assert!(!names_crate("super::notify::x(); renotify::y()", "notify"));
    assert_eq!(
        defined_types("pub struct A; enum B<T> {}\ntype C = u8;"),
        ["A", "B"]
    );
}

/// A Rust file of the repository.
struct SourceFile {
    /// Its path in the repository, with `/`.
    name: String,
    /// Which module of the crate it belongs to, if it is part of one.
    module: Option<String>,
    text: String,
}

impl SourceFile {
    fn read(path: &Path) -> Self {
        let name = path.strip_prefix(root()).expect("a path in the repository");
        let parts: Vec<_> = name.iter().map(|part| part.to_string_lossy()).collect();
        let module = match &parts[..] {
            [src, file] if src == "src" && (file == "lib.rs" || file == "main.rs") => None,
            [src, first, ..] if src == "src" => Some(first.trim_end_matches(".rs").to_owned()),
            _ => None,
        };
        Self {
            name: parts.join("/"),
            module,
            text: fs::read_to_string(path).expect("sources are text"),
        }
    }

    /// Whether the file is the tests of a module.
    fn is_test(&self) -> bool {
        self.name.contains("/tests/") || self.name.ends_with("/tests.rs")
    }

    /// The text without its tests.
    fn code(&self) -> &str {
        let end = self.text.find("#[cfg(test)]\nmod ");
        end.map_or(&self.text, |end| self.text.split_at(end).0)
    }

    /// Whether it is this file of `src`, or in the folder of this name; a door `link/http` lets `link/http_pool.rs` in too.
    fn is_below(&self, door: &str) -> bool {
        let inside = self.name.strip_prefix("src/");
        inside
            .and_then(|path| path.strip_prefix(door))
            .is_some_and(|rest| rest.starts_with(['/', '.', '_']))
    }

    /// The module's own name: the folder's for a `mod.rs`.
    fn own_name(&self) -> &str {
        let path = self.name.trim_end_matches("/mod.rs");
        let last = path.rsplit('/').next().expect("a path has a last part");
        last.trim_end_matches(".rs")
    }

    /// The files that may hold its `mod` line.
    fn parents(&self) -> Vec<String> {
        let path = self.name.trim_end_matches("/mod.rs");
        let (folder, _) = path.rsplit_once('/').expect("sources stand in folders");
        ["mod.rs", "lib.rs", "main.rs"]
            .iter()
            .map(|file| format!("{folder}/{file}"))
            .chain([format!("{folder}.rs")])
            .collect()
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The program's own files.
fn sources() -> Vec<SourceFile> {
    read_all("src")
}

/// The program's files and the tests'.
fn rust_files() -> Vec<SourceFile> {
    let mut files = read_all("src");
    files.extend(read_all("tests"));
    files
}

fn read_all(folder: &str) -> Vec<SourceFile> {
    let mut paths = Vec::new();
    collect(&root().join(folder), &mut paths);
    paths.sort();
    paths.iter().map(|path| SourceFile::read(path)).collect()
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            // What is built there, if somebody builds there, is not ours.
            if !path.ends_with("target") {
                collect(&path, paths);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
}

/// The floor of each module, read from the headings of `src/lib.rs`.
fn floors() -> BTreeMap<String, usize> {
    let map = fs::read_to_string(root().join("src/lib.rs")).expect("the crate has a root");
    let mut floor = None;
    let mut floors = BTreeMap::new();
    for line in map.lines() {
        if let Some(heading) = line.strip_prefix("// Floor ") {
            let number = heading.split(':').next().and_then(|text| text.parse().ok());
            floor = Some(number.unwrap_or_else(|| panic!("no floor in {line:?}")));
        }
        if let Some(name) = line.strip_prefix("pub mod ").or(line.strip_prefix("mod ")) {
            let floor = floor.unwrap_or_else(|| panic!("{line:?} stands above every floor"));
            floors.insert(name.trim_end_matches(';').to_owned(), floor);
        }
    }
    assert!(!floors.is_empty(), "src/lib.rs has no floors");
    floors
}

/// The text without `//` comments. Good enough for sources: a `//` after a colon is taken for an address.
fn without_comments(text: &str) -> String {
    let code = |line: &str| {
        let start = line
            .match_indices("//")
            .map(|(start, _)| start)
            .find(|&start| !line.split_at(start).0.ends_with(':'));
        start
            .map_or(line, |start| line.split_at(start).0)
            .to_owned()
    };
    text.lines().map(code).collect::<Vec<_>>().join("\n")
}

/// The modules named after `crate::`, in `crate::a::b` and in `crate::{a::X, b}`.
fn used_modules(code: &str) -> BTreeSet<String> {
    let mut modules = BTreeSet::new();
    for (start, path) in code.match_indices("crate::") {
        let (before, rest) = code.split_at(start);
        let (_, rest) = rest.split_at(path.len());
        if before.ends_with(|c: char| is_word(c) || c == '$') {
            continue;
        }
        match rest.strip_prefix('{') {
            Some(group) => modules.extend(first_names(group)),
            None => modules.extend(first_word(rest)),
        }
    }
    modules
}

/// The first name of each path of a `{…}` group, whose `{` is gone already.
fn first_names(group: &str) -> Vec<String> {
    let mut depth = 0;
    let mut names = Vec::new();
    let mut path = String::new();
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.extend(first_word(&std::mem::take(&mut path))),
            _ if depth == 0 => path.push(c),
            _ => (),
        }
    }
    names.extend(first_word(&path));
    names
}

fn first_word(text: &str) -> Option<String> {
    let word: String = text
        .trim_start()
        .chars()
        .take_while(|c| is_word(*c))
        .collect();
    (!word.is_empty()).then_some(word)
}

/// Whether the code has a path that begins with this crate.
fn names_crate(code: &str, dependency: &str) -> bool {
    let path = format!("{dependency}::");
    code.match_indices(&path).any(|(start, _)| {
        let before = code.split_at(start).0;
        !before.ends_with(|c: char| is_word(c) || c == ':')
    })
}

fn defined_types(text: &str) -> Vec<String> {
    let code = without_comments(text);
    let mut words = code.split_whitespace().peekable();
    let mut names = Vec::new();
    while let Some(word) = words.next() {
        if matches!(word, "struct" | "enum" | "trait") {
            names.extend(words.peek().and_then(|next| first_word(next)));
        }
    }
    names
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn assert_none(wrong: &[String], rule: &str) {
    assert!(wrong.is_empty(), "{rule}:\n{}", wrong.join("\n"));
}
