//! What a view or a stored function uses: whether it asks about the session that reads through it, or touches it. Pure.
//!
//! In: its text, as capture publishes it: without values and comments, names in backticks where they need it. Out: what in it is not
//! proven harmless, the stored functions that it calls, and the names that may be views.
//! Must never: call harmless what it can't read, or leave out a function that it calls or a view that it reads.

use super::class::Class;
use super::lex::{self, Kind};
use super::mode::Mode;
use super::names::{self, Name, folded};
use super::ties::{self, Ties};
use super::tokens::{Lower, Tokens};
use super::{functions, routine, select};

/// MySQL's own functions that ask about the session or the server, or change something. By their bare name, quoted or not, these are
/// called even where a stored function has the same name (measured with MySQL 9.7).
const NATIVE: [&str; 22] = [
    "benchmark",
    "connection_id",
    "found_rows",
    "get_lock",
    "is_free_lock",
    "is_used_lock",
    "last_insert_id",
    "load_file",
    "master_pos_wait",
    "ps_current_thread_id",
    "ps_thread_id",
    "release_all_locks",
    "release_lock",
    "roles_graphml",
    "row_count",
    "session_user",
    "source_pos_wait",
    "system_user",
    "user",
    "uuid_short",
    "wait_for_executed_gtid_set",
    "wait_until_sql_thread_after_gtids",
];

/// Reserved words of a function's body that may stand before a parenthesis.
const BODY: [&str; 7] = [
    "elseif",
    "mediumint",
    "return",
    "set",
    "smallint",
    "tinyint",
    "while",
];

/// What a definition uses.
#[derive(Debug, PartialEq, Eq)]
pub struct Uses {
    /// What of it may ask about the session or touch it, for people.
    pub asks: Option<Box<str>>,
    /// What it needs of the session's connection.
    pub ties: Ties,
    /// Functions that are not known to be MySQL's own; without a schema: of the definition's own.
    pub calls: Vec<Name>,
    /// What may be views. Without a schema: of the definition's own.
    pub names: Vec<Name>,
}

impl Uses {
    /// A view's text has each name in backticks, and each table with its schema.
    pub fn of_view(text: &str) -> Self {
        let mut uses = Self::of(text, |_| Ok(()));
        uses.names.retain(|name| name.schema.is_some());
        uses
    }

    pub fn of_function(text: &str, parameters: &[&str]) -> Self {
        Self::of(text, |body| routine::check(body, parameters))
    }

    fn of(text: &str, check: impl Fn(Tokens) -> Result<(), Box<str>>) -> Self {
        let lexed = match lex::tokens(text, Mode::Unknown) {
            Ok(lexed) => lexed,
            Err(unclear) => return Self::asking(unclear.reason.into(), Ties::NONE),
        };
        let list = &lexed.tokens;
        let tokens = Tokens { sql: text, list };
        let ties = ties::ties(&Class::Write(""), &tokens);
        let mut calls = Vec::new();
        let screened = (0..list.len()).try_for_each(|at| token(&tokens, at, &mut calls));
        if let Err(asks) = screened.and_then(|()| check(tokens)) {
            return Self::asking(asks, ties);
        }
        match names::names(&tokens) {
            Some(names) => Self {
                asks: None,
                ties,
                calls,
                names: names.list,
            },
            None => Self::asking("too many names".into(), ties),
        }
    }

    fn asking(what: Box<str>, ties: Ties) -> Self {
        Self {
            asks: Some(what),
            ties,
            calls: Vec::new(),
            names: Vec::new(),
        }
    }
}

fn token(tokens: &Tokens, at: usize, calls: &mut Vec<Name>) -> Result<(), Box<str>> {
    if tokens.is_symbol(at + 1, b'.')
        && let Some(name) = tokens.name(at)
        && let Some(reason) = select::of_server(tokens, at, &name)
    {
        return Err(reason.into());
    }
    let called = tokens.is_symbol(at + 1, b'(');
    match tokens.kind(at) {
        Some(Kind::Symbol(b'@')) if tokens.is_symbol(at + 1, b'@') => Err("system variable".into()),
        Some(Kind::Symbol(b'@')) => Err("user variable".into()),
        Some(Kind::DoubleQuoted) => Err("double quotes".into()),
        Some(Kind::Number) if called => Err("number used as a function's name".into()),
        Some(Kind::Word | Kind::Backtick) if called => call(tokens, at, calls),
        Some(Kind::Word) => word(tokens, at).map_err(Into::into),
        _ => Ok(()),
    }
}

fn word(tokens: &Tokens, at: usize) -> Result<(), &'static str> {
    match Lower::new(tokens.word(at)).as_str() {
        "for" if tokens.is_any(at + 1, &["update", "share"]) => Err("locking read"),
        "lock" => Err("locking read"),
        "outfile" | "dumpfile" => Err("INTO"),
        "sql_calc_found_rows" => Err("SQL_CALC_FOUND_ROWS"),
        _ => Ok(()),
    }
}

