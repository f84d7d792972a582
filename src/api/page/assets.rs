//! The files of the page, as they stand in the folder `assets`.

use http::HeaderValue;

/// What is shown at every address of the page.
pub(super) const INDEX: &str = "index.html";

/// A file.
pub(super) struct Asset {
    pub(super) name: &'static str,
    pub(super) content: &'static [u8],
}

macro_rules! assets {
    ($($name:literal),* $(,)?) => {
        &[$(Asset { name: $name, content: include_bytes!(concat!("assets/", $name)) }),*]
    };
}

/// Every file.
pub(super) const ASSETS: &[Asset] = assets![
    "access.js",
    "access_check.js",
    "activity.js",
    "acts.css",
    "add.js",
    "again.js",
    "api.js",
    "app.js",
    "base.css",
    "blanks.js",
    "clients.js",
    "clients_place.js",
    "command_check.js",
    "course.js",
    "decided.js",
    "diff.js",
    "doctor.js",
    "dom.js",
    "edit.js",
    "entry.js",
    "entry_form.js",
    "entry_secrets.js",
    "exact.js",
    "feed.js",
    "fields.js",
    "findings.js",
    "first_run.js",
    "first_steps.js",
    "fix.js",
    "history.js",
    "icon.svg",
    "imports.js",
    "index.html",
    "keys.js",
    "known.js",
    "leaving.js",
    "live.js",
    "log.js",
    "login.js",
    "meanwhile.js",
    "narrow.css",
    "notify.js",
    "overview.js",
    "parts.css",
    "parts.js",
    "places.css",
    "places.js",
    "record_drawer.js",
    "records.js",
    "result.js",
    "review.js",
    "review_parts.js",
    "schema.js",
    "search.js",
    "server.js",
    "setting_names.js",
    "settings.js",
    "several.js",
    "signed_out.js",
    "starts.js",
    "story.js",
    "theme.js",
    "tokens.js",
    "tool.js",
    "tool_switch.js",
    "tools_list.js",
    "trust.js",
    "try_it.js",
    "usage.js",
    "variables.js",
    "vault.js",
    "words.js",
];

impl Asset {
    /// What a browser takes it for.
    pub(super) fn content_type(&self) -> HeaderValue {
        let kind = match self.name.rsplit_once('.') {
            Some((_, "html")) => "text/html; charset=utf-8",
            Some((_, "css")) => "text/css; charset=utf-8",
            Some((_, "js")) => "text/javascript; charset=utf-8",
            Some((_, "svg")) => "image/svg+xml",
            _ => "application/octet-stream",
        };
        HeaderValue::from_static(kind)
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    fn is_a(asset: &Asset, kind: &str) -> bool {
        let end = asset.name.rsplit_once('.');
        end.is_some_and(|(_, end)| end == kind)
    }

    fn text(asset: &Asset) -> &'static str {
        std::str::from_utf8(asset.content).expect("text")
    }

    #[test]
    fn the_list_has_every_file_of_the_folder() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/api/page/assets");
        let files = fs::read_dir(folder).expect("a folder").map(|file| {
            let name = file.expect("a file").file_name();
            name.into_string().expect("a name")
        });
        let files: BTreeSet<String> = files.collect();
        let listed: BTreeSet<String> = ASSETS.iter().map(|asset| asset.name.to_owned()).collect();
        assert_eq!(files, listed, "correct the list in src/api/page/assets.rs");
        assert!(listed.contains(INDEX));
    }

    #[test]
    fn every_file_has_a_type_and_few_lines() {
        /// Lines of a file that somebody reads from top to bottom.
        const LINES: usize = 320;
        for asset in ASSETS {
            assert_ne!(
                asset.content_type(),
                "application/octet-stream",
                "{}",
                asset.name
            );
            let lines = text(asset).lines().count();
            assert!(lines <= LINES, "{} has {lines} lines: split it", asset.name);
        }
    }

    /// Texts of servers reach the page as they are: nothing in it may take a text for markup, code or style.
    #[test]
    fn nothing_makes_markup_or_code_of_texts() {
        let ways_in = [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "createContextualFragment",
            "DOMParser",
            "setHTML",
            "eval(",
            "new Function",
            "srcdoc",
            "javascript:",
            ".cssText",
            "importScripts",
        ];
        for asset in ASSETS.iter().filter(|asset| is_a(asset, "js")) {
            for way in ways_in {
                assert!(!text(asset).contains(way), "{} has {way}", asset.name);
            }
        }
    }

    /// The policy would refuse them.
    #[test]
    fn nothing_is_inline_and_nothing_comes_from_elsewhere() {
        for asset in ASSETS {
            let text = text(asset);
            let (name, is_markup) = (asset.name, is_a(asset, "html"));
            assert!(!text.contains("style=\""), "{name} has an inline style");
            assert!(
                !is_markup || !text.contains("<style"),
                "{name} has inline styles"
            );
            assert!(
                !is_markup || !text.contains("<script>"),
                "{name} has an inline script"
            );
            let elsewhere = [
                "src=\"http",
                "href=\"http",
                "@import",
                "url(http",
                "from \"http",
            ];
            for one in elsewhere {
                assert!(!text.contains(one), "{name} has {one}");
            }
        }
    }
}
