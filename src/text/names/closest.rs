//! Finds the known name that is closest to an unknown one, as a suggestion.

use strsim::osa_distance;

/// Limit: bytes of a name that is compared, a longer one getting no suggestion; and names whose edits are counted, because clients can ask for
/// any name and servers list thousands.
const COMPARED: usize = 128;
const COUNTED: usize = 5_000;

/// The distance of two names of which one contains the other, in edits.
const PART: usize = 2;

/// The question whether one of these names was meant.
pub fn did_you_mean(names: &[impl AsRef<str>]) -> String {
    let quoted = names.iter().map(|name| format!("{:?}", name.as_ref()));
    let quoted: Vec<String> = quoted.collect();
    format!("did you mean {}?", quoted.join(" or "))
}

/// The edits between two texts: letters changed, added, removed, or swapped with the next.
pub fn edits(one: &str, other: &str) -> usize {
    osa_distance(one, other)
}

/// The known name closest to `wanted`, if it is close enough for a suggestion: at most a third of its letters differ, it contains `wanted`, or
/// it is contained in `wanted` and has at least half its letters.
pub fn closest<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    closest_allowed(wanted, known, |_| true)
}

/// The same among the names that are `allowed`, which is called only for names that are close.
pub fn closest_allowed<'a>(
    wanted: &str,
    known: impl Iterator<Item = &'a str>,
    allowed: impl Fn(&'a str) -> bool,
) -> Option<&'a str> {
    if wanted.len() > COMPARED {
        return None;
    }
    let folded = wanted.to_lowercase();
    let length = folded.chars().count();
    let mut counted = 0;
    let mut best: Option<((usize, usize), &str)> = None;
    for name in known.filter(|name| name.len() <= COMPARED) {
        let candidate = name.to_lowercase();
        let is_most = 2 * candidate.chars().count() >= length;
        let is_part = candidate.contains(&folded) || is_most && folded.contains(&candidate);
        let edits = if is_part && length > 1 {
            PART
        } else {
            let n_chars = candidate.chars().count();
            let most = n_chars.max(length) / 3;
            if n_chars.abs_diff(length) > most || counted >= COUNTED {
                continue;
            }
            counted += 1;
            let edits = osa_distance(&folded, &candidate);
            if edits > most {
                continue;
            }
            edits
        };
        let distance = (edits, name.len().abs_diff(wanted.len()));
        if best.is_none_or(|(least, _)| distance < least) && allowed(name) {
            best = Some((distance, name));
        }
    }
    best.map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_name_is_suggested_only_when_it_is_close() {
        let known = ["github__create_issue", "github__list_repos", "time__now"];
        let find = |wanted| closest(wanted, known.iter().copied());
        assert_eq!(find("github__create_isue"), Some("github__create_issue"));
        assert_eq!(find("create_issue"), Some("github__create_issue"));
        assert_eq!(find("GitHub__List_Repos_2"), Some("github__list_repos"));
        assert_eq!(find("tmie__now"), Some("time__now"));
        assert_eq!(closest("ecoh", ["get", "echo"].into_iter()), Some("echo"));
        let short = |wanted| closest(wanted, ["x", "exit3", "amp"].into_iter());
        assert_eq!(short("exitt3"), Some("exit3"));
        let variant = |wanted| closest(wanted, ["call_tool", "call_tool_read"].into_iter());
        assert_eq!(variant("call_tool_red"), Some("call_tool_read"));
        assert_eq!(find("zebra"), None);
        assert_eq!(find(""), None);
        assert_eq!(find(&"time__now".repeat(20)), None);
        let others = |name: &str| name != "github__create_issue";
        let found = closest_allowed("github__create_isue", known.iter().copied(), others);
        assert_eq!(found, None);
    }
}
