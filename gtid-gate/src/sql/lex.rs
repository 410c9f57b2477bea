//! MySQL's lexical rules, as far as they decide what a statement is.
//!
//! In: statement text in UTF-8, and what is known of sql_mode. Out: tokens that point into it, comments gone, the contents of executable
//! comments kept, long lists of values cut short. Where servers or SQL modes read a text differently the answer is `Unclear`, which callers
//! must send to the master. Must never: take for a comment or a string what some MySQL 8.0–9.x executes, or a name for a number.

use super::mode::Mode;
use super::token_list::TokenList;
pub use super::token_list::{Kind, Token};

/// Why a text can't be read with certainty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unclear {
    pub reason: &'static str,
    /// With the SQL mode it could be.
    pub ambiguous: bool,
}

impl Unclear {
    const fn new(reason: &'static str) -> Self {
        Self {
            reason,
            ambiguous: false,
        }
    }
}

/// Which quotes let a backslash escape the next character.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Escapes {
    single: bool,
    double: bool,
}

const DEFAULT: Escapes = Escapes {
    single: true,
    double: true,
};
const ANSI_QUOTES: Escapes = Escapes {
    single: true,
    double: false,
};
const NO_BACKSLASH_ESCAPES: Escapes = Escapes {
    single: false,
    double: false,
};

/// Executable comments up to this version run on every server that is supported.
const OLDEST_SERVER: u32 = 80_000;

/// A statement of more words and signs is not looked at, so that its tokens take at most 12 MB (each 12 bytes).
const MOST_TOKENS: usize = 1_000_000;
const TOO_MANY: Unclear = Unclear::new("more than a million words and signs");
const AMBIGUOUS: Unclear = Unclear {
    reason: "backslash whose meaning depends on sql_mode",
    ambiguous: true,
};

/// Reads a statement. In an unknown mode, what stands in quotes with a backslash must read the same, or be an error, in every mode.
pub fn tokens(sql: &str, mode: Mode) -> Result<Lexed<'_>, Unclear> {
    // a NUL ends some comments
    if sql.contains('\0') {
        return Err(Unclear::new("nul byte"));
    }
    if u32::try_from(sql.len()).is_err() {
        return Err(Unclear::new("more than four gigabytes"));
    }
    let mut lexer = Lexer::new(sql, mode);
    let outcome = lexer.run();
    if mode == Mode::Unknown && (lexer.single_differs || lexer.double_differs) {
        let others = [
            (lexer.double_differs, ANSI_QUOTES),
            (true, NO_BACKSLASH_ESCAPES),
        ];
        let reads = |(differs, escapes)| differs && Lexer::judge(sql, escapes).run().is_ok();
        if others.into_iter().any(reads) {
            return Err(AMBIGUOUS);
        }
    }
    outcome?;
    Ok(Lexed {
        tokens: lexer.list.tokens,
        comments: lexer.comments,
        placeholders: lexer.placeholders,
    })
}

pub struct Lexed<'a> {
    pub tokens: Vec<Token>,
    /// What stands in comments that nothing executes.
    pub comments: Vec<&'a [u8]>,
    /// Question marks, those of lists that were cut short among them.
    pub placeholders: usize,
}

struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    mode: Mode,
    escapes: Escapes,
    /// What is in double quotes.
    double: Kind,
    /// Nothing is kept of what only judges whether a text can be read.
    keeps: bool,
    list: TokenList,
    comments: Vec<&'a [u8]>,
    placeholders: usize,
    /// The token before, and where it ends.
    last: (Kind, usize),
    /// Whatever follows is a name: it stands right after a dot.
    name_follows: bool,
    in_executable_comment: bool,
    /// Some of these quotes end elsewhere where a backslash escapes nothing.
    single_differs: bool,
    double_differs: bool,
}

impl<'a> Lexer<'a> {
    fn new(sql: &'a str, mode: Mode) -> Self {
        let (escapes, double) = match mode {
            Mode::Unknown => (DEFAULT, Kind::DoubleQuoted),
            Mode::Known {
                ansi_quotes,
                no_backslash_escapes,
                ..
            } => (
                Escapes {
                    single: !no_backslash_escapes,
                    double: !no_backslash_escapes && !ansi_quotes,
                },
                if ansi_quotes {
                    Kind::Backtick
                } else {
                    Kind::SingleQuoted
                },
            ),
        };
        Self {
            text: sql.as_bytes(),
            at: 0,
            mode,
            escapes,
            double,
            keeps: true,
            list: TokenList::with_room(sql.len()),
            comments: Vec::new(),
            placeholders: 0,
            last: (Kind::Symbol(b' '), usize::MAX),
            name_follows: false,
            in_executable_comment: false,
            single_differs: false,
            double_differs: false,
        }
    }

    fn judge(sql: &'a str, escapes: Escapes) -> Self {
        Self {
            escapes,
            keeps: false,
            ..Self::new(sql, Mode::Unknown)
        }
    }

