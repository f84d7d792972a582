//! Cuts one result: its texts down to the first page, everything else as it came. Pure.

use super::{
    LongText, NOTICE_MAX, Notice, Page, ReadingOn,
    items::{self, ContentItem, plain},
    same_content::says_the_same,
};
use crate::wire::{Edit, Raw, splice};

/// What becomes of `structuredContent` where the texts beside it are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StructuredContent {
    /// It stays: the client was shown a schema of it, and may refuse a result that does not match.
    Kept,
    /// No schema was shown. It is left out where it says what the texts say, because some clients show it in place of them.
    LeftOutIfSame,
    /// The answer of `code_execution`, whose schema has a member for the notice.
    OfScript,
}

/// How a result is cut.
#[derive(Debug, Clone, Copy)]
pub struct CutOrder {
    /// Characters of all its texts together that it may have.
    pub limit: usize,
    /// What becomes of its structured content.
    pub structured: StructuredContent,
    /// How its reader goes on.
    pub reading: ReadingOn,
}

/// The member for the notice in the answer of `code_execution`.
pub(super) const CUT_KEY: &str = "cut";

/// A result whose texts are too long.
pub(super) struct LongResult {
    items: Vec<Shown>,
    structured: Option<Raw>,
    order: CutOrder,
    page: Page,
    pub(super) text: LongText,
}

/// An item of the content, as it came.
struct Shown {
    raw: Raw,
    /// It is one of the texts that are cut, in their order.
    is_text: bool,
}

impl LongResult {
    /// Takes a result apart; `None` if its texts are within the limit.
    pub(super) fn of(result: &Raw, order: CutOrder) -> Option<Self> {
        let content = items::read(result)?;
        let texts = content.iter().filter_map(|item| item.text.as_ref());
        let texts = texts.map(|(_, text)| &**text);
        let chars: usize = texts.clone().map(|text: &str| text.chars().count()).sum();
        if chars <= order.limit {
            return None;
        }
        let structured = result.get("structuredContent");
        let structured = structured.filter(|structured| match order.structured {
            StructuredContent::Kept => false,
            StructuredContent::LeftOutIfSame => {
                let texts: Vec<&str> = texts.collect();
                says_the_same(structured, &texts)
            }
            StructuredContent::OfScript => structured.is_object(),
        });
        let (mut shown, mut long) = (Vec::with_capacity(content.len()), Vec::new());
        for ContentItem { raw, text } in content {
            let is_text = text.is_some();
            shown.push(Shown { raw, is_text });
            long.extend(text);
        }
        let text = LongText::new(long);
        let page = text.page(0, order.limit.saturating_sub(NOTICE_MAX))?;
        Some(Self {
            items: shown,
            structured,
            order,
            page,
            text,
        })
    }

    /// The result with the first page of its texts, and a notice that names the key under which all of them are kept. Items that are no
    /// texts, and texts that are whole on the page, stay as they came; texts after the page are left out.
    pub(super) fn shortened(&self, result: &Raw, key: &str) -> Raw {
        let notice = Notice {
            key,
            page: &self.page,
            reading: self.order.reading,
        };
        let (mut content, mut pieces) = (Vec::new(), self.page.pieces.iter().peekable());
        let mut n_texts = 0;
        for Shown { raw, is_text } in &self.items {
            if !*is_text {
                content.push(raw.clone());
                continue;
            }
            if let Some(piece) = pieces.next_if(|piece| piece.part == n_texts) {
                if piece.is_whole {
                    content.push(raw.clone());
                } else {
                    content.extend(self.text.item(piece, &notice));
                }
                if pieces.peek().is_none() && !self.page.ends_inside() {
                    content.push(plain(&notice.to_string()));
                }
            }
            n_texts += 1;
        }
        let content = [("content", Edit::Set(Raw::array(&content)))];
        let shortened = splice(result, &content).unwrap_or_else(|_| result.clone());
        self.with_structured(shortened, &notice)
    }

    fn with_structured(&self, result: Raw, notice: &Notice<'_>) -> Raw {
        let Some(structured) = &self.structured else {
            return result;
        };
        let edit = match self.order.structured {
            StructuredContent::Kept => return result,
            StructuredContent::LeftOutIfSame => Edit::Remove,
            StructuredContent::OfScript => {
                let edits = [
                    ("value", Edit::Remove),
                    ("logs", Edit::Remove),
                    (CUT_KEY, Edit::Set(Raw::author(&notice_beside(notice)))),
                ];
                match splice(structured, &edits) {
                    Ok(cut) => Edit::Set(cut),
                    Err(_) => return result,
                }
            }
        };
        splice(&result, &[("structuredContent", edit)]).unwrap_or(result)
    }
}

