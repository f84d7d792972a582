//! Tables that fit their terminal. Where a row has no room in a line, its text stands below the names, wrapped at blanks and cut with `…`;
//! only a last text of one line is cut to the room that is left. Without a terminal every row is one line, in which long texts are cut, too.

use unicode_width::UnicodeWidthStr;

/// A column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    header: &'static str,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Never wrapped, never cut.
    Name,
    /// Wrapped, and cut after so many lines.
    Text(usize),
}

/// A column of names, states or numbers.
pub(super) const fn name(header: &'static str) -> Column {
    Column {
        header,
        kind: Kind::Name,
    }
}

/// A column of text, of which so many lines are shown at most.
pub(super) const fn text(header: &'static str, lines: usize) -> Column {
    Column {
        header,
        kind: Kind::Text(lines),
    }
}

/// Between two columns.
const GAP: usize = 2;

/// The least room of a text, in columns. In less, it would be hard to read.
const NARROWEST: usize = 24;

/// The length to which a text is cut without a terminal, unless its column shows all of it.
const PIPED: usize = 160;

/// Before a text below its row.
const INDENT: &str = "    ";

/// Lays a table out for a terminal of this width, or for none. Every line ends with a line end.
pub(super) fn layout<const N: usize>(
    columns: [Column; N],
    rows: &[[String; N]],
    terminal: Option<usize>,
) -> String {
    let rows: Vec<[String; N]> = match terminal {
        Some(_) => rows.to_vec(),
        None => rows.iter().map(|row| in_a_line(&columns, row)).collect(),
    };
    // Without a terminal, a long text makes its own line long, not those of others.
    let (width, most) = terminal.map_or((usize::MAX, PIPED), |width| (width, usize::MAX));
    let is_text = |at: usize| columns[at].kind != Kind::Name;
    let last = N.saturating_sub(1);
    let is_cut = columns[last].kind == Kind::Text(1);
    let end = |row: &[String; N]| {
        let own = row[last].width();
        if is_cut { own.min(NARROWEST) } else { own }
    };
    let widths_of = |texts: &[[String; N]]| -> [usize; N] {
        std::array::from_fn(|at| match columns[at].kind {
            Kind::Name => widest(&columns, &rows, at, usize::MAX),
            Kind::Text(_) => widest(&columns, texts, at, most),
        })
    };
    // Rows that would fit if no other text made a column wider.
    let names = widths_of(&[]);
    let alone = rows.iter().filter(|row| {
        let needed = |at: usize| match columns[at].kind {
            Kind::Name => names[at],
            Kind::Text(_) if at == last => end(row),
            Kind::Text(_) => row[at].width(),
        };
        (0..N).map(needed).sum::<usize>() + GAP * last <= width
    });
    let alone: Vec<[String; N]> = alone.cloned().collect();
    let mut widths = widths_of(&alone);
    let before = widths.iter().take(last).sum::<usize>() + GAP * last;
    let room = width.saturating_sub(before);
    let are_beside =
        terminal.is_none() || !alone.is_empty() && columns[last].header.width() <= room;
    let mut headers = columns.map(|column| column.header);
    for at in (0..N).filter(|at| is_text(*at) && !are_beside) {
        (widths[at], headers[at]) = (0, "");
    }
    let mut out = String::new();
    put_line(&mut out, &headers, &widths);
    for row in &rows {
        let is_narrow = (0..last).all(|at| row[at].width() <= widths[at]) && end(row) <= room;
        let fits = are_beside && (terminal.is_none() || is_narrow);
        let cells: [String; N] = std::array::from_fn(|at| match columns[at].kind {
            Kind::Text(_) if !fits => String::new(),
            Kind::Text(_) if at == last && is_cut => {
                let mut line = cut(wrap(&row[at], room), 1, room);
                line.pop().unwrap_or_default()
            }
            _ => row[at].clone(),
        });
        put_line(&mut out, &cells.each_ref().map(String::as_str), &widths);
        if !fits {
            put_texts(&mut out, &columns, row, width);
        }
    }
    out
}

