//! What a statement is, whatever its values, for people: like MySQL's DIGEST_TEXT.
//!
//! In: a statement's tokens, or the bytes of one that can't be read with certainty. Out: its digest. A question mark stands for each
//! value, `(...)` for a list of them, one row for all rows of VALUES. Keywords and functions are in upper case; names stand as they
//! are. Comments and hints are gone. Of a text that can't be read, only what stands before the first quote is looked at.
//! Must never: keep a value, wherever a server with another sql_mode sees it; or be longer than a bound.

use super::functions;
use super::keywords::is_keyword;
use super::lex::{self, Kind};
use super::mode::Mode;
use super::tokens::{Lower, Tokens};
use crate::protocol::auth::fingerprint;
use std::cell::RefCell;
use std::sync::Arc;

/// A digest's text has at most so many bytes, and `CUT`.
pub const LONGEST: usize = 1024;
/// Its number is that of so much text: long ones differ at their ends.
const LONGEST_NUMBERED: usize = 16 << 10;
/// What a thread keeps room for.
const LONGEST_KEPT: usize = 2 * LONGEST;
/// Signs before a value, and tokens of a row of values: nobody looks further, again and again.
const MOST_SIGNS: usize = 8;
const LONGEST_ROW: usize = 4096;
/// Ends a text that is cut.
pub const CUT: &str = " ...";

#[derive(Debug, PartialEq, Eq)]
pub struct Digest {
    /// The same on every gate and after every restart: settings name digests by it. Never 0.
    pub number: u64,
    pub text: Arc<str>,
}

thread_local! {
    static TEXT: RefCell<String> = RefCell::new(String::with_capacity(LONGEST_KEPT));
}

/// Of a statement that was read with certainty.
pub fn digest(tokens: &Tokens) -> Arc<Digest> {
    TEXT.with_borrow_mut(|text| {
        text.clear();
        let mut writer = Writer::new(tokens, text);
        writer.run();
        let digest = of_text(text);
        text.shrink_to(LONGEST_KEPT);
        digest
    })
}

/// Of any other: where its strings end, depends on the server.
pub fn of_unclear(sql: &[u8]) -> Arc<Digest> {
    let known =
        |b: &u8| (b' '..0x7f).contains(b) && !b"'\"\\#/".contains(b) || b.is_ascii_whitespace();
    let length = sql.iter().take(LONGEST).take_while(|b| known(b)).count();
    let start = std::str::from_utf8(&sql[..length]).unwrap_or_default();
    let start = start.split("--").next().unwrap_or_default();
    let mut text = match lex::tokens(start, Mode::Unknown) {
        Ok(lexed) => {
            let list = &lexed.tokens;
            digest(&Tokens { sql: start, list }).text.to_string()
        }
        Err(_) => first_word(start).to_ascii_uppercase(),
    };
    if !text.ends_with(CUT) {
        text.push_str(CUT);
    }
    of_text(&text)
}

fn first_word(text: &str) -> &str {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_alphabetic());
    &text[..end.unwrap_or(text.len())]
}

fn of_text(text: &str) -> Arc<Digest> {
    let print = fingerprint(&[text.as_bytes()]);
    let number = u64::from_be_bytes(print.first_chunk().copied().unwrap_or_default());
    Arc::new(Digest {
        number: number.max(1),
        text: shown(text).into(),
    })
}

/// As much as people are shown.
fn shown(text: &str) -> String {
    if text.len() <= LONGEST || text.ends_with(CUT) && text.len() <= LONGEST + CUT.len() {
        return text.to_owned();
    }
    let end = (0..=LONGEST).rev().find(|end| text.is_char_boundary(*end));
    format!("{}{CUT}", &text[..end.unwrap_or_default()])
}

/// What was written last, as far as blanks depend on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    /// A parenthesis that is open, a dot, an at sign: nothing stands between it and what follows.
    Opens,
    Keyword,
    Name,
    Other,
    Symbol(u8),
}

struct Writer<'a> {
    tokens: &'a Tokens<'a>,
    text: &'a mut String,
    last: Last,
    /// Where the first row of VALUES ends.
    row_end: Option<usize>,
}

impl<'a> Writer<'a> {
    fn new(tokens: &'a Tokens<'a>, text: &'a mut String) -> Self {
        Self {
            tokens,
            text,
            last: Last::Nothing,
            row_end: None,
        }
    }