/// The notice for structured content, of which nothing is shown: the text is to be read from its beginning.
fn notice_beside(notice: &Notice<'_>) -> String {
    let page = Page {
        chars: 0..0,
        all: notice.page.all,
        records: None,
        pieces: Vec::new(),
    };
    Notice {
        page: &page,
        ..*notice
    }
    .to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const ORDER: CutOrder = CutOrder {
        limit: 1000,
        structured: StructuredContent::LeftOutIfSame,
        reading: ReadingOn::ByItsName,
    };

    fn cut_by(result: &str, order: CutOrder) -> Option<String> {
        let result = Raw::parse_str(result).expect("JSON");
        let long = LongResult::of(&result, order)?;
        let cut = long.shortened(&result, "KEY");
        Some(
            Raw::parse_str(cut.as_str())
                .expect("JSON")
                .as_str()
                .to_owned(),
        )
    }

    fn cut(result: &str) -> Option<String> {
        cut_by(result, ORDER)
    }

    fn value(text: &str) -> Value {
        serde_json::from_str(text).expect("JSON")
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        let fits = "ä".repeat(1000);
        assert_eq!(
            cut(&json!({ "content": [{ "type": "text", "text": fits }] }).to_string()),
            None
        );
        let image = json!({ "type": "image", "data": "A".repeat(5000), "mimeType": "image/png" });
        assert_eq!(cut(&json!({ "content": [image] }).to_string()), None);
        assert_eq!(
            cut(&json!({ "task": { "taskId": "A".repeat(5000) } }).to_string()),
            None
        );
        assert_eq!(
            cut(&json!({ "content": "A".repeat(5000) }).to_string()),
            None
        );
        assert_eq!(cut(&format!("[\"{}\"]", "A".repeat(5000))), None);
    }

    #[test]
    fn all_that_is_no_text_stays_byte_for_byte() {
        let lines = "0123456789\\n".repeat(200);
        let result = |text: &str, more: &str| {
            format!(
                r#"{{ "x":1.10,"content":[{{"type":"image","data":"AA==","mimeType":"i/p"}} ,{{"text":"a\u0062","type":"text","_meta":{{"n":1e2}}}},{text},{{"type":"audio","data":"{lines}","mimeType":"a/w"}}{more}], "isError":true,"_meta":{{"b":1,"a":2}}}}"#
            )
        };
        let whole = result(
            &format!(r#"{{"type":"text","text":"{lines}"}}"#),
            r#",{"type":"text","text":"after"}"#,
        );
        // 2 + 486 characters: 44 lines.
        let said = "0123456789\\n".repeat(44);
        let notice = r#"[cut here by mcpproxy: characters 0 to 486 of 2207 are above. Go on with read_cache {\"key\":\"KEY\",\"offset\":486}, within 2 hours]"#;
        let expected = result(
            &format!(r#"{{"type":"text","text":"{said}\n\n{notice}"}}"#),
            "",
        );
        let expected = expected.replace("\"i/p\"} ,{", "\"i/p\"},{");
        assert_eq!(cut(&whole).as_deref(), Some(&*expected));
    }

    #[test]
    fn words_on_how_to_go_on_stand_after_the_last_text() {
        let text = |n: usize| json!({ "type": "text", "text": format!("{n:0200}") });
        let texts: Vec<Value> = (0..10).map(text).collect();
        let cut = value(&cut(&json!({ "content": texts }).to_string()).expect("it is cut"));
        let content = cut["content"].as_array().expect("items");
        assert_eq!(content[..2], texts[..2]);
        assert_eq!(content.len(), 3);
        let said = content[2]["text"].as_str().expect("text");
        assert!(
            said.contains("characters 0 to 400 of 2000 are above"),
            "{said}"
        );

        let resource =
            |text: &str| json!({ "type": "resource", "resource": { "uri": "a:b", "text": text } });
        let result = json!({ "content": [resource(&"x".repeat(1001))] }).to_string();
        let cut = value(&self::cut(&result).expect("it is cut"));
        assert_eq!(cut["content"][0], resource(&"x".repeat(488)));
        assert!(
            cut["content"][1]["text"]
                .as_str()
                .is_some_and(|said| said.starts_with("[cut here"))
        );
    }

    #[test]
    fn structured_content_stays_where_a_schema_of_it_was_shown_or_it_says_more() {
        let data = json!({ "items": (0..300).collect::<Vec<_>>() });
        let result = |structured: &Value| {
            json!({ "content": [{ "type": "text", "text": data.to_string() }], "structuredContent": structured })
                .to_string()
        };
        let order = |structured| CutOrder {
            structured,
            ..ORDER
        };
        let kept = |structured: &Value, order| {
            let cut = cut_by(&result(structured), order).expect("it is cut");
            value(&cut).get("structuredContent").cloned()
        };
        let other = json!({ "count": 300 });
        assert_eq!(kept(&data, order(StructuredContent::LeftOutIfSame)), None);
        assert_eq!(
            kept(&other, order(StructuredContent::LeftOutIfSame)),
            Some(other.clone())
        );
        assert_eq!(
            kept(&data, order(StructuredContent::Kept)),
            Some(data.clone())
        );
        let script = json!({ "ok": true, "value": data, "logs": ["a"], "tool_calls": 3 });
        let cut = kept(&script, order(StructuredContent::OfScript)).expect("it stays");
        assert_eq!((&cut["ok"], &cut["tool_calls"]), (&json!(true), &json!(3)));
        let said = cut["cut"].as_str().expect("text");
        assert!(said.contains(r#"{"key":"KEY","offset":0}"#), "{said}");
        assert_eq!(cut.as_object().map(serde_json::Map::len), Some(3));
    }
}
