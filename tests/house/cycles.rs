//! Modules of one parent do not import each other in a circle, with all that stands inside them, so that each can be read after those
//! which it uses. A parent and what stands inside it belong together and may.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{assert_none, is_word, sources, without_comments};

/// Where a file stands among the modules: `["link", "http", "pull"]`.
type Module = Vec<String>;

/// A path of the source text, from `use` or elsewhere, and the name under which it is known from there on.
type Import = (Vec<String>, String);

#[test]
fn files_of_a_room_form_no_circles() {
    let files = sources().into_iter().filter(|file| !file.is_test());
    let files: BTreeMap<Module, String> = files
        .map(|file| (module_of(&file.name), without_comments(file.code())))
        .collect();
    let found = circles(&files).into_iter();
    let wrong: Vec<String> = found
        .map(|files| files.into_iter().collect::<Vec<_>>().join(" <-> "))
        .collect();
    assert_none(&wrong, "move what both need to where both may look");
}

fn module_of(file: &str) -> Module {
    let path = file.strip_prefix("src/").expect("a source");
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').map(str::to_owned).collect()
}

/// The groups of modules that can reach each other, each with what stands inside it, among the modules of one parent.
fn circles(files: &BTreeMap<Module, String>) -> BTreeSet<BTreeSet<String>> {
    let imports: BTreeMap<&Module, Vec<Import>> = files
        .iter()
        .map(|(module, code)| (module, imports(code)))
        .collect();
    let mut uses: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for (from, paths) in &imports {
        let targets = paths
            .iter()
            .filter_map(|(path, _)| resolve(&imports, from, path, 0));
        for to in targets.filter(|to| to.first() == from.first()) {
            if let Some((from, to)) = siblings(from, to) {
                uses.entry(to.clone()).or_default();
                uses.entry(from).or_default().insert(to);
            }
        }
    }
    let reached = |from: &Module| {
        let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(next) = open.pop() {
            let fresh = uses[next].iter().filter(|to| reached.insert(*to));
            open.extend(fresh.collect::<Vec<_>>());
        }
        reached
    };
    let reached: BTreeMap<&Module, BTreeSet<&Module>> = uses
        .keys()
        .map(|module| (module, reached(module)))
        .collect();
    let circle = |module: &&Module| {
        let others = reached[*module].iter();
        let back = others.filter(|other| reached[**other].contains(*module));
        back.map(|other| other.join("/")).collect::<BTreeSet<_>>()
    };
    let circles = reached.keys().map(circle);
    circles.filter(|circle| !circle.is_empty()).collect()
}

/// The modules of one parent in which these stand, or which they are. None if one stands inside the other.
fn siblings(a: &[String], b: &[String]) -> Option<(Module, Module)> {
    let shared = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    Some((a.get(..=shared)?.to_vec(), b.get(..=shared)?.to_vec()))
}

/// The file in which a path ends, seen from `from`. Names that a file imports lead on to where they come from.
fn resolve<'a>(
    imports: &BTreeMap<&'a Module, Vec<Import>>,
    from: &[String],
    path: &[String],
    depth: usize,
) -> Option<&'a Module> {
    let mut here = from.to_vec();
    let mut rest = path;
    while let [first, others @ ..] = rest {
        match first.as_str() {
            "crate" => here.clear(),
            "super" => drop(here.pop()),
            "self" => (),
            name => {
                let child = [&here[..], &[name.to_owned()]].concat();
                if imports.contains_key(&child) {
                    here = child;
                } else {
                    let known = imports.get(&here).into_iter().flatten();
                    let origin = known.clone().find(|(_, known)| known == name);
                    return match origin {
                        Some((origin, _)) if depth < 8 && origin.as_slice() != path => {
                            let origin = [origin, others].concat();
                            resolve(imports, &here, &origin, depth + 1)
                        }
                        _ => imports.keys().find(|known| ***known == here).copied(),
                    };
                }
            }
        }
        rest = others;
    }
    imports.keys().find(|known| ***known == here).copied()
}