/// A row with its texts cut to one line, except in columns that show all.
fn in_a_line<const N: usize>(columns: &[Column; N], row: &[String; N]) -> [String; N] {
    std::array::from_fn(|at| match columns[at].kind {
        Kind::Text(lines) if lines < usize::MAX => {
            let line = cut(words(&row[at], PIPED), 1, PIPED).pop();
            line.unwrap_or_default()
        }
        _ => row[at].clone(),
    })
}

/// The widest cell of a column, of those that are no wider than `most`.
fn widest<const N: usize>(
    columns: &[Column; N],
    rows: &[[String; N]],
    at: usize,
    most: usize,
) -> usize {
    let widths = rows.iter().map(|row| row[at].width());
    let fitting = widths.filter(|width| *width <= most);
    fitting
        .chain([columns[at].header.width()])
        .max()
        .unwrap_or(0)
}

/// The texts of a row below its names.
fn put_texts<const N: usize>(
    out: &mut String,
    columns: &[Column; N],
    row: &[String; N],
    terminal: usize,
) {
    for (column, cell) in columns.iter().zip(row) {
        let Kind::Text(lines) = column.kind else {
            continue;
        };
        if cell.is_empty() || cell == "-" {
            continue;
        }
        let text = format!("{}: {cell}", column.header.to_lowercase());
        let width = terminal.saturating_sub(INDENT.len()).max(1);
        for line in cut(wrap(&text, width), lines, width) {
            out.extend([INDENT, &line, "\n"]);
        }
    }
}

/// Names with texts that are shown whole; a word that is longer than the line stays one word, to be copied.
pub(super) fn facts(facts: &[[String; 2]], terminal: Option<usize>) -> String {
    let names = facts.iter().map(|[name, _]| name.width());
    let widths = [names.max().unwrap_or(0), 0];
    let room = terminal.map(|width| width.saturating_sub(widths[0] + GAP).max(NARROWEST));
    let mut out = String::new();
    for [name, value] in facts {
        let lines = match room {
            Some(room) => words(value, room),
            None => vec![value.clone()],
        };
        for (at, line) in lines.iter().enumerate() {
            put_line(&mut out, &[if at == 0 { name } else { "" }, line], &widths);
        }
    }
    out
}

fn put_line(out: &mut String, cells: &[&str], widths: &[usize]) {
    let start = out.len();
    for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
        if at > 0 {
            out.extend(std::iter::repeat_n(' ', GAP));
        }
        out.push_str(cell);
        let padding = width.saturating_sub(cell.width());
        out.extend(std::iter::repeat_n(' ', padding));
    }
    let end = start + out.split_at(start).1.trim_end().len();
    out.truncate(end);
    out.push('\n');
}

/// Lines of at most `width`, broken at blanks; a longer word begins where there is room, and is broken where the line ends.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines: Vec<String> = Vec::new();
    for line in words(text, width) {
        let has_begun = lines.last().is_some_and(|it| it.width() + 1 < width);
        let former = if has_begun && line.width() > width {
            lines.pop()
        } else {
            None
        };
        let whole = former.map_or_else(|| line.clone(), |former| format!("{former} {line}"));
        lines.extend(pieces(&whole, width));
    }
    lines
}

