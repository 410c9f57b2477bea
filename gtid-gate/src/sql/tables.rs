//! The tables that a statement names, to be shown to people. Decides nothing.
//!
//! In: a statement's text. Out: names as they stand there, where the grammar has a table; those that WITH defines are left out where they
//! are known. Must never: be taken for all that a statement may read (`names` is for that).

use super::lex::{self, Kind};
use super::mode::Mode;
use super::tokens::{Lower, Tokens};
use std::collections::{HashMap, HashSet};

/// First words of statements that have several tables after TABLE.
const SEVERAL: [&str; 7] = [
    "drop", "rename", "analyze", "check", "checksum", "optimize", "repair",
];
/// Reserved words that end a list of tables.
const ENDS: [&str; 14] = [
    "where",
    "group",
    "having",
    "order",
    "limit",
    "set",
    "window",
    "for",
    "into",
    "union",
    "except",
    "intersect",
    "update",
    "drop",
];

/// Each once, in the order of the text.
pub fn named_tables(sql: &str) -> Vec<String> {
    let Ok(lexed) = lex::tokens(sql, Mode::Unknown) else {
        return Vec::new();
    };
    let list = &lexed.tokens;
    let tokens = Tokens { sql, list };
    let mut found = match tokens.is(0, "show") {
        true => shown(tokens.from(1)),
        false => Walk::new(tokens).found(),
    };
    let mut seen = HashSet::new();
    found.retain(|name| seen.insert(name.clone()));
    found
}

/// `CREATE TABLE t`, `COLUMNS FROM t [FROM schema]`
fn shown(mut rest: Tokens) -> Vec<String> {
    while rest.eat("full") || rest.eat("extended") {}
    let created = rest.is(0, "create") && rest.is_any(1, &["table", "view"]);
    let of_table = rest.is_any(0, &["columns", "fields", "index", "indexes", "keys"]);
    let Some((name, end)) = table(&rest, 2).filter(|_| created || of_table) else {
        return Vec::new();
    };
    match rest
        .name(end + 1)
        .filter(|_| rest.is_any(end, &["from", "in"]))
    {
        Some(schema) => vec![format!("{schema}.{name}")],
        None => vec![name],
    }
}

/// `[schema.]table[.*]` and where it ends.
fn table(tokens: &Tokens, at: usize) -> Option<(String, usize)> {
    let first = tokens.name(at)?;
    let dotted = tokens.is_symbol(at + 1, b'.');
    match tokens.name(at + 2).filter(|_| dotted) {
        Some(second) => Some((format!("{first}.{second}"), at + 3)),
        None => Some((first, at + 1)),
    }
}

/// What may come next between two parentheses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The first word of a statement.
    Start,
    /// A table of a list.
    Tables,
    /// The only table.
    Table,
    /// After a table of a list: a comma or a join leads to the next one.
    AfterTable,
    Elsewhere,
}

/// What stands between two parentheses, or outside of all.
struct Level {
    place: Place,
    /// It is a query, so that FROM is followed by tables: in EXTRACT or TRIM it is not.
    is_query: bool,
    /// The name that WITH gives to what stands in it.
    defines: Option<String>,
    /// Names that WITH has defined for this level and those in it.
    defined: Vec<String>,
}

impl Level {
    fn new(place: Place) -> Self {
        Self {
            place,
            is_query: false,
            defines: None,
            defined: Vec::new(),
        }
    }
}

/// One look at each token, from the first to the last.
struct Walk<'a> {
    tokens: Tokens<'a>,
    at: usize,
    level: Level,
    outer: Vec<Level>,
    found: Vec<String>,
    /// How often each name is defined here.
    defined: HashMap<String, usize>,
    /// Where in `found` begins what DELETE FROM has: only aliases, if USING follows.
    targets: Option<usize>,
}

impl<'a> Walk<'a> {
    fn new(tokens: Tokens<'a>) -> Self {
        Self {
            tokens,
            at: 0,
            level: Level::new(Place::Start),
            outer: Vec::new(),
            found: Vec::new(),
            defined: HashMap::new(),
            targets: None,
        }
    }

