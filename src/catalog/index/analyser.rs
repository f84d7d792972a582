//! Our words as terms of tantivy.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::catalog::tokenizer::{self, tokens_of};

/// Its name in the schema of the index.
pub(super) const NAME: &str = "words";

/// Splits texts for the index as queries are split.
#[derive(Clone)]
pub(super) struct Analyser;

/// The terms of one text.
pub(super) struct TermStream {
    rest: std::vec::IntoIter<tokenizer::Token>,
    current: Token,
}

impl Tokenizer for Analyser {
    type TokenStream<'a> = TermStream;

    fn token_stream(&mut self, text: &str) -> TermStream {
        TermStream {
            rest: tokens_of(text).into_iter(),
            current: Token::default(),
        }
    }
}

impl TokenStream for TermStream {
    fn advance(&mut self) -> bool {
        let Some(next) = self.rest.next() else {
            return false;
        };
        self.current.text = next.text;
        self.current.position = next.position;
        true
    }

    fn token(&self) -> &Token {
        &self.current
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.current
    }
}
