//! JSON with comments as the parser alone sees it: the reference for reading and editing configurations.

use std::{collections::BTreeMap, ops::Range};

use jsonc_parser::{
    CollectOptions, CommentCollectionStrategy, ParseOptions, ParseResult, ast, common::Ranged,
    parse_to_ast,
};
use serde_json::json;

/// The text as values, with keys that stand twice and everything in its order.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree {
    Leaf(String),
    Array(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

/// A text that was read once: its value, and where its comments stand.
pub struct Document<'a> {
    result: ParseResult<'a>,
    pub tree: Tree,
}

impl<'a> Document<'a> {
    /// The value of a text, an empty one being an empty object; `None` if it is no JSON with comments and trailing commas.
    pub fn of(text: &'a str) -> Option<Self> {
        let result = parsed(text)?;
        let root = result.value.as_ref().map(Tree::from_ast);
        let tree = root.unwrap_or(Tree::Object(Vec::new()));
        Some(Self { result, tree })
    }

    /// The comments, sorted, but for those within the servers of that name.
    pub fn comments_outside(&self, server: &str) -> Vec<&str> {
        let root = self.result.value.as_ref();
        let entries = root.map(|root| entries(root, server)).unwrap_or_default();
        // Each comment is listed by the token before it and by the one after it.
        let all = self.result.comments.iter().flat_map(|all| all.values());
        let by_place: BTreeMap<usize, &str> = all
            .flat_map(|comments| comments.iter())
            .filter(|comment| !entries.iter().any(|entry| entry.contains(&comment.start())))
            .map(|comment| (comment.start(), comment.text()))
            .collect();
        let mut texts: Vec<&str> = by_place.into_values().collect();
        texts.sort_unstable();
        texts
    }
}

impl Tree {
    fn from_ast(value: &ast::Value<'_>) -> Self {
        match value {
            ast::Value::NullKeyword(_) => Self::Leaf("null".to_owned()),
            ast::Value::BooleanLit(literal) => Self::Leaf(literal.value.to_string()),
            ast::Value::NumberLit(literal) => Self::Leaf(literal.value.to_owned()),
            ast::Value::StringLit(literal) => Self::Leaf(json!(literal.value).to_string()),
            ast::Value::Array(array) => {
                Self::Array(array.elements.iter().map(Self::from_ast).collect())
            }
            ast::Value::Object(object) => Self::Object(
                object
                    .properties
                    .iter()
                    .map(|property| {
                        let name = property.name.as_str().to_owned();
                        (name, Self::from_ast(&property.value))
                    })
                    .collect(),
            ),
        }
    }

    /// The values under `mcpServers`, which may stand there twice.
    fn server_lists(&self) -> impl Iterator<Item = &Self> {
        let members = match self {
            Self::Object(members) => &members[..],
            _ => &[],
        };
        members
            .iter()
            .filter(|(key, _)| key == "mcpServers")
            .map(|(_, list)| list)
    }

    /// The names of the servers, as often as they stand there.
    pub fn server_names(&self) -> Vec<String> {
        self.server_lists()
            .flat_map(|list| match list {
                Self::Object(members) => members.iter().map(|(name, _)| name.clone()).collect(),
                Self::Array(elements) => elements.iter().filter_map(Self::own_name).collect(),
                Self::Leaf(_) => Vec::new(),
            })
            .collect()
    }

    /// The name that an entry in an array gives itself.
    fn own_name(&self) -> Option<String> {
        let Self::Object(members) = self else {
            return None;
        };
        let (_, name) = members.iter().rfind(|(key, _)| key == "name")?;
        match name {
            Self::Leaf(text) => serde_json::from_str(text).ok(),
            _ => None,
        }
    }

    /// Everything but the servers of that name. No servers and no list of servers are the same.
    pub fn without_server(&self, server: &str) -> Self {
        let Self::Object(members) = self else {
            return self.clone();
        };
        let rest = members.iter().filter_map(|(key, value)| {
            let value = match value {
                _ if key != "mcpServers" => value.clone(),
                Self::Object(servers) => {
                    let others = servers.iter().filter(|(name, _)| name != server);
                    Self::Object(others.cloned().collect())
                }
                Self::Array(servers) => {
                    let is_other = |entry: &&Self| entry.own_name().as_deref() != Some(server);
                    Self::Array(servers.iter().filter(is_other).cloned().collect())
                }
                Self::Leaf(_) => Self::Object(Vec::new()),
            };
            let is_empty = matches!(&value, Self::Object(list) if list.is_empty());
            (key != "mcpServers" || !is_empty).then(|| (key.clone(), value))
        });
        Self::Object(rest.collect())
    }
}

/// Where the servers of that name stand.
fn entries(root: &ast::Value<'_>, server: &str) -> Vec<Range<usize>> {
    let ast::Value::Object(root) = root else {
        return Vec::new();
    };
    let lists = root
        .properties
        .iter()
        .filter(|property| property.name.as_str() == "mcpServers");
    lists
        .flat_map(|list| match &list.value {
            ast::Value::Object(map) => map
                .properties
                .iter()
                .filter(|entry| entry.name.as_str() == server)
                .map(|entry| entry.start()..entry.end())
                .collect(),
            ast::Value::Array(array) => array
                .elements
                .iter()
                .filter(|entry| Tree::from_ast(entry).own_name().as_deref() == Some(server))
                .map(|entry| entry.start()..entry.end())
                .collect(),
            _ => Vec::new(),
        })
        .collect()
}

fn parsed(text: &str) -> Option<ParseResult<'_>> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let collect = CollectOptions {
        comments: CommentCollectionStrategy::Separate,
        tokens: false,
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    parse_to_ast(text, &collect, &options).ok()
}
