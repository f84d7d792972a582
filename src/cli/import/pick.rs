//! The question which of the found servers to import.

use super::super::Output;

/// Lets the person at the terminal pick some of the choice, which the table numbers from 1.
pub(in crate::cli) fn pick(choice: &[usize], out: Output) -> Vec<usize> {
    let n = choice.len();
    if n == 1 {
        let is_wanted = out.agrees("Import it?");
        return choice.iter().copied().filter(|_| is_wanted).collect();
    }
    loop {
        let question =
            format!("Import which? Enter for all {n}, numbers such as 1,2, or n for none:");
        let Some(answer) = out.answer_to(&question) else {
            return Vec::new();
        };
        match numbers(&answer, n) {
            Some(wanted) => {
                let wanted = wanted.into_iter();
                return wanted.filter_map(|at| choice.get(at).copied()).collect();
            }
            None => out.note(&format!(
                "{:?} is not a choice: enter numbers from 1 to {n}, or n for none",
                answer.trim()
            )),
        }
    }
}

/// The positions, counted from 0, that an answer names; nothing where it makes no sense.
fn numbers(answer: &str, n: usize) -> Option<Vec<usize>> {
    let answer = answer.trim().to_ascii_lowercase();
    match &*answer {
        "" | "all" | "a" | "y" | "yes" => return Some((0..n).collect()),
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
            assert_eq!(numbers(answer, 4).as_deref(), expected, "{answer:?}");
        };
        check("\n", Some(&[0, 1, 2, 3]));
        check("All", Some(&[0, 1, 2, 3]));
        check("n", Some(&[]));
        check("1,3-4 1", Some(&[0, 2, 3]));
        check("2", Some(&[1]));
        for wrong in ["0", "5", "3-1", "x", "1-", "2-9"] {
            check(wrong, None);
        }
    }
}
