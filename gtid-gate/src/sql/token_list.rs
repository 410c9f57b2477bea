//! The tokens of a text, without what only makes its lists of values longer.
//!
//! In: tokens in their order. Out: the same, but of values between commas in parentheses the third and all later ones are gone, and so
//! are the third and all later rows of values: what a statement is does not depend on them, and a text of a megabyte takes little memory.
//! Must never: drop what may be a name.

/// What a token is. Double quotes are a string or, with ANSI_QUOTES, a name: `DoubleQuoted` may be either. Where the mode is known, a
/// string is `SingleQuoted` and a name `Backtick`, whatever its quotes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Also a name that begins with digits, and whatever stands right after a dot.
    Word,
    Backtick,
    SingleQuoted,
    DoubleQuoted,
    Number,
    Symbol(u8),
}

/// 12 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    pub kind: Kind,
    /// Nothing stands between this token and the one before it.
    pub adjacent: bool,
    pub start: u32,
    pub end: u32,
}

impl Token {
    pub fn range(&self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Of values and of rows, so many of each list are kept.
const KEPT: usize = 2;
/// No value has more tokens: signs, a character set, a radix, the value.
const LONGEST_VALUE: usize = 5;
/// Words that are values.
const CONSTANTS: [&str; 4] = ["null", "true", "false", "default"];

#[derive(Default)]
pub(super) struct TokenList {
    pub tokens: Vec<Token>,
    /// Where what stands between two commas or parentheses begins.
    element: usize,
    /// Values that stand before it in this list.
    values: usize,
    /// The parenthesis that was opened last, if only values have followed it.
    opened: Option<usize>,
    /// Rows of values that stand one after the other, and where the last of them ends.
    rows: usize,
    rows_end: usize,
}

impl TokenList {
    pub fn with_room(bytes: usize) -> Self {
        Self {
            tokens: Vec::with_capacity((bytes / 5 + 4).min(256)),
            ..Self::default()
        }
    }

    pub fn push(&mut self, token: Token, text: &[u8]) {
        match token.kind {
            Kind::Symbol(b'(') => {
                self.open();
                self.tokens.push(token);
                self.element = self.tokens.len();
            }
            Kind::Symbol(b',') => {
                self.end_element(text);
                self.tokens.push(token);
                self.element = self.tokens.len();
            }
            Kind::Symbol(b')') => {
                self.end_element(text);
                self.tokens.push(token);
                self.close();
            }
            _ => self.tokens.push(token),
        }
    }

    fn open(&mut self) {
        let at = self.tokens.len();
        let follows_row = self.rows > 0 && self.rows_end + 1 == at && self.is_symbol(at - 1, b',');
        self.rows = if follows_row { self.rows } else { 0 };
        self.opened = Some(at);
        self.values = 0;
    }

    fn is_symbol(&self, at: usize, symbol: u8) -> bool {
        self.tokens.get(at).map(|t| t.kind) == Some(Kind::Symbol(symbol))
    }

    /// A comma or a parenthesis follows.
    fn end_element(&mut self, text: &[u8]) {
        let element = self.tokens.get(self.element..).unwrap_or_default();
        if !is_value(element, text) {
            (self.values, self.opened) = (0, None);
            return;
        }
        self.values += 1;
        if self.values > KEPT {
            self.values = KEPT;
            self.tokens.truncate(self.element - 1);
        }
    }

    fn close(&mut self) {
        self.values = 0;
        self.rows = self.opened.map_or(0, |_| self.rows + 1);
        if let Some(opened) = self.opened.take()
            && self.rows > KEPT
        {
            self.rows = KEPT;
            self.tokens.truncate(opened - 1);
        }
        self.rows_end = self.tokens.len();
        // what follows a parenthesis is no value of the list around it
        self.element = self.rows_end - 1;
    }
}

/// Signs and one value, which may have its character set or its radix before it.
fn is_value(element: &[Token], text: &[u8]) -> bool {
    if let [only] = element
        && matches!(
            only.kind,
            Kind::Number | Kind::SingleQuoted | Kind::Symbol(b'?')
        )
    {
        return true;
    }
    if element.len() > LONGEST_VALUE {
        return false;
    }
    let is_sign = |t: &&Token| matches!(t.kind, Kind::Symbol(b'+' | b'-'));
    let signs = element.iter().take_while(is_sign).count();
    let word = |t: &Token| text.get(t.range()).unwrap_or_default();
    let is_charset = |t: &Token| t.kind == Kind::Word && word(t).starts_with(b"_");
    let is_radix = |t: &Token| {
        t.kind == Kind::Word && matches!(word(t), [b'x' | b'X' | b'b' | b'B' | b'n' | b'N'])
    };
    let is_string = |t: &Token| t.kind == Kind::SingleQuoted;
    match &element[signs..] {
        [only] => match only.kind {
            Kind::Number | Kind::SingleQuoted | Kind::Symbol(b'?') => true,
            Kind::Word => CONSTANTS
                .iter()
                .any(|c| word(only).eq_ignore_ascii_case(c.as_bytes())),
            _ => false,
        },
        [before, value] if is_radix(before) => is_string(value) && value.adjacent,
        [before, value] => is_charset(before) && (is_string(value) || value.kind == Kind::Number),
        [charset, radix, value] => {
            is_charset(charset) && is_radix(radix) && is_string(value) && value.adjacent
        }
        _ => false,
    }
}