    fn run(&mut self) -> Result<(), Unclear> {
        while let Some(byte) = self.peek(0) {
            match byte {
                b' ' | b'\t'..=b'\r' => self.at += 1,
                b'#' => self.skip_line(),
                b'-' if self.starts_line_comment() => self.skip_line(),
                b'/' if self.peek(1) == Some(b'*') => self.comment()?,
                b'*' if self.in_executable_comment && self.peek(1) == Some(b'/') => {
                    self.in_executable_comment = false;
                    self.at += 2;
                }
                _ => self.token(byte)?,
            }
        }
        match self.in_executable_comment {
            true => Err(Unclear::new("unfinished comment")),
            false => Ok(()),
        }
    }

    fn peek(&self, distance: usize) -> Option<u8> {
        self.text.get(self.at + distance).copied()
    }

    /// `--` starts a comment only before a blank, a control character or the end: `1--1` is arithmetic.
    fn starts_line_comment(&self) -> bool {
        self.peek(1) == Some(b'-')
            && self
                .peek(2)
                .is_none_or(|b| b == b' ' || b.is_ascii_control())
    }

    fn skip_line(&mut self) {
        let length = self.text[self.at..].iter().position(|b| *b == b'\n');
        self.at = length.map_or(self.text.len(), |l| self.at + l + 1);
    }

    fn comment(&mut self) -> Result<(), Unclear> {
        // servers differ in how comments nest
        if self.in_executable_comment {
            return Err(Unclear::new("comment inside an executable comment"));
        }
        match (self.peek(2), self.peek(3)) {
            (Some(b'!'), _) => self.open_executable_comment(),
            // MariaDB's own; a comment for MySQL, but a sign that the text was not written for it
            (Some(b'M'), Some(b'!')) => Err(Unclear::new("MariaDB's executable comment")),
            (Some(b'+'), _) => self.skip_comment().and_then(check_hint),
            _ => self.skip_comment().map(|body| self.comments.push(body)),
        }
    }

    /// `/*! …` always runs, `/*!ddddd …` on servers from that version; six digits mean different things to
    /// different servers.
    fn open_executable_comment(&mut self) -> Result<(), Unclear> {
        let start = self.at;
        self.at += 3;
        let rest = &self.text[self.at..];
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let version = rest[..digits.min(5)].iter();
        let version = version.fold(0, |v, b| v * 10 + u32::from(b - b'0'));
        let runs = match self.mode {
            _ if digits == 0 || digits == 5 && version <= OLDEST_SERVER => true,
            Mode::Known { version: own, .. } if digits == 5 && own > 0 => version <= own,
            mode => {
                return Err(Unclear {
                    reason: "comment that not every server executes",
                    ambiguous: mode == Mode::Unknown && digits == 5,
                });
            }
        };
        if !runs {
            self.at = start;
            return self.skip_nesting_comment();
        }
        self.at += digits;
        self.in_executable_comment = true;
        Ok(())
    }

