//! Whether one glob on tool names lets through everything that another one does. Pure; says yes only where that is certain.

/// Characters that mean something in a glob besides `*` and `?`, and `$` of a reference: what stands for what is not told then.
const OTHERS: [char; 8] = ['[', ']', '{', '}', '!', '\\', '$', '/'];

/// Whether every name that `new` matches is matched by `old`, too. Of globs with classes, alternatives or escapes only equal ones are compared,
/// and `*` covers them all.
pub(super) fn covers(old: &str, new: &str) -> bool {
    if old == new {
        return true;
    }
    if new.contains('$') {
        return false;
    }
    if old == "*" {
        return true;
    }
    if old.contains(OTHERS) || new.contains(OTHERS) {
        return false;
    }
    let (old, new): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
    matches(&old, &new)
}

/// Matches the new glob as a text in which `*` stands for any run of characters and `?` for any one: only a `*` of the old one takes
/// the former, and only `*` or `?` the latter.
fn matches(old: &[char], new: &[char]) -> bool {
    let (mut at, mut taken) = (0, 0);
    // Where the last `*` of the old one stands, and how far it has taken of the new one.
    let mut star: Option<(usize, usize)> = None;
    while taken < new.len() {
        match old.get(at) {
            Some('*') => {
                star = Some((at, taken));
                at += 1;
            }
            Some('?') if new[taken] != '*' => {
                at += 1;
                taken += 1;
            }
            Some(same) if *same == new[taken] && *same != '?' => {
                at += 1;
                taken += 1;
            }
            _ => match star {
                Some((place, from)) => {
                    star = Some((place, from + 1));
                    at = place + 1;
                    taken = from + 1;
                }
                None => return false,
            },
        }
    }
    old[at..].iter().all(|rest| *rest == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_covers_what_is_certainly_within_it() {
        for (old, new, expected) in [
            ("e*", "ec*", true),
            ("e*", "e*", true),
            ("e*", "echo", true),
            ("e*", "e", true),
            ("e*", "*", false),
            ("e*", "*e", false),
            ("ec*", "e*", false),
            ("*", "anything*", true),
            ("*", "{a,b}", true),
            ("*", "a${X}", false),
            ("**", "a*", true),
            ("get_*", "get_*_all", true),
            ("get_*_all", "get_*", false),
            ("get_*_all", "get_x_*_all", true),
            ("*_all", "get_all", true),
            ("*_all", "get_*_all", true),
            ("*_all", "*_all*", false),
            ("a*b*c", "a*b*b*c", true),
            ("a*b*c", "a*c", false),
            ("a*b*c", "abc", true),
            ("a?", "ab", true),
            ("a?", "a?", true),
            ("a?", "a*", false),
            ("a?", "a", false),
            ("a?c", "abc", true),
            ("a*", "a?", true),
            ("ab", "a?", false),
            ("?*", "*", false),
            ("?*", "a*", true),
            ("?*", "*a", false),
            ("{a,b}", "{a,b}", true),
            ("{a,b}*", "a*", false),
            ("[a-z]*", "a*", false),
            ("e*", "[e]*", false),
            ("e*", "e\\*", false),
            ("e*", "E*", false),
            ("", "", true),
            ("", "*", false),
            ("a", "", false),
        ] {
            assert_eq!(covers(old, new), expected, "{old} covers {new}");
        }
    }
}