/// Lines broken at blanks; a line is wider than `width` only where it is one word.
fn words(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.width() + 1 + word.width() <= width => {
                line.extend([" ", word]);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn pieces(line: &str, width: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut used = 0;
    for character in line.chars() {
        let more = character.encode_utf8(&mut [0; 4]).width();
        if used + more > width && used > 0 {
            pieces.push(String::new());
            used = 0;
        }
        used += more;
        if let Some(piece) = pieces.last_mut() {
            piece.push(character);
        }
    }
    pieces
}

/// The first `most` lines. If there were more, the last one ends with `…`.
fn cut(mut lines: Vec<String>, most: usize, width: usize) -> Vec<String> {
    if lines.len() <= most {
        return lines;
    }
    lines.truncate(most);
    if let Some(last) = lines.last_mut() {
        while last.width() >= width && last.pop().is_some() {}
        last.push('…');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(terminal: Option<usize>) -> String {
        let row = |cells: [&str; 4]| cells.map(str::to_owned);
        let rows = [
            row(["everything", "Disconnected", "-", "-"]),
            row([
                "git:git_diff_unstaged",
                "Error",
                "the command was not found anywhere and this goes on and on until nobody reads it",
                "install it",
            ]),
        ];
        let columns = [
            name("NAME"),
            name("STATE"),
            text("ERROR", 2),
            text("NEXT", 2),
        ];
        layout(columns, &rows, terminal)
    }

    #[test]
    fn without_a_terminal_a_row_is_a_line() {
        let shown = list(None);
        assert_eq!(shown.lines().count(), 3);
        assert!(
            shown.contains("until nobody reads it  install it\n"),
            "{shown}"
        );
    }

    #[test]
    fn without_a_terminal_long_texts_are_cut_unless_the_column_shows_all() {
        let (long, word) = ("word ".repeat(100), "x".repeat(400));
        let columns = [name("A"), text("B", 3), text("C", usize::MAX), text("D", 1)];
        let row = [word.clone(), long.clone(), long.clone(), word.clone()];
        let shown = layout(columns, &[row], None);
        let line = shown.lines().nth(1).expect("a row");
        assert!(line.starts_with(&word) && line.contains(&long), "{line}");
        let cut = format!("{}…", "word ".repeat(32).trim_end());
        assert!(line.contains(&format!("{cut}  word")), "{line}");
        assert!(line.ends_with(&word), "a word is whole, to be copied");
    }

    #[test]
    fn without_a_terminal_a_long_row_makes_no_other_one_long() {
        let columns = [name("A"), text("B", usize::MAX), text("C", 3)];
        let rows = [
            ["a".to_owned(), "word ".repeat(100), "x".to_owned()],
            ["b".to_owned(), "short".to_owned(), "y".to_owned()],
        ];
        let shown = layout(columns, &rows, None);
        assert!(shown.ends_with("\nb  short  y\n"), "{shown}");
    }

    #[test]
    fn what_fits_the_terminal_stands_in_lines() {
        assert_eq!(list(Some(200)), list(None));
    }

    #[test]
    fn where_there_is_no_room_beside_the_names_texts_stand_below_them() {
        let expected = "\
NAME                   STATE
everything             Disconnected
git:git_diff_unstaged  Error
    error: the command was not found
    anywhere and this goes on and on until…
    next: install it
";
        assert_eq!(list(Some(44)), expected);
    }

    #[test]
    fn a_row_that_fits_stays_in_its_line_beside_longer_ones() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned);
        let rows = [
            row(["a", "well", "-"]),
            row(["b", "a text that is too long for it", "mend it"]),
        ];
        let columns = [name("A"), text("WHAT", 9), text("DO", 9)];
        let expected = "A  WHAT  DO\na  well  -\nb\n    what: a text that is\n    too long for it\n    do: mend it\n";
        assert_eq!(layout(columns, &rows, Some(24)), expected);
        let columns = [name("A"), text("WHAT", 9), text("DO", 1)];
        let rows = [row(["a", "well", &"x".repeat(40)])];
        let expected = format!("A  WHAT  DO\na  well  {}…\n", "x".repeat(30));
        assert_eq!(layout(columns, &rows, Some(40)), expected);
    }

    #[test]
    fn a_name_inside_a_text_is_not_broken_either() {
        let long = "look-at-a-server-with-a-long-name";
        let row = ["a".to_owned(), format!("see {long} first"), "x ".repeat(40)];
        let columns = [name("NAME"), text("STEP", 3), text("WHY", 9)];
        for width in 40..120 {
            let shown = layout(columns, std::slice::from_ref(&row), Some(width));
            assert!(shown.contains(long), "{width}:\n{shown}");
        }
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_unless_its_names_are() {
        for width in 40..200 {
            let shown = list(Some(width));
            assert!(
                shown.lines().all(|line| line.width() <= width),
                "{width}:\n{shown}"
            );
        }
    }

    #[test]
    fn long_words_of_facts_stay_whole_and_those_of_tables_are_broken() {
        let fact = ["file".to_owned(), format!("in /{} now", "x".repeat(40))];
        let shown = facts(&[fact], Some(34));
        assert_eq!(shown.lines().count(), 3, "{shown}");
        assert_eq!(wrap("ab cdefgh", 4), ["ab c", "defg", "h"]);
        assert_eq!(wrap("世界 x", 3), ["世", "界", "x"]);
        assert_eq!(wrap("", 4), [""]);
    }
}
