//! The question which of the found servers to import.

use super::super::Output;
use crate::clients::ImportReport;

/// Lets the person at the terminal pick some of the choice, which the table numbers from 1. Enter takes all, but not what does not start
/// and has the name of a server that is here: that one may have been corrected since.
pub(in crate::cli) fn pick(report: &ImportReport, choice: &[usize], out: Output) -> Vec<usize> {
    let n = choice.len();
    let is_usual = |at: &usize| {
        let server = choice.get(*at).and_then(|at| report.servers.get(*at));
        server.is_some_and(|server| !server.doubled || server.warning.is_none())
    };
    let usual: Vec<usize> = (0..n).filter(is_usual).collect();
    let by_default: Vec<String> = usual.iter().map(|at| (at + 1).to_string()).collect();
    let by_default = match by_default.len() {
        0 => "none".to_owned(),
        some if some == n => format!("all {n}"),
        _ => by_default.join(","),
    };
    let question = match (n, usual.len()) {
        (1, 1) => "Import it? [Y/n]".to_owned(),
        (1, _) => "Import it? [y/N]".to_owned(),
        _ => format!("Import which? Enter for {by_default}, numbers such as 1,2, or n for none:"),
    };
    loop {
        let Some(answer) = out.answer_to(&question) else {
            return Vec::new();
        };
        match numbers(&answer, n, &usual) {
            Some(wanted) => {
                let wanted = wanted.into_iter();
                return wanted.filter_map(|at| choice.get(at).copied()).collect();
            }
            None => out.note(&format!(
                "{:?} is not a choice: enter y, n, or numbers up to {n}",
                answer.trim()
            )),
        }
    }
}

/// The positions, counted from 0, that an answer names, or the usual ones; nothing where it makes no sense.
fn numbers(answer: &str, n: usize, usual: &[usize]) -> Option<Vec<usize>> {
    let answer = answer.trim().to_ascii_lowercase();
    match &*answer {
        "" => return Some(usual.to_vec()),
        "all" | "a" | "y" | "yes" => return Some((0..n).collect()),
        "n" | "no" | "none" => return Some(Vec::new()),
        _ => (),
    }
    let mut wanted = Vec::new();
    let parts = answer.split([',', ' ']).filter(|part| !part.is_empty());
    for part in parts {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first == 0 || last > n || first > last {
            return None;
        }
        wanted.extend(first - 1..last);
    }
    wanted.sort_unstable();
    wanted.dedup();
    Some(wanted)
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn answers_name_places() {
        let check = |answer: &str, expected: Option<&[usize]>| {
            assert_eq!(
                numbers(answer, 4, &[0, 3]).as_deref(),
                expected,
                "{answer:?}"
            );
        };
        check("\n", Some(&[0, 3]));
        check("All", Some(&[0, 1, 2, 3]));
        check("n", Some(&[]));
        check("1,3-4 1", Some(&[0, 2, 3]));
        check("2", Some(&[1]));
        for wrong in ["0", "5", "3-1", "x", "1-", "2-9"] {
            check(wrong, None);
        }
    }
}