    fn run(&mut self) {
        let mut at = 0;
        while at < self.tokens.list.len() && self.text.len() <= LONGEST_NUMBERED {
            at = self.step(at);
        }
    }

    /// Writes what begins at this token; returns where the next begins.
    fn step(&mut self, at: usize) -> usize {
        if let Some(next) = self.list(at).or_else(|| self.values(at)) {
            return next;
        }
        match self.tokens.kind(at) {
            Some(Kind::Word) => self.word(at),
            Some(Kind::Backtick) => self.name(at),
            Some(Kind::Symbol(symbol)) => self.symbol(symbol),
            _ => {}
        }
        match self.row_end {
            Some(end) if end == at => {
                self.row_end = None;
                self.after_rows(at + 1)
            }
            _ => at + 1,
        }
    }

    /// Values in parentheses, and more of them after commas: one list for all.
    fn list(&mut self, at: usize) -> Option<usize> {
        let (count, mut end) = self.list_at(at)?;
        let is_in = at > 0 && self.tokens.is_any(at - 1, &["in"]);
        let alone = count == 1 && !is_in;
        if self.last == Last::Name {
            self.last = Last::Opens;
        }
        self.put(if alone { "(?)" } else { "(...)" }, Last::Other);
        while self.tokens.is_symbol(end, b',')
            && let Some((_, next)) = self.list_at(end + 1)
        {
            end = next;
        }
        let was_row = self.row_end.take_if(|row_end| *row_end < end).is_some();
        Some(if was_row { self.after_rows(end) } else { end })
    }

    /// How many values stand in parentheses here, and what follows.
    fn list_at(&self, at: usize) -> Option<(usize, usize)> {
        let open = self.tokens.is_symbol(at, b'(');
        let (count, end) = values(self.tokens, at + 1, true).filter(|_| open)?;
        self.tokens.is_symbol(end, b')').then_some((count, end + 1))
    }

    fn values(&mut self, at: usize) -> Option<usize> {
        let follows_value = matches!(self.last, Last::Name | Last::Other | Last::Symbol(b')'));
        let (count, end) = values(self.tokens, at, !follows_value)?;
        self.put(if count > 1 { "?, ..." } else { "?" }, Last::Other);
        Some(end)
    }

    /// The rows of VALUES after the first say nothing new.
    fn after_rows(&self, mut at: usize) -> usize {
        while self.tokens.is_symbol(at, b',')
            && let Some(end) = closing(self.tokens, at + 1)
        {
            at = end + 1;
        }
        at
    }

    fn word(&mut self, at: usize) {
        let word = self.tokens.text(at);
        if self.last == Last::Opens && at > 0 && self.tokens.is_symbol(at - 1, b'.') {
            self.put(word, Last::Name);
            return;
        }
        let lower = Lower::new(word);
        let keyword = at == 0 || is_keyword(lower.as_str());
        if matches!(lower.as_str(), "values" | "value") && self.row_end.is_none() {
            self.row_end = closing(self.tokens, at + 1);
        }
        let start = self.put(word, if keyword { Last::Keyword } else { Last::Name });
        let called = self.tokens.is_symbol(at + 1, b'(');
        if keyword || called && functions::is_harmless(lower.as_str()) {
            self.text[start..].make_ascii_uppercase();
        }
    }

    /// A name in backticks has them only where it needs them.
    fn name(&mut self, at: usize) {
        let quoted = self.tokens.in_backticks(at);
        let inner = quoted.trim_matches('`');
        let plain = inner.len() + 2 == quoted.len()
            && inner.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && inner.bytes().all(lex::is_word)
            && !is_keyword(Lower::new(inner).as_str());
        let shown = match quoted.contains(|c: char| c.is_control() || c == '\'' || c == '"') {
            true => "`?`",
            false if plain => inner,
            false => &*quoted,
        };
        self.put(shown, Last::Name);
    }

    fn symbol(&mut self, symbol: u8) {
        let last = match symbol {
            b'(' | b'.' | b'@' => Last::Opens,
            other => Last::Symbol(other),
        };
        let joined = matches!(self.last, Last::Symbol(before) if joins(before, symbol))
            || matches!(symbol, b')' | b',' | b'.' | b';')
            || symbol == b'(' && self.last == Last::Name;
        if joined {
            self.last = Last::Opens;
        }
        let mut bytes = [0; 4];
        self.put(char::from(symbol).encode_utf8(&mut bytes), last);
    }