/// A name before a parenthesis: part of the grammar, a harmless function of MySQL's, another one's, or a stored function.
fn call(tokens: &Tokens, at: usize, calls: &mut Vec<Name>) -> Result<(), Box<str>> {
    let Some(name) = tokens.name(at).map(|n| folded(&n)) else {
        return Err("name that is not understood".into());
    };
    let mut calls_stored = |schema: Option<String>| {
        calls.push(Name {
            schema: schema.map(Into::into),
            table: name.as_str().into(),
        });
        Ok(())
    };
    if at > 0 && tokens.is_symbol(at - 1, b'.') {
        let schema = at.checked_sub(2).and_then(|at| tokens.name(at));
        return calls_stored(schema.map(|s| folded(&s)));
    }
    let own = functions::needs_adjacent_parenthesis(&name);
    let adjacent = tokens.list.get(at + 1).is_some_and(|t| t.adjacent);
    let quoted = tokens.kind(at) == Some(Kind::Backtick);
    match name.as_str() {
        native if NATIVE.binary_search(&native).is_ok() => {
            Err(format!("{}()", native.to_uppercase()).into())
        }
        "insert" | "replace" if !quoted => Ok(()),
        word if !quoted && BODY.contains(&word) => Ok(()),
        "until" if at > 0 && tokens.is_symbol(at - 1, b';') => Ok(()),
        _ if !quoted && own && adjacent => Ok(()),
        name if !quoted && !own && functions::is_harmless(name) => Ok(()),
        _ if select::lists_columns(tokens, at) => Ok(()),
        _ => calls_stored(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(text: &str) -> Option<String> {
        Uses::of_view(text).asks.map(Into::into)
    }

    /// As MySQL 9.7 prints them in information_schema.
    #[test]
    fn a_view_that_reads_tables_by_harmless_functions_asks_nothing() {
        for text in [
            "select `d`.`t`.`id` AS `id` from `d`.`t`",
            "with `c` (`a`,`b`) as (select 1 AS `1`,2 AS `2` union all select 3 AS `3`,4 AS `4`) select `c`.`a` AS `a`,`c`.`b` AS `b` \
             from (`c` join (select 5 AS `5`,6 AS `6`) `d` (`x`,`y`))",
            "select cast(`d`.`t`.`v` as char(3) charset latin1) AS `c`,(now() + interval 1 day) AS `d`,extract(year from now()) AS `e`,\
             group_concat(`d`.`t`.`v` order by `d`.`t`.`id` ASC separator '') AS `g`,trim(both '' from `d`.`t`.`v`) AS `tr`,\
             json_value(`d`.`t`.`j`, '' returning char(512)) AS `j`,json_unquote(json_extract(`d`.`t`.`j`,'')) AS `u`,\
             regexp_like(`d`.`t`.`v`,'') AS `r` from `d`.`t` group by `d`.`t`.`id`",
            "select current_user() AS `cu`,row_number() OVER `w` AS `rn`,1 member of ('') AS `m` from `d`.`t` \
             window `w` AS (PARTITION BY `d`.`t`.`id` )",
            "select `information_schema`.`views`.`TABLE_NAME` AS `n` from `information_schema`.`views`",
        ] {
            let uses = Uses::of_view(text);
            assert!(
                uses.asks.is_none() && uses.calls.is_empty(),
                "{text}: {uses:?}"
            );
        }
    }

    #[test]
    fn a_view_that_asks_about_the_session_or_the_server_says_what() {
        for (text, expected) in [
            ("select last_insert_id() AS `l`", "LAST_INSERT_ID()"),
            ("select get_lock('',0) AS `g`", "GET_LOCK()"),
            ("select row_count() AS `r`", "ROW_COUNT()"),
            ("select found_rows() AS `r`", "FOUND_ROWS()"),
            ("select connection_id() AS `c`", "CONNECTION_ID()"),
            ("select user() AS `u`", "USER()"),
            ("select `user`() AS `u`", "USER()"),
            ("select 1 AS `a` where (@x = 1)", "user variable"),
            ("select @@sql_mode AS `a`", "system variable"),
            (
                "select `performance_schema`.`threads`.`NAME` AS `n` from `performance_schema`.`threads`",
                "table about the server",
            ),
            (
                "select `p`.`ID` AS `ID` from `information_schema`.`PROCESSLIST` `p`",
                "information_schema about the server",
            ),
            ("select `a` AS `b` from `d`.`t` for update", "locking read"),
        ] {
            assert_eq!(asks(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn stored_functions_and_views_are_found_wherever_they_stand() {
        let shown = |names: &[Name]| -> Vec<String> {
            let schema = |n: &Name| n.schema.as_deref().unwrap_or("-").to_owned();
            names
                .iter()
                .map(|n| format!("{}.{}", schema(n), n.table))
                .collect()
        };
        let view = Uses::of_view(
            "select `d`.`t`.`id` AS `id` from `d`.`t` where (`d`.`t`.`id` = (`P`() + `o`.`q`(1)))",
        );
        assert_eq!(shown(&view.calls), ["-.p", "o.q"]);
        assert!(shown(&view.names).contains(&"d.t".to_owned()));
        let unknown = Uses::of_view("select some_new_function() AS `x`");
        assert_eq!(shown(&unknown.calls), ["-.some_new_function"]);
        let body = "begin declare n int; select count(*) into n from v where id > a; return n + p () + count (n); end";
        let function = Uses::of_function(body, &["a"]);
        assert_eq!(shown(&function.calls), ["-.p", "-.count"]);
        assert!(shown(&function.names).contains(&"-.v".to_owned()));
        let body = "begin declare n tinyint(1); while (a) do set a = a - 1; end while; repeat set a = a + 1; until (a > 3) end repeat; \
                    if (a) then return (select max(v) from t); elseif (n) then return(1); end if; return 2; end";
        assert!(Uses::of_function(body, &["a"]).calls.is_empty());
        for body in [
            "return @p",
            "return connection_id ()",
            "begin set a = row_count(); return a; end",
            "return (select 1 from t for share)",
        ] {
            assert!(Uses::of_function(body, &["a"]).asks.is_some(), "{body}");
        }
    }

    #[test]
    fn the_list_is_sorted() {
        assert!(NATIVE.is_sorted());
    }
}
