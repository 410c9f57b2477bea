//! A place in a statement's tokens, with the questions that every kind of statement asks.
//!
//! In: tokens of `lex`. Out: words, names, spans of text. Must never: take a quoted word for a keyword.

use super::lex::{Kind, Token};
use std::borrow::Cow;

/// Longer than any keyword or built-in function of MySQL.
const LONGEST: usize = 40;
/// What stand for values in the normal form: no text has them outside quotes, so that no two statements that differ in more than values
/// share one (`a.5` would have that of `a1`).
const NUMBER: &str = "\u{1}";
const STRING: &str = "\u{2}";

#[derive(Clone, Copy)]
pub struct Tokens<'a> {
    pub sql: &'a str,
    pub list: &'a [Token],
}

/// An unquoted word in lower case; empty when it is too long to be any keyword.
#[derive(Clone, Copy)]
pub struct Lower {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Lower {
    pub fn new(word: &str) -> Self {
        let mut lower = Self {
            bytes: [0; LONGEST],
            length: 0,
        };
        if let Some(room) = lower.bytes.get_mut(..word.len()) {
            room.copy_from_slice(word.as_bytes());
            room.make_ascii_lowercase();
            lower.length = word.len();
        }
        lower
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl<'a> Tokens<'a> {
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn kind(&self, at: usize) -> Option<Kind> {
        self.list.get(at).map(|t| t.kind)
    }

    pub fn text(&self, at: usize) -> &'a str {
        let text = self.list.get(at).and_then(|t| self.sql.get(t.range()));
        text.unwrap_or_default()
    }

    /// The unquoted word at `at`, else "".
    pub fn word(&self, at: usize) -> &'a str {
        match self.kind(at) {
            Some(Kind::Word) => self.text(at),
            _ => "",
        }
    }

    pub fn is(&self, at: usize, keyword: &str) -> bool {
        self.word(at).eq_ignore_ascii_case(keyword)
    }

    pub fn is_symbol(&self, at: usize, symbol: u8) -> bool {
        self.kind(at) == Some(Kind::Symbol(symbol))
    }

    /// A dot and a word follow directly: then even a reserved word is a name (`FROM select.t`).
    pub fn begins_longer_name(&self, at: usize) -> bool {
        let follows = |at: usize| self.list.get(at).is_some_and(|t| t.adjacent);
        self.is_symbol(at + 1, b'.')
            && follows(at + 1)
            && follows(at + 2)
            && self.kind(at + 2) == Some(Kind::Word)
    }

    pub fn is_any(&self, at: usize, keywords: &[&str]) -> bool {
        keywords.iter().any(|k| self.is(at, k))
    }

    pub fn has(&self, keyword: &str) -> bool {
        (0..self.list.len()).any(|at| self.is(at, keyword))
    }

    pub fn has_symbol(&self, symbol: u8) -> bool {
        (0..self.list.len()).any(|at| self.is_symbol(at, symbol))
    }

    /// The tokens from `at` on.
    pub fn from(&self, at: usize) -> Tokens<'a> {
        let list = self.list.get(at..).unwrap_or_default();
        Tokens {
            sql: self.sql,
            list,
        }
    }

    /// Drops the first token if it is this keyword.
    pub fn eat(&mut self, keyword: &str) -> bool {
        let found = self.is(0, keyword);
        *self = self.from(usize::from(found));
        found
    }

    /// Drops the keywords if all of them stand here.
    pub fn eat_all(&mut self, keywords: &[&str]) -> bool {
        let found = keywords.iter().enumerate().all(|(at, k)| self.is(at, k));
        *self = self.from(if found { keywords.len() } else { 0 });
        found
    }

    pub fn eat_symbol(&mut self, symbol: u8) -> bool {
        let found = self.is_symbol(0, symbol);
        *self = self.from(usize::from(found));
        found
    }

    /// A name, quoted or not, without its quotes. Double quotes count: with ANSI_QUOTES they hold a name.
    pub fn name(&self, at: usize) -> Option<String> {
        let text = self.text(at);
        match self.kind(at)? {
            Kind::Word => Some(text.to_owned()),
            Kind::Backtick | Kind::DoubleQuoted => unquote(text),
            _ => None,
        }
    }