    fn found(mut self) -> Vec<String> {
        while self.at < self.tokens.list.len() {
            match self.tokens.kind(self.at) {
                Some(Kind::Symbol(symbol)) => self.symbol(symbol),
                Some(Kind::Word) if !self.tokens.is_symbol(self.at.wrapping_sub(1), b'.') => {
                    self.word();
                }
                Some(Kind::Word | Kind::Backtick | Kind::DoubleQuoted) => self.name(),
                _ => self.at += 1,
            }
        }
        self.found
    }

    fn symbol(&mut self, symbol: u8) {
        self.at += 1;
        match (symbol, self.level.place) {
            (b'(', place @ (Place::Start | Place::Tables)) => self.open(Level::new(place)),
            (b'(', _) => self.open(Level::new(Place::Elsewhere)),
            (b')', _) => self.close(),
            (b',', Place::AfterTable) => self.level.place = Place::Tables,
            // `{ OJ a LEFT JOIN b … }`
            (b'{', Place::Tables) => self.at += 1,
            _ => {}
        }
    }

    fn open(&mut self, level: Level) {
        self.outer.push(std::mem::replace(&mut self.level, level));
    }

    fn close(&mut self) {
        let Some(outer) = self.outer.pop() else {
            return;
        };
        let inner = std::mem::replace(&mut self.level, outer);
        for name in inner.defined {
            if let Some(count) = self.defined.get_mut(&name) {
                *count -= 1;
            }
        }
        if let Some(name) = inner.defines {
            self.define(name);
            if self.tokens.is_symbol(self.at, b',') {
                self.define_in_parentheses(self.at + 1, false);
            }
        } else if self.level.place == Place::Tables {
            self.level.place = Place::AfterTable;
        }
    }

    /// From here on until this level ends.
    fn define(&mut self, name: String) {
        *self.defined.entry(name.clone()).or_default() += 1;
        self.level.defined.push(name);
    }

    /// `name [(column, …)] AS (`; a recursive one is known inside as well.
    fn define_in_parentheses(&mut self, at: usize, recursive: bool) {
        let Some(name) = self.tokens.name(at) else {
            return;
        };
        let mut end = at + 1;
        if self.tokens.is_symbol(end, b'(') {
            let is_column =
                |at: &usize| self.tokens.name(*at).is_some() || self.tokens.is_symbol(*at, b',');
            end += 2 + (end + 1..).take_while(is_column).count();
        }
        if !(self.tokens.is(end, "as") && self.tokens.is_symbol(end + 1, b'(')) {
            return;
        }
        self.level.place = Place::Start;
        self.at = end + 2;
        let mut inner = Level::new(Place::Start);
        inner.defines = Some(name.clone());
        self.open(inner);
        if recursive {
            self.define(name);
        }
    }

    fn word(&mut self) {
        let word = Lower::new(self.tokens.word(self.at));
        let begins = self.level.place == Place::Start || self.after_any(&["row", "do"]);
        match (word.as_str(), self.level.place) {
            ("select", _) => {
                self.level.is_query = true;
                self.go_on(Place::Elsewhere);
            }
            ("from", _) if self.level.is_query => self.go_on(Place::Tables),
            ("from", _) => self.go_on(Place::Elsewhere),
            ("with", _) => {
                self.go_on(Place::Elsewhere);
                let recursive = self.tokens.is(self.at, "recursive");
                self.define_in_parentheses(self.at + usize::from(recursive), recursive);
            }
            ("table", _) => self.after_table_word(),
            ("join" | "straight_join", Place::AfterTable) => self.go_on(Place::Tables),
            ("to", Place::AfterTable) if self.tokens.is(0, "rename") => self.go_on(Place::Tables),
            ("using", Place::AfterTable) if self.outer.is_empty() => self.using(),
            // of an index hint
            ("for", Place::AfterTable) if self.next_any(&["join", "order", "group"]) => {
                self.at += 2;
            }
            (word, Place::AfterTable) if ENDS.contains(&word) => self.go_on(Place::Elsewhere),
            ("lateral", Place::Tables) => self.at += 1,
            ("dual", Place::Tables) => self.go_on(Place::AfterTable),
            ("json_table", Place::Tables) if self.tokens.is_symbol(self.at + 1, b'(') => {
                self.go_on(Place::AfterTable);
            }
            (_, Place::Tables | Place::Table) => self.name(),
            (word, _) if begins => self.first(word),
            _ => self.at += 1,
        }
    }