    /// One that is for newer servers: others may stand in it (sql_lex.cc, consume_comment).
    fn skip_nesting_comment(&mut self) -> Result<(), Unclear> {
        self.at += 2;
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(b'*'), Some(b'/')) => {
                    self.at += 2;
                    return Ok(());
                }
                (Some(b'/'), Some(b'*')) => self.skip_comment().map(drop)?,
                (Some(_), _) => self.at += 1,
                (None, _) => return Err(Unclear::new("unfinished comment")),
            }
        }
    }

    fn skip_comment(&mut self) -> Result<&'a [u8], Unclear> {
        let body = &self.text[self.at + 2..];
        let length = body.windows(2).position(|w| w == b"*/");
        let length = length.ok_or(Unclear::new("unfinished comment"))?;
        self.at += length + 4;
        Ok(&body[..length])
    }

    fn token(&mut self, first: u8) -> Result<(), Unclear> {
        let start = self.at;
        let adjacent = self.last.1 == start;
        let named = std::mem::take(&mut self.name_follows) && is_word(first);
        let kind = match first {
            _ if named => self.word(),
            b'`' => self.quoted(b'`', false, Kind::Backtick)?,
            b'\'' => self.quoted(b'\'', self.escapes.single, Kind::SingleQuoted)?,
            b'"' => self.quoted(b'"', self.escapes.double, self.double)?,
            b'0'..=b'9' => self.number()?,
            b'.' => self.dot(adjacent)?,
            b'$' => self.dollar()?,
            _ if is_word(first) => self.word(),
            b'\\' | 0..=0x1f | 0x7f => return Err(Unclear::new("character that no statement has")),
            _ => self.symbol(first),
        };
        self.last = (kind, self.at);
        self.placeholders += usize::from(first == b'?');
        if !self.keeps {
            return Ok(());
        }
        if self.list.tokens.len() == MOST_TOKENS {
            return Err(TOO_MANY);
        }
        let token = Token {
            kind,
            adjacent,
            start: start as u32,
            end: self.at as u32,
        };
        self.list.push(token, self.text);
        Ok(())
    }

    /// Right after an unquoted name the dot of a longer name: `logs.2024`. Else it may begin a number.
    fn dot(&mut self, adjacent: bool) -> Result<Kind, Unclear> {
        let next = self.peek(1);
        let of_name = adjacent && self.last.0 == Kind::Word;
        if !of_name && next.is_some_and(|b| b.is_ascii_digit()) {
            return self.number();
        }
        self.name_follows = next.is_some_and(is_word);
        Ok(self.symbol(b'.'))
    }

    /// From 9.0 on, `$tag$` can open a string.
    fn dollar(&mut self) -> Result<Kind, Unclear> {
        self.at += 1;
        self.skip_while(|b| is_word(b) && b != b'$');
        match self.peek(0) {
            Some(b'$') => Err(Unclear::new("text between dollar signs")),
            _ => Ok(Kind::Word),
        }
    }

    fn symbol(&mut self, byte: u8) -> Kind {
        self.at += 1;
        Kind::Symbol(byte)
    }

    fn word(&mut self) -> Kind {
        self.skip_while(is_word);
        Kind::Word
    }

    /// A doubled quote stands for itself.
    fn quoted(&mut self, quote: u8, escapes: bool, kind: Kind) -> Result<Kind, Unclear> {
        loop {
            self.at += 1;
            let rest = self.text.get(self.at..).unwrap_or_default();
            let found = rest.iter().position(|b| *b == quote || *b == b'\\');
            self.at += found.ok_or(Unclear::new("unfinished quotes"))?;
            let next = self.peek(1);
            if self.text[self.at] == quote {
                self.at += 1;
                if next != Some(quote) {
                    return Ok(kind);
                }
            } else if escapes {
                self.single_differs |= quote == b'\'' && next == Some(quote);
                self.double_differs |= quote == b'"' && next == Some(quote);
                self.at += 1;
            }
        }
    }

    /// MySQL ends some numbers in front of a letter (`1.5FOR UPDATE` locks), and takes others for names (`2024t`, `1e`, `0xyz`).
    fn number(&mut self) -> Result<Kind, Unclear> {
        let start = self.at;
        let digit = |b: u8| b.is_ascii_digit();
        let radix_digits: Option<fn(u8) -> bool> = match (self.peek(0), self.peek(1)) {
            (Some(b'0'), Some(b'x')) => Some(|b| b.is_ascii_hexdigit()),
            (Some(b'0'), Some(b'b')) => Some(|b| matches!(b, b'0' | b'1')),
            _ => None,
        };
        if let Some(digits) = radix_digits {
            self.at += 2;
            self.skip_while(digits);
            return Ok(match self.at > start + 2 && !self.is_before_word() {
                true => Kind::Number,
                false => self.word(),
            });
        }
        self.skip_while(digit);
        if self.peek(0) == Some(b'.') {
            self.at += 1;
            self.skip_while(digit);
            let exponent = matches!(self.peek(0), Some(b'e' | b'E'));
            return match exponent && !self.exponent() {
                true => Err(Unclear::new("number without an exponent after its e")),
                false => Ok(Kind::Number),
            };
        }
        Ok(match self.exponent() || !self.is_before_word() {
            true => Kind::Number,
            false => self.word(),
        })
    }

    fn exponent(&mut self) -> bool {
        let sign = usize::from(matches!(self.peek(1), Some(b'+' | b'-')));
        let digit = |b: u8| b.is_ascii_digit();
        let found =
            matches!(self.peek(0), Some(b'e' | b'E')) && self.peek(1 + sign).is_some_and(digit);
        if found {
            self.at += 1 + sign;
            self.skip_while(digit);
        }
        found
    }

    fn is_before_word(&self) -> bool {
        self.peek(0).is_some_and(is_word)
    }

    fn skip_while(&mut self, wanted: impl Fn(u8) -> bool) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let found = rest.iter().position(|b| !wanted(*b));
        self.at += found.unwrap_or(rest.len());
    }
}

/// Hints are comments, except that one may set variables, and that quotes may hide where it ends.
fn check_hint(body: &[u8]) -> Result<(), Unclear> {
    if body.iter().any(|b| matches!(b, b'\'' | b'"' | b'`')) {
        return Err(Unclear::new("hint with quotes"));
    }
    let upper = body.to_ascii_uppercase();
    let has = |word: &[u8]| upper.windows(word.len()).any(|w| w == word);
    match has(b"SET_VAR") || has(b"RESOURCE_GROUP") {
        true => Err(Unclear::new("hint that changes the session")),
        false => Ok(()),
    }
}

pub fn is_word(byte: u8) -> bool {
    WORD[usize::from(byte)]
}

/// Asked of every byte of a text.
const WORD: [bool; 256] = {
    let mut is_word = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        is_word[byte] =
            (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'_' | b'$' | 0x80..);
        byte += 1;
    }
    is_word
};

#[cfg(test)]
mod tests;