    /// A quoted name as it stands in backticks, whatever its quotes are.
    pub fn in_backticks(&self, at: usize) -> Cow<'a, str> {
        let text = self.text(at);
        match text.starts_with('"').then(|| unquote(text)).flatten() {
            Some(name) => format!("`{}`", name.replace('`', "``")).into(),
            None => text.into(),
        }
    }

    /// What a word or a string says, without quotes; strings with escapes are not read.
    pub fn value(&self, at: usize) -> Option<String> {
        match self.kind(at)? {
            Kind::SingleQuoted | Kind::DoubleQuoted => {
                unquote(self.text(at)).filter(|v| !v.contains('\\'))
            }
            Kind::Word | Kind::Backtick => self.name(at),
            Kind::Number => Some(self.text(at).to_owned()),
            Kind::Symbol(_) => None,
        }
    }

    /// The pattern in a string, in which a backslash stands before what is no wildcard.
    pub fn pattern(&self, at: usize) -> Option<String> {
        let quoted = matches!(self.kind(at)?, Kind::SingleQuoted | Kind::DoubleQuoted);
        quoted.then(|| unquote(self.text(at))).flatten()
    }

    /// The statement's text from the first to the last token here.
    pub fn span(&self) -> &'a str {
        match (self.list.first(), self.list.last()) {
            (Some(first), Some(last)) => {
                let span = first.range().start..last.range().end;
                self.sql.get(span).unwrap_or_default()
            }
            _ => "",
        }
    }

    /// The parts between this symbol, those inside parentheses not counted.
    pub fn split(&self, symbol: u8) -> Vec<Tokens<'a>> {
        let (mut parts, mut depth, mut start) = (Vec::new(), 0_i64, 0);
        for at in 0..self.list.len() {
            match self.kind(at) {
                Some(Kind::Symbol(b'(')) => depth += 1,
                Some(Kind::Symbol(b')')) => depth -= 1,
                Some(Kind::Symbol(s)) if s == symbol && depth == 0 => {
                    parts.push(self.slice(start, at));
                    start = at + 1;
                }
                _ => {}
            }
        }
        parts.push(self.slice(start, self.list.len()));
        parts
    }

    /// The statements between semicolons; the empty ones after the last don't count.
    pub fn split_statements(&self) -> Vec<Tokens<'a>> {
        let ends = |at: &usize| self.is_symbol(*at, b';');
        let (mut parts, mut start) = (Vec::with_capacity(1), 0);
        for end in (0..self.list.len()).filter(ends).chain([self.list.len()]) {
            parts.push(self.slice(start, end));
            start = end + 1;
        }
        while parts.last().is_some_and(Tokens::is_empty) {
            parts.pop();
        }
        parts
    }

    fn slice(&self, start: usize, end: usize) -> Tokens<'a> {
        let list = self.list.get(start..end).unwrap_or_default();
        Tokens {
            sql: self.sql,
            list,
        }
    }

    /// The statement again without comments.
    pub fn plain_text(&self) -> String {
        let mut plain = String::with_capacity(self.span().len());
        for (at, token) in self.list.iter().enumerate() {
            plain.push_str(if token.adjacent || at == 0 { "" } else { " " });
            plain.push_str(self.text(at));
        }
        plain
    }

    /// The normal form, written behind `text`: what a statement is, whatever its values. Names in quotes have backticks.
    pub fn write_normal(&self, text: &mut String) {
        // What stands as it is from here to there is copied at once.
        let mut run = 0..0;
        for (at, token) in self.list.iter().enumerate() {
            let value = match token.kind {
                Kind::Number => Some(Cow::Borrowed(NUMBER)),
                Kind::SingleQuoted => Some(Cow::Borrowed(STRING)),
                Kind::Backtick => Some(self.in_backticks(at)),
                _ => None,
            };
            let blank = if token.adjacent || at == 0 { "" } else { " " };
            let follows = self.sql.get(run.end..token.range().start) == Some(blank);
            if follows && value.is_none() {
                run.end = token.range().end;
                continue;
            }
            text.push_str(self.sql.get(run).unwrap_or_default());
            text.push_str(blank);
            run = token.range();
            if let Some(value) = value {
                text.push_str(&value);
                run.start = run.end;
            }
        }
        text.push_str(self.sql.get(run).unwrap_or_default());
    }
}

fn unquote(text: &str) -> Option<String> {
    let quote = text.get(..1)?;
    let inner = text.get(1..text.len() - 1)?;
    Some(inner.replace(&format!("{quote}{quote}"), quote))
}
