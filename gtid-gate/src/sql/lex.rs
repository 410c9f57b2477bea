//! MySQL's lexical rules, as far as they decide what a statement is.
//!
//! In: statement text in UTF-8. Out: tokens that point into it, comments gone, the contents of executable
//! comments kept. Where servers or SQL modes read a text differently the answer is `Unclear`, which callers
//! must send to the master. Must never: take for a comment or a string what some MySQL 8.0–9.x executes.

/// What a token is. Double quotes are a string or, with ANSI_QUOTES, a name: callers must be safe either way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Word,
    Backtick,
    SingleQuoted,
    DoubleQuoted,
    Number,
    Symbol(u8),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
    /// Nothing stands between this token and the one before it.
    pub adjacent: bool,
}

/// Why a text can't be read with certainty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unclear(pub &'static str);

/// Which quotes let a backslash escape the next character; depends on sql_mode, which is not known here.
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

/// A statement of more words and signs is not looked at, so that its tokens take at most 24 MB (each 24 bytes).
const MOST_TOKENS: usize = 1_000_000;
const TOO_MANY: Unclear = Unclear("more than a million words and signs");

/// Reads a statement. With a backslash inside quotes it must read the same, or be an error, in every SQL mode.
pub fn tokens(sql: &str) -> Result<Lexed<'_>, Unclear> {
    // a NUL ends some comments
    if sql.contains('\0') {
        return Err(Unclear("nul byte"));
    }
    let mut lexer = Lexer::new(sql, DEFAULT);
    lexer.run()?;
    if lexer.escaped {
        for escapes in [ANSI_QUOTES, NO_BACKSLASH_ESCAPES] {
            let mut other = Lexer::new(sql, escapes);
            match other.run() {
                Ok(()) if other.tokens != lexer.tokens => {
                    return Err(Unclear("backslash whose meaning depends on sql_mode"));
                }
                Err(TOO_MANY) => return Err(TOO_MANY),
                _ => {}
            }
        }
    }
    Ok(Lexed {
        tokens: lexer.tokens,
        comments: lexer.comments,
    })
}

pub struct Lexed<'a> {
    pub tokens: Vec<Token>,
    /// What stands in comments that nothing executes.
    pub comments: Vec<&'a [u8]>,
}

struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    escapes: Escapes,
    tokens: Vec<Token>,
    comments: Vec<&'a [u8]>,
    in_executable_comment: bool,
    /// A backslash was seen inside quotes.
    escaped: bool,
}

impl<'a> Lexer<'a> {
    fn new(sql: &'a str, escapes: Escapes) -> Self {
        Self {
            text: sql.as_bytes(),
            at: 0,
            escapes,
            tokens: Vec::with_capacity((sql.len() / 5 + 4).min(MOST_TOKENS)),
            comments: Vec::new(),
            in_executable_comment: false,
            escaped: false,
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
            true => Err(Unclear("unfinished comment")),
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
            return Err(Unclear("comment inside an executable comment"));
        }
        match (self.peek(2), self.peek(3)) {
            (Some(b'!'), _) => self.open_executable_comment(),
            // MariaDB's own; a comment for MySQL, but a sign that the text was not written for it
            (Some(b'M'), Some(b'!')) => Err(Unclear("MariaDB's executable comment")),
            (Some(b'+'), _) => self.skip_comment().and_then(check_hint),
            _ => self.skip_comment().map(|body| self.comments.push(body)),
        }
    }

    /// `/*! …` always runs, `/*!ddddd …` on servers from that version; six digits mean different things to
    /// different servers.
    fn open_executable_comment(&mut self) -> Result<(), Unclear> {
        self.at += 3;
        let rest = &self.text[self.at..];
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let version = rest[..digits.min(5)].iter();
        let version = version.fold(0, |v, b| v * 10 + u32::from(b - b'0'));
        if !matches!(digits, 0 | 5) || version > OLDEST_SERVER {
            return Err(Unclear("comment that not every server executes"));
        }
        self.at += digits;
        self.in_executable_comment = true;
        Ok(())
    }

