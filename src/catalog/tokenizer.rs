//! Splits texts and identifiers into the terms that are indexed and searched: `createIssue`, `create_issue` and "creates issues" give the same
//! two terms. Pure.

use std::{cell::RefCell, collections::HashSet, sync::LazyLock};

use frostem::{Algorithm, Stemmer};

/// One term of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// What is indexed.
    pub(super) text: String,
    /// Counts the words of the text from 0. Tokens of one word share their position.
    pub(super) position: usize,
    /// How a search treats it.
    pub(super) kind: TokenKind,
}

/// How a search treats a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A word: ranks, is required for `match: all`, is part of phrases.
    Word,
    /// A stop word: is part of phrases only.
    Common,
    /// A part of a word that is indexed itself, `user` of `user2`: ranks only.
    Piece,
    /// Two words written as one, `github` for `Git` and `Hub`: ranks, and covers both.
    Joined,
    /// A character of a script without spaces: ranks, and is part of phrases.
    Character,
    /// Two characters of a script without spaces: ranks, and is required.
    Pair,
}

impl TokenKind {
    /// Whether it counts in ranking.
    pub(super) fn ranks(self) -> bool {
        self != Self::Common
    }

    /// Whether a tool that has every such token of a query has the whole query.
    pub(super) fn is_required(self) -> bool {
        matches!(self, Self::Word | Self::Pair)
    }

    /// Whether a phrase is made of it.
    pub(super) fn is_in_phrases(self) -> bool {
        matches!(self, Self::Word | Self::Common | Self::Character)
    }
}

/// Stop words. The last ones are the ends of contractions, such as `re` of "they're".
const COMMON: &str = "a about all also am an and any are as at be been but by can could did do does each for from had has have he her \
     here him his how i if in into is it its just like me more most must my no not of on only or other our out over \
     own please shall she should so some such than that the their them then there these they this those to too up us \
     very want was we were what when where which who why will with would you your don ll re s t ve";

/// Limit: the length of a term, in characters. A longer one is not a word that somebody searches for.
const LONGEST: usize = 64;

/// A shorter part of a word with digits has no meaning alone: `mp3`, `s3`.
const SHORTEST_PIECE: usize = 3;

/// The words of a text, lower case, in order, as they are written. In a script without spaces each character is a word.
pub(super) fn words_of(text: &str) -> Vec<String> {
    let words = |chunk: Chunk| match chunk.script {
        Script::Letters => chunk.words,
        Script::Characters => chunk.words.concat().chars().map(String::from).collect(),
    };
    chunks(text).into_iter().flat_map(words).collect()
}

/// How many words a text has, without common ones.
pub(super) fn n_words(text: &str) -> usize {
    let of_chunk = |chunk: Chunk| match chunk.script {
        Script::Letters => chunk.words.iter().filter(|word| !is_common(word)).count(),
        Script::Characters => chunk.words.iter().map(|run| run.chars().count()).sum(),
    };
    chunks(text).into_iter().map(of_chunk).sum()
}

/// The terms of a text.
pub(super) fn tokens_of(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut position = 0;
    for chunk in chunks(text) {
        if let [first, second] = &chunk.words[..]
            && chunk.script == Script::Letters
        {
            let joined = stem(&format!("{first}{second}"));
            push(&mut tokens, joined, position, TokenKind::Joined);
        }
        for word in &chunk.words {
            match chunk.script {
                Script::Letters => letters(word, &mut position, &mut tokens),
                Script::Characters => characters(word, &mut position, &mut tokens),
            }
        }
    }
    tokens
}

fn push(tokens: &mut Vec<Token>, text: String, position: usize, kind: TokenKind) {
    if text.chars().count() <= LONGEST {
        tokens.push(Token {
            text,
            position,
            kind,
        });
    }
}

fn letters(word: &str, position: &mut usize, tokens: &mut Vec<Token>) {
    let at = *position;
    *position += 1;
    if is_common(word) {
        return push(tokens, word.to_owned(), at, TokenKind::Common);
    }
    push(tokens, stem(word), at, TokenKind::Word);
    if word.contains(char::is_numeric) {
        let pieces = word.split(char::is_numeric);
        let pieces = pieces.filter(|piece| piece.chars().count() >= SHORTEST_PIECE);
        pieces.for_each(|piece| push(tokens, stem(piece), at, TokenKind::Piece));
    }
}

/// Scripts without spaces have no visible words: characters and pairs of characters take their place.
fn characters(run: &str, position: &mut usize, tokens: &mut Vec<Token>) {
    let all: Vec<char> = run.chars().collect();
    let alone = if all.len() == 1 {
        TokenKind::Word
    } else {
        TokenKind::Character
    };
    for (i, &c) in all.iter().enumerate() {
        push(tokens, c.to_string(), *position, alone);
        if let Some(&next) = all.get(i + 1) {
            let pair = String::from_iter([c, next]);
            push(tokens, pair, *position, TokenKind::Pair);
        }
        *position += 1;
    }
}

