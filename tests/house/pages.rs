//! What the pages of `docs` point at is there.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::source::{assert_none, root};

/// A page, with its path in the repository.
struct Page {
    name: String,
    folder: PathBuf,
    /// Without blocks of code, in which nothing is a link or a heading.
    text: String,
}

fn pages() -> Vec<Page> {
    let mut pages = vec![root().join("README.md")];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kind == "md") {
                pages.push(path);
            }
        }
    }
    pages.iter().map(|path| page(path)).collect()
}

fn page(path: &Path) -> Page {
    let text = fs::read_to_string(path).expect("pages are text");
    let mut is_code = false;
    let prose = text.lines().filter(|line| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    Page {
        name: path.display().to_string(),
        folder: path.parent().expect("a file is in a folder").to_owned(),
        text: prose.collect::<Vec<_>>().join("\n"),
    }
}

/// What stands in parentheses behind brackets.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split("](").skip(1);
    parts.filter_map(|rest| Some(rest.split_once(')')?.0))
}

/// The names under which headings can be linked to: small letters, digits, `-` and `_`, blanks as `-`.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let name = |line: &str| {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        heading
            .chars()
            .filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect()
    };
    headings.map(name).collect()
}

#[test]
fn links_of_pages_lead_somewhere() {
    let mut wrong = Vec::new();
    for Page { name, folder, text } in pages() {
        for link in links(&text) {
            let is_elsewhere = link.contains("://") || link.starts_with("mailto:");
            if is_elsewhere || link.contains(char::is_whitespace) {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => PathBuf::from(&name),
                file => folder.join(file),
            };
            if !target.exists() {
                wrong.push(format!("{name}: {link}"));
            } else if !anchor.is_empty()
                && target.extension().is_some_and(|kind| kind == "md")
                && !anchors(&page(&target).text).iter().any(|at| at == anchor)
            {
                wrong.push(format!("{name}: {link} has no such heading"));
            }
        }
    }
    assert_none(&wrong, "a link in a page leads to a file and a heading");
}

#[test]
fn every_page_is_in_the_list_of_pages() {
    let list = fs::read_to_string(root().join("docs/README.md")).expect("the list is there");
    let docs = root().join("docs");
    let wrong: Vec<String> = pages()
        .into_iter()
        .filter_map(|page| {
            let path = Path::new(&page.name).strip_prefix(&docs).ok()?;
            let path = path.to_str()?.to_owned();
            let is_listed = list.contains(&format!("]({path}"));
            let is_meant = path != "README.md" && !path.starts_with("decisions/");
            (is_meant && !is_listed).then_some(path)
        })
        .collect();
    assert_none(&wrong, "docs/README.md says what each page is for");
}

#[test]
fn the_reader_of_links_sees_what_is_there() {
    let text = "see [a](b.md#c-d) and [e](#f), not (g.md)";
    assert_eq!(links(text).collect::<Vec<_>>(), ["b.md#c-d", "#f"]);
    assert_eq!(anchors("# What `a_b` is: it\ntext"), ["what-a_b-is-it"]);
}