    fn skip_comment(&mut self) -> Result<&'a [u8], Unclear> {
        let body = &self.text[self.at + 2..];
        let length = body.windows(2).position(|w| w == b"*/");
        let length = length.ok_or(Unclear("unfinished comment"))?;
        self.at += length + 4;
        Ok(&body[..length])
    }

    fn token(&mut self, first: u8) -> Result<(), Unclear> {
        let start = self.at;
        let kind = match first {
            b'`' => self.quoted(b'`', false, Kind::Backtick)?,
            b'\'' => self.quoted(b'\'', self.escapes.single, Kind::SingleQuoted)?,
            b'"' => self.quoted(b'"', self.escapes.double, Kind::DoubleQuoted)?,
            b'0'..=b'9' => self.number()?,
            b'.' if self.peek(1).is_some_and(|b| b.is_ascii_digit()) => self.number()?,
            // from 9.0 on this can open a string
            b'$' => return Err(Unclear("name that starts with a dollar sign")),
            _ if is_word(first) => self.word(),
            b'\\' | 0..=0x1f | 0x7f => return Err(Unclear("character that no statement has")),
            _ => self.symbol(first),
        };
        let adjacent = self.tokens.last().is_some_and(|t| t.end == start);
        let end = self.at;
        if self.tokens.len() == MOST_TOKENS {
            return Err(TOO_MANY);
        }
        self.tokens.push(Token {
            kind,
            start,
            end,
            adjacent,
        });
        Ok(())
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
            match self.peek(0).ok_or(Unclear("unfinished quotes"))? {
                b'\\' if quote != b'`' => {
                    self.escaped = true;
                    self.at += usize::from(escapes);
                }
                byte if byte == quote => {
                    self.at += 1;
                    if self.peek(0) != Some(quote) {
                        return Ok(kind);
                    }
                }
                _ => {}
            }
        }
    }

    /// MySQL ends some numbers in front of a letter (`1.5FOR UPDATE` locks) and takes others for names.
    fn number(&mut self) -> Result<Kind, Unclear> {
        let radix_digits: Option<fn(u8) -> bool> = match (self.peek(0), self.peek(1)) {
            (Some(b'0'), Some(b'x')) => Some(|b| b.is_ascii_hexdigit()),
            (Some(b'0'), Some(b'b')) => Some(|b| matches!(b, b'0' | b'1')),
            _ => None,
        };
        match radix_digits {
            Some(digits) => {
                self.at += 2;
                self.skip_while(digits);
            }
            None => self.decimal(),
        }
        match self.peek(0) {
            Some(byte) if is_word(byte) => Err(Unclear("number that runs into a word")),
            _ => Ok(Kind::Number),
        }
    }

    fn decimal(&mut self) {
        let digit = |b: u8| b.is_ascii_digit();
        self.skip_while(digit);
        if self.peek(0) == Some(b'.') {
            self.at += 1;
            self.skip_while(digit);
        }
        if matches!(self.peek(0), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(self.peek(1), Some(b'+' | b'-')));
            if self.peek(1 + sign).is_some_and(digit) {
                self.at += 1 + sign;
                self.skip_while(digit);
            }
        }
    }

    fn skip_while(&mut self, wanted: impl Fn(u8) -> bool) {
        while self.peek(0).is_some_and(&wanted) {
            self.at += 1;
        }
    }
}

/// Hints are comments, except that one may set variables, and that quotes may hide where it ends.
fn check_hint(body: &[u8]) -> Result<(), Unclear> {
    if body.iter().any(|b| matches!(b, b'\'' | b'"' | b'`')) {
        return Err(Unclear("hint with quotes"));
    }
    let upper = body.to_ascii_uppercase();
    let has = |word: &[u8]| upper.windows(word.len()).any(|w| w == word);
    match has(b"SET_VAR") || has(b"RESOURCE_GROUP") {
        true => Err(Unclear("hint that changes the session")),
        false => Ok(()),
    }
}

pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bulk_insert_does_not_take_memory_for_each_of_its_words() {
        let bulk = format!("INSERT INTO t VALUES {}", "(1),".repeat(MOST_TOKENS / 4));
        assert_eq!(tokens(&bulk).err(), Some(TOO_MANY));
    }

    #[test]
    fn too_many_words_in_another_sql_mode_only_are_too_many() {
        let hidden = "1 ".repeat(MOST_TOKENS);
        let sql = format!("SELECT '\\'{hidden}' -- '");
        assert_eq!(tokens(&sql).err(), Some(TOO_MANY));
    }
}
