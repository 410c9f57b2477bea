//! Which tables a query may read: every name in it that a table could have.
//!
//! In: the tokens of a query. Out: its names, each with the schema that stands before it. Columns, aliases and functions are
//! among them: who looks them up finds no table of that name, or one more table than the query reads. Letters are folded to
//! lower case here and where tables are looked up, so that `lower_case_table_names` makes no difference.
//! Must never: leave out a name that may be a table's.

use super::lex;
use super::mode::Mode;
use super::tokens::Tokens;
use std::collections::BTreeSet;

/// MySQL's identifiers have at most 64 characters of at most four bytes.
const LONGEST_NAME: usize = 256;
/// A query with more names is taken for one that reads everything.
const MOST_NAMES: usize = 500;

/// Reserved words that most queries have: unquoted and not after a dot they are no names.
const RESERVED: [&str; 43] = [
    "all", "and", "as", "asc", "between", "by", "case", "cross", "desc", "distinct", "dual",
    "else", "exists", "false", "for", "from", "group", "having", "in", "inner", "is", "join",
    "left", "like", "limit", "natural", "not", "null", "on", "or", "order", "outer", "right",
    "select", "table", "then", "true", "union", "use", "using", "when", "where", "with",
];

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// Nothing: in the current schema.
    pub schema: Option<Box<str>>,
    pub table: Box<str>,
}

/// The names of one query, sorted.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Names {
    pub list: Vec<Name>,
    /// The number of the query's digest; 0 for what is no query.
    pub digest: u64,
    /// All of them are in ASCII, where servers agree on what is upper and lower case.
    pub ascii: bool,
}

/// The form in which names of schemas and tables are compared.
pub fn folded(name: &str) -> String {
    name.to_lowercase()
}

impl Names {
    /// About what they take in memory.
    pub fn bytes(&self) -> usize {
        let name =
            |n: &Name| size_of::<Name>() + n.table.len() + n.schema.as_ref().map_or(0, |s| s.len());
        self.list.iter().map(name).sum()
    }
}

/// Nothing if there are too many.
pub fn names(tokens: &Tokens) -> Option<Names> {
    let mut found = BTreeSet::new();
    for name in (0..tokens.list.len()).filter_map(|at| name(tokens, at)) {
        found.insert(name);
        if found.len() > MOST_NAMES {
            return None;
        }
    }
    let ascii = |n: &Name| n.table.is_ascii() && n.schema.as_ref().is_none_or(|s| s.is_ascii());
    let ascii = found.iter().all(ascii);
    Some(Names {
        list: found.into_iter().collect(),
        digest: 0,
        ascii,
    })
}

/// The tables in a list like `a,db.b`.
pub fn listed(text: &str) -> Option<Names> {
    let lexed = lex::tokens(text, Mode::Unknown)
        .ok()
        .filter(|l| l.comments.is_empty())?;
    let tokens = Tokens {
        sql: text,
        list: &lexed.tokens,
    };
    let is_table = |t: &Tokens| match t.list.len() {
        1 => t.name(0).is_some(),
        3 => t.name(0).is_some() && t.is_symbol(1, b'.') && t.name(2).is_some(),
        _ => false,
    };
    let all = tokens.split(b',').iter().all(is_table);
    names(&tokens).filter(|_| all)
}

fn name(tokens: &Tokens, at: usize) -> Option<Name> {
    let after_dot = at > 0 && tokens.is_symbol(at - 1, b'.');
    if !after_dot && is_reserved(tokens, at) {
        return None;
    }
    let table = table(tokens, at)?;
    let schema = match at > 1 && after_dot && !is_reserved(tokens, at - 2) {
        true => self::table(tokens, at - 2),
        false => None,
    };
    Some(Name { schema, table })
}

fn is_reserved(tokens: &Tokens, at: usize) -> bool {
    tokens.is_any(at, &RESERVED) && !tokens.begins_longer_name(at)
}

fn table(tokens: &Tokens, at: usize) -> Option<Box<str>> {
    let name = tokens.name(at)?;
    (!name.is_empty() && name.len() <= LONGEST_NAME).then(|| folded(&name).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sql: &str) -> Vec<String> {
        let list = &lex::tokens(sql, Mode::Unknown).ok().unwrap().tokens;
        let names = names(&Tokens { sql, list }).unwrap();
        let shown = |n: &Name| match &n.schema {
            Some(schema) => format!("{schema}.{}", n.table),
            None => n.table.to_string(),
        };
        names.list.iter().map(shown).collect()
    }

    #[test]
    fn every_name_that_may_be_a_tables_is_found() {
        for (sql, expected) in [
            ("SELECT a FROM T WHERE b = 'c'", "a b t"),
            ("SELECT t.a FROM db.t", "db t db.t t.a"),
            ("SELECT 1 FROM `My``Tab` JOIN \"x y\"", "my`tab x y"),
            ("SELECT 1 FROM db . t", "db db.t"),
            ("SELECT 1 FROM .t", "t"),
            ("SELECT 1 FROM a.b.c", "a a.b b.c"),
            ("SELECT 1 FROM db.select, `from`", "db from db.select"),
            ("SELECT 1 FROM `from`.t", "from from.t"),
            ("TABLE t", "t"),
            (
                "SELECT 1 FROM select.t, dual.u",
                "dual select dual.u select.t",
            ),
            ("SELECT 1 FROM logs.2024, 2024t", "2024t logs logs.2024"),
            ("SELECT a.1e5 FROM d.0x1 a, $t", "$t a d a.1e5 d.0x1"),
            ("SELECT 1 FROM /*!80000 t, */ u", "t u"),
            ("SELECT 1 FROM Äpfel", "äpfel"),
        ] {
            assert_eq!(found(sql).join(" "), expected, "{sql}");
        }
    }

    #[test]
    fn a_list_of_tables_is_nothing_else() {
        assert_eq!(listed("a,db.`B c`").unwrap().list.len(), 3);
        for text in ["", "a,", "a b", "a.b.c", "1", "a;b", "a,'b'", "a/* */"] {
            assert!(listed(text).is_none(), "{text}");
        }
    }

    #[test]
    fn names_of_other_letters_are_known_as_such() {
        let of = |sql: &str| {
            let list = &lex::tokens(sql, Mode::Unknown).ok().unwrap().tokens;
            names(&Tokens { sql, list })
        };
        assert!(of("SELECT 'ä' FROM t").unwrap().ascii);
        assert!(!of("SELECT 1 FROM ä").unwrap().ascii);
        let many: Vec<String> = (0..=MOST_NAMES).map(|n| format!("c{n}")).collect();
        assert_eq!(of(&format!("SELECT {}", many.join(","))), None);
    }
}