    fn go_on(&mut self, place: Place) {
        self.level.place = place;
        self.at += 1;
    }

    fn after_any(&self, words: &[&str]) -> bool {
        self.tokens.is_any(self.at.wrapping_sub(1), words)
    }

    fn next_any(&self, words: &[&str]) -> bool {
        self.tokens.is_any(self.at + 1, words)
    }

    fn skip(&mut self, words: &[&str]) {
        while self.tokens.is_any(self.at, words) {
            self.at += 1;
        }
    }

    /// The first word of a statement, but for those that are the same anywhere.
    fn first(&mut self, word: &str) {
        let is_function = self.tokens.is_symbol(self.at + 1, b'(');
        self.go_on(match word {
            "insert" | "replace" | "truncate" | "handler" if !is_function => Place::Table,
            "update" => Place::Tables,
            _ => Place::Elsewhere,
        });
        match word {
            "insert" | "replace" => {
                self.skip(&["low_priority", "high_priority", "delayed", "ignore", "into"])
            }
            "update" => self.skip(&["low_priority", "ignore"]),
            "delete" => self.delete(),
            "truncate" => self.skip(&["table"]),
            "lock" | "flush" => self.lock(),
            "explain" | "describe" | "desc" => self.explain(),
            // what they name may be anything
            "grant" | "revoke" => self.at = self.tokens.list.len(),
            _ => {}
        }
    }

    /// What stands before FROM is named again after it.
    fn delete(&mut self) {
        self.skip(&["low_priority", "quick", "ignore"]);
        self.level.is_query = true;
        self.targets = self.tokens.is(self.at, "from").then_some(self.found.len());
    }

    /// Of DELETE FROM, which names tables again after it, or of a join.
    fn using(&mut self) {
        match self.targets.take() {
            Some(count) => {
                self.found.truncate(count);
                self.go_on(Place::Tables);
            }
            None => self.at += 1,
        }
    }

    fn lock(&mut self) {
        self.skip(&["no_write_to_binlog", "local"]);
        if self.tokens.is_any(self.at, &["table", "tables"]) {
            self.go_on(Place::Tables);
        }
    }

    /// A statement follows, or a table.
    fn explain(&mut self) {
        self.skip(&["analyze", "extended", "partitions"]);
        if self.tokens.is(self.at, "format") && self.tokens.is_symbol(self.at + 1, b'=') {
            self.at += 3;
        }
        let statements = [
            "select", "with", "table", "values", "insert", "replace", "update", "delete", "for",
            "into",
        ];
        let is_statement =
            self.tokens.is_any(self.at, &statements) || self.tokens.is_symbol(self.at, b'(');
        self.level.place = if is_statement {
            Place::Start
        } else {
            Place::Table
        };
    }

    fn after_table_word(&mut self) {
        let several = self.outer.is_empty() && self.tokens.is_any(0, &SEVERAL);
        self.go_on(if several { Place::Tables } else { Place::Table });
        self.skip(&["if", "not", "exists"]);
    }

    /// A table, if one may stand here.
    fn name(&mut self) {
        let place = self.level.place;
        let may = matches!(place, Place::Tables | Place::Table);
        let Some((name, end)) = table(&self.tokens, self.at).filter(|_| may) else {
            self.at += 1;
            return;
        };
        self.at = end;
        if self.defined.get(&name).is_none_or(|count| *count == 0) {
            self.found.push(name);
        }
        let like = self.at + usize::from(self.tokens.is_symbol(self.at, b'('));
        if place == Place::Tables {
            self.level.place = Place::AfterTable;
        } else if self.tokens.is(0, "create") && self.tokens.is(like, "like") {
            self.at = like + 1;
        } else {
            self.level.place = Place::Elsewhere;
        }
    }
}

#[cfg(test)]
mod tests;
