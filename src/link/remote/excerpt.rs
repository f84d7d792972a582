//! What an operator gets to see of a text of a server's: its beginning on one line, without secrets.

use crate::text::secret::Secrets;

/// Characters of an error page that an operator gets to see.
const EXCERPT: usize = 200;

/// The beginning of a text, without these secrets.
pub(super) fn excerpt(text: &[u8], secrets: [&Secrets; 2]) -> String {
    let beginning = text.get(..EXCERPT * 64).unwrap_or(text);
    let mut text = String::from_utf8_lossy(beginning).into_owned();
    for secrets in secrets {
        text = secrets.redacted(&text).into_owned();
    }
    if text.trim_start().starts_with('<') {
        text = page(&text);
    }
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    let mut short: String = text.trim().chars().map(visible).take(EXCERPT + 1).collect();
    if short.chars().count() > EXCERPT {
        short.pop();
        short.push('…');
    }
    short
}

/// The text for a page that is meant for browsers: its title.
fn page(html: &str) -> String {
    let title = || {
        let (_, rest) = html.split_once("<title").or(html.split_once("<TITLE"))?;
        let (_, rest) = rest.split_once('>')?;
        let (title, _) = rest.split_once('<')?;
        (!title.trim().is_empty()).then(|| title.trim().to_owned())
    };
    title().map_or_else(
        || "an HTML page".to_owned(),
        |title| format!("an HTML page, {title:?}"),
    )
}