/// What a file imports with `use`, and what it names by a whole path.
fn imports(code: &str) -> Vec<Import> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some((start, root)) = ["use ", "crate::", "super::", "self::"]
        .iter()
        .filter_map(|root| Some((begin_of(rest, root)?, *root)))
        .min()
    {
        let (_, here) = rest.split_at(start);
        let end = match root {
            "use " => here.find(';').unwrap_or(here.len()),
            _ => here
                .find(|c: char| !is_word(c) && c != ':')
                .unwrap_or(here.len()),
        };
        let (path, after) = here.split_at(end);
        expand(path.trim_start_matches("use "), &[], &mut found);
        rest = after;
    }
    found
}

/// Where this begins, not within a word or path.
fn begin_of(code: &str, root: &str) -> Option<usize> {
    let mut hits = code.match_indices(root).map(|(start, _)| start);
    hits.find(|start| {
        let (before, _) = code.split_at(*start);
        !before.ends_with(|c: char| is_word(c) || c == ':' || c == '$')
    })
}

/// The paths of `a::{b, c::d as e}`.
fn expand(tree: &str, before: &[String], found: &mut Vec<Import>) {
    let tree = tree.trim();
    if let Some((head, group)) = tree.split_once('{') {
        let head = [before, &segments(head)].concat();
        let group = group.rsplit_once('}').map_or(group, |(group, _)| group);
        for part in parts(group) {
            expand(part, &head, found);
        }
        return;
    }
    let (path, alias) = match tree.split_once(" as ") {
        Some((path, alias)) => (path, Some(alias.trim())),
        None => (tree, None),
    };
    let path = [before, &segments(path)].concat();
    let last = path.iter().rfind(|segment| *segment != "self");
    let name = alias.map(str::to_owned).or(last.cloned());
    found.extend(name.map(|name| (path, name)));
}

fn segments(path: &str) -> Vec<String> {
    let segments = path.split("::").map(str::trim);
    let segments = segments.filter(|segment| !segment.is_empty() && *segment != "*");
    segments.map(str::to_owned).collect()
}

/// What stands between the commas that are in no braces.
fn parts(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.extend(group.get(start..at));
                start = at + 1;
            }
            _ => (),
        }
    }
    parts.extend(group.get(start..));
    parts.retain(|part| !part.trim().is_empty());
    parts
}

#[test]
fn the_reader_of_imports_finds_circles() {
    let check = |files: &[(&str, &str)], expected: &[&str]| {
        let files = files
            .iter()
            .map(|(name, code)| (module_of(name), (*code).to_owned()));
        let found = circles(&files.collect());
        let found = found
            .into_iter()
            .map(|one| one.into_iter().collect::<Vec<_>>().join(" "));
        assert_eq!(found.collect::<Vec<_>>(), expected);
    };
    let root = (
        "src/r/mod.rs",
        "mod a; mod b; pub use self::a::A; pub struct R;",
    );
    check(
        &[
            root,
            ("src/r/a.rs", "use super::{R, b::{self, B}};"),
            ("src/r/b.rs", ""),
        ],
        &[],
    );
    check(
        &[
            root,
            ("src/r/a.rs", "use super::b::B;"),
            ("src/r/b.rs", "use super::R; fn f() { super::a::g() }"),
        ],
        &["r/a r/b"],
    );
    // Through a name that the parent passes on, and through an alias.
    check(
        &[
            root,
            ("src/r/a.rs", "use super::b::B;"),
            ("src/r/b.rs", "use super::A as X;"),
        ],
        &["r/a r/b"],
    );
    // Through what stands inside of one of them.
    check(
        &[
            root,
            ("src/r/a.rs", "mod c;"),
            ("src/r/a/c.rs", "use super::super::b::B;"),
            ("src/r/b.rs", "use super::a::A;"),
        ],
        &["r/a r/b"],
    );
    // A parent and its child, and files of different rooms.
    check(
        &[
            root,
            ("src/r/a.rs", "use super::R;"),
            ("src/r/a/c.rs", "use super::A;"),
            ("src/s.rs", "use crate::r::A;"),
        ],
        &[],
    );
}