    /// Returns where it stands.
    fn put(&mut self, text: &str, last: Last) -> usize {
        if !matches!(self.last, Last::Nothing | Last::Opens) {
            self.text.push(' ');
        }
        self.last = last;
        let start = self.text.len();
        self.text.push_str(text);
        start
    }
}

/// Two signs that are one operator.
fn joins(before: u8, sign: u8) -> bool {
    matches!(
        (before, sign),
        (b'<', b'=' | b'>' | b'<')
            | (b'>', b'=' | b'>')
            | (b'!' | b':', b'=')
            | (b'=', b'>')
            | (b'|', b'|')
            | (b'&', b'&')
            | (b'-', b'>')
    )
}

/// Where the parenthesis that opens here closes.
fn closing(tokens: &Tokens, at: usize) -> Option<usize> {
    if !tokens.is_symbol(at, b'(') {
        return None;
    }
    let mut depth = 0_usize;
    for at in at..tokens.list.len().min(at + LONGEST_ROW) {
        match tokens.kind(at) {
            Some(Kind::Symbol(b'(')) => depth += 1,
            Some(Kind::Symbol(b')')) => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// How many values stand here with commas between them, and what follows; nothing if there is none. `signed`: the first may have a sign.
fn values(tokens: &Tokens, at: usize, signed: bool) -> Option<(usize, usize)> {
    let (mut count, mut end) = (1, value(tokens, at, signed)?);
    while tokens.is_symbol(end, b',')
        && let Some(next) = value(tokens, end + 1, true)
    {
        (count, end) = (count + 1, next);
    }
    Some((count, end))
}

/// What follows the value here.
fn value(tokens: &Tokens, mut at: usize, signed: bool) -> Option<usize> {
    if signed {
        let is_sign = |at: &usize| tokens.is_symbol(*at, b'-') || tokens.is_symbol(*at, b'+');
        at += (at..at + MOST_SIGNS).take_while(is_sign).count();
    }
    at += introducer(tokens, at);
    match tokens.kind(at)? {
        Kind::Number | Kind::Symbol(b'?') => Some(at + 1),
        Kind::SingleQuoted | Kind::DoubleQuoted => {
            // Strings side by side are one.
            let is_string = |at| {
                matches!(
                    tokens.kind(at),
                    Some(Kind::SingleQuoted | Kind::DoubleQuoted)
                )
            };
            Some((at..).find(|at| !is_string(*at)).unwrap_or(at))
        }
        Kind::Word if is_constant(tokens, at) => Some(at + 1),
        _ => None,
    }
}

/// Words that are part of the value that follows: `N'…'`, `x'…'`, `b'…'`, `_utf8mb4'…'`, `_latin1 x'…'`.
fn introducer(tokens: &Tokens, at: usize) -> usize {
    if is_radix(tokens, at) {
        return 1;
    }
    let follows = tokens.kind(at + 1);
    match tokens.word(at).starts_with('_') {
        true if is_radix(tokens, at + 1) => 2,
        true => usize::from(matches!(
            follows,
            Some(Kind::SingleQuoted | Kind::DoubleQuoted | Kind::Number)
        )),
        false => 0,
    }
}

fn is_radix(tokens: &Tokens, at: usize) -> bool {
    let string = tokens.list.get(at + 1).filter(|t| t.adjacent);
    string.is_some_and(|t| matches!(t.kind, Kind::SingleQuoted | Kind::DoubleQuoted))
        && tokens.is_any(at, &["n", "x", "b"])
}

/// NULL and the like between commas or parentheses: elsewhere they are part of what the statement is (`IS NULL`).
fn is_constant(tokens: &Tokens, at: usize) -> bool {
    let is_one = |signs: &[u8], at| signs.iter().any(|sign| tokens.is_symbol(at, *sign));
    at > 0
        && is_one(b"(,", at - 1)
        && is_one(b"),", at + 1)
        && tokens.is_any(at, &["null", "true", "false", "default"])
}

#[cfg(test)]
mod tests;