fn is_common(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> =
        LazyLock::new(|| COMMON.split_ascii_whitespace().collect());
    WORDS.contains(word)
}

/// The stem of a word in lower case.
pub(super) fn stem(word: &str) -> String {
    thread_local! {
        static STEMMER: RefCell<Stemmer> = RefCell::new(Stemmer::new(Algorithm::English));
    }
    STEMMER.with_borrow_mut(|stemmer| stemmer.stem(word).into_owned())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    /// Words are separated by spaces.
    Letters,
    /// Words are not separated: Chinese, Japanese, Korean.
    Characters,
}

/// A run of one script between two separators: a word, or the words of an identifier.
struct Chunk {
    words: Vec<String>,
    script: Script,
}

fn chunks(text: &str) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = Vec::new();
    let mut before: Option<char> = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if !c.is_alphanumeric() {
            // Combining accents belong to the letter before them; they are left out.
            if !('\u{300}'..='\u{36f}').contains(&c) {
                before = None;
            }
            continue;
        }
        let script = script(c);
        let joins = before.is_some() && chunks.last().is_some_and(|chunk| chunk.script == script);
        if !joins {
            chunks.push(Chunk {
                words: vec![String::new()],
                script,
            });
        }
        let Some(chunk) = chunks.last_mut() else {
            continue;
        };
        if joins && before.is_some_and(|before| is_border(before, c, rest.peek().copied())) {
            chunk.words.push(String::new());
        }
        if let Some(word) = chunk.words.last_mut() {
            if c.is_ascii() {
                word.push(c.to_ascii_lowercase());
            } else {
                word.extend(c.to_lowercase());
            }
        }
        before = Some(c);
    }
    chunks
}

/// Whether an identifier is split between `before` and `c`: `create|Issue`, `HTTP|Server`, `user2|Name`.
fn is_border(before: char, c: char, after: Option<char>) -> bool {
    let acronym_ends = before.is_uppercase() && after.is_some_and(char::is_lowercase);
    c.is_uppercase() && (before.is_lowercase() || before.is_numeric() || acronym_ends)
}

fn script(c: char) -> Script {
    match c {
        '\u{3040}'..='\u{30ff}' // Hiragana, Katakana
        | '\u{3400}'..='\u{4dbf}' // Han, extension A
        | '\u{4e00}'..='\u{9fff}' // Han
        | '\u{ac00}'..='\u{d7af}' // Hangul
        | '\u{f900}'..='\u{faff}' // Han, compatibility
        | '\u{20000}'..='\u{2fa1f}' // Han, further extensions
        => Script::Characters,
        _ => Script::Letters,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(words_of(text).join(" "), expected, "{text:?}");
    }

    #[test]
    fn identifiers_are_split_into_words() {
        check("create_issue", "create issue");
        check("create-issue", "create issue");
        check("createIssue", "create issue");
        check("CreateIssue", "create issue");
        check("HTTPServer", "http server");
        check("parseJSON", "parse json");
        check("getUser2Name", "get user2 name");
        check("github:create.issue/x", "github create issue x");
        check("  \u{1f600}!? ", "");
        check("Größe ÄNDERN", "größe ändern");
        check("用bing搜索", "用 bing 搜 索");
    }

    #[track_caller]
    fn check_terms(text: &str, expected: &[(&str, usize, TokenKind)]) {
        let found = tokens_of(text);
        let found: Vec<_> = found
            .iter()
            .map(|t| (&*t.text, t.position, t.kind))
            .collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn terms_are_the_same_in_every_spelling() {
        use TokenKind::{Character, Common, Joined, Pair, Piece, Word};
        check_terms("create_issue", &[("creat", 0, Word), ("issu", 1, Word)]);
        check_terms(
            "Creates the issues",
            &[("creat", 0, Word), ("the", 1, Common), ("issu", 2, Word)],
        );
        check_terms(
            "GitHub",
            &[("github", 0, Joined), ("git", 0, Word), ("hub", 1, Word)],
        );
        check_terms("user2", &[("user2", 0, Word), ("user", 0, Piece)]);
        check_terms("s3", &[("s3", 0, Word)]);
        check_terms(
            "搜索",
            &[
                ("搜", 0, Character),
                ("搜索", 0, Pair),
                ("索", 1, Character),
            ],
        );
        check_terms("词 x", &[("词", 0, Word), ("x", 1, Word)]);
    }

    proptest! {
        #[test]
        fn any_text_is_split_into_bounded_terms(text in "\\PC{0,200}") {
            for token in tokens_of(&text) {
                prop_assert!(!token.text.is_empty() && token.text.chars().count() <= LONGEST);
            }
        }
    }
}
