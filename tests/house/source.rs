//! Reading the sources as text, well enough for the house rules.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// A Rust file of the repository.
pub(super) struct SourceFile {
    /// Its path in the repository, with `/`.
    pub(super) name: String,
    /// Which module of the crate it belongs to, if it is part of one.
    pub(super) module: Option<String>,
    pub(super) text: String,
}

impl SourceFile {
    pub(super) fn read(path: &Path) -> Self {
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
    pub(super) fn is_test(&self) -> bool {
        self.name.contains("/tests/") || self.name.ends_with("/tests.rs")
    }

    /// The text without the tests at its end. A `mod tests;`, which stands anywhere, ends nothing.
    pub(super) fn code(&self) -> &str {
        let mut tests = self.text.match_indices("#[cfg(test)]\nmod ");
        let end = tests.find(|(start, _)| {
            let line = self.text.split_at(*start).1.lines().nth(1);
            line.is_some_and(|line| line.ends_with('{'))
        });
        end.map_or(&self.text, |(end, _)| self.text.split_at(end).0)
    }

    /// Whether it is this file of `src`, or in the folder of this name; a door `link/http` lets `link/http_pool.rs` in too.
    pub(super) fn is_below(&self, door: &str) -> bool {
        let inside = self.name.strip_prefix("src/");
        inside
            .and_then(|path| path.strip_prefix(door))
            .is_some_and(|rest| rest.starts_with(['/', '.', '_']))
    }

    /// The module's own name: the folder's for a `mod.rs`.
    pub(super) fn own_name(&self) -> &str {
        let path = self.name.trim_end_matches("/mod.rs");
        let last = path.rsplit('/').next().expect("a path has a last part");
        last.trim_end_matches(".rs")
    }

    /// The files that may hold its `mod` line.
    pub(super) fn parents(&self) -> Vec<String> {
        let path = self.name.trim_end_matches("/mod.rs");
        let (folder, _) = path.rsplit_once('/').expect("sources stand in folders");
        ["mod.rs", "lib.rs", "main.rs"]
            .iter()
            .map(|file| format!("{folder}/{file}"))
            .chain([format!("{folder}.rs")])
            .collect()
    }
}

pub(super) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The program's own files.
pub(super) fn sources() -> Vec<SourceFile> {
    read_all("src")
}

/// The program's files and the tests'.
pub(super) fn rust_files() -> Vec<SourceFile> {
    let mut files = read_all("src");
    files.extend(read_all("tests"));
    files
}

pub(super) fn read_all(folder: &str) -> Vec<SourceFile> {
    let mut paths = Vec::new();
    collect(&root().join(folder), &mut paths);
    paths.sort();
    paths.iter().map(|path| SourceFile::read(path)).collect()
}

pub(super) fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
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
pub(super) fn floors() -> BTreeMap<String, usize> {
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
pub(super) fn without_comments(text: &str) -> String {
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
pub(super) fn used_modules(code: &str) -> BTreeSet<String> {
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
pub(super) fn first_names(group: &str) -> Vec<String> {
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

pub(super) fn first_word(text: &str) -> Option<String> {
    let word: String = text
        .trim_start()
        .chars()
        .take_while(|c| is_word(*c))
        .collect();
    (!word.is_empty()).then_some(word)
}

/// Whether the code has a path that begins with this crate.
pub(super) fn names_crate(code: &str, dependency: &str) -> bool {
    let path = format!("{dependency}::");
    code.match_indices(&path).any(|(start, _)| {
        let before = code.split_at(start).0;
        !before.ends_with(|c: char| is_word(c) || c == ':')
    })
}

pub(super) fn defined_types(text: &str) -> Vec<String> {
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

pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

pub(super) fn assert_none(wrong: &[String], rule: &str) {
    assert!(wrong.is_empty(), "{rule}:\n{}", wrong.join("\n"));
}

/// What is let through: a file or folder below `src`, how many lines of it at most, and why.
pub(super) type Exception = (&'static str, usize, &'static str);

/// Fails if something was found, `FILE: what`, that no exception covers, if there is more of it than an exception lets through, or if
/// an exception is not needed any more.
pub(super) fn assert_none_but(found: &[(String, String)], exceptions: &[Exception], rule: &str) {
    let is_covered = |file: &str, known: &str| {
        let inside = file
            .strip_prefix("src/")
            .and_then(|it| it.strip_prefix(known));
        inside.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let covered = |file: &str| exceptions.iter().any(|(known, ..)| is_covered(file, known));
    let mut wrong: Vec<String> = found
        .iter()
        .filter(|(file, _)| !covered(file))
        .map(|(file, what)| format!("{file}: {what}"))
        .collect();
    for (known, at_most, _) in exceptions {
        let hits: Vec<&(String, String)> = found
            .iter()
            .filter(|(file, _)| is_covered(file, known))
            .collect();
        if hits.is_empty() {
            wrong.push(format!("{known}: an exception that is not needed"));
        } else if hits.len() > *at_most {
            let hits = hits.iter().map(|(file, what)| format!("{file}: {what}"));
            let rest = hits.collect::<Vec<_>>().join("\n");
            wrong.push(format!("{known}: more than {at_most}, one of\n{rest}"));
        }
    }
    assert_none(&wrong, rule);
}

/// The lines of the program's code, without comments and tests, on which something is found.
pub(super) fn found_in_code(found: impl Fn(&SourceFile, &str) -> bool) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for file in sources().into_iter().filter(|file| !file.is_test()) {
        let code = without_comments(file.code());
        let hits = code.lines().filter(|line| found(&file, line));
        lines.extend(hits.map(|line| (file.name.clone(), line.trim().to_owned())));
    }
    lines
}

#[test]
fn only_tests_at_the_end_are_no_code() {
    let code = |text: &str| {
        let file = SourceFile {
            name: String::new(),
            module: None,
            text: text.to_owned(),
        };
        file.code().to_owned()
    };
    let declared = "#[cfg(test)]\nmod tests;\nfn f() {}\n";
    assert_eq!(code(declared), declared);
    let at_the_end = "fn f() {}\n#[cfg(test)]\nmod tests {\n}\n";
    assert_eq!(
        code(&[declared, at_the_end].concat()),
        [declared, "fn f() {}\n"].concat()
    );
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
