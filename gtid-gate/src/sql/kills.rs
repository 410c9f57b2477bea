//! What MySQL was at when it did not know the connection that KILL names, and what stands behind that.
//!
//! In: a text and how many results came before the error, or a routine's body. Out: which KILL it is, and what did not run.
//! Must never: name a statement that is not certain.

use super::lex;
use super::mode::Mode;
use super::tokens::Tokens;

/// They may give several results, or none that counts.
const MANY_RESULTS: [&str; 2] = ["call", "execute"];
const LOOPS: [&str; 3] = ["loop", "while", "repeat"];

#[derive(Debug, PartialEq, Eq)]
pub enum FailedKill {
    /// `behind`: where the statements that follow it begin.
    Kill {
        query_only: bool,
        behind: Option<usize>,
    },
    /// A procedure, alone or at the end of the text.
    Call {
        schema: Option<String>,
        name: String,
    },
    /// A statement that was prepared before, alone or at the end.
    Execute,
    /// The error is not KILL's: EXPLAIN FOR CONNECTION has it, too.
    Other,
    Unknown,
}

/// The only KILL of a routine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KillOfRoutine {
    pub query_only: bool,
    /// The routine does nothing behind it.
    pub is_last: bool,
}

pub fn failed_kill(sql: &str, results: usize) -> FailedKill {
    let Ok(lexed) = lex::tokens(sql, Mode::Unknown) else {
        return FailedKill::Unknown;
    };
    let list = &lexed.tokens;
    let statements = Tokens { sql, list }.split_statements();
    let (before, from) = statements.split_at(results.min(statements.len()));
    let [failed, behind @ ..] = from else {
        return FailedKill::Unknown;
    };
    let starts_of = |statement: &Tokens| statement.list.first().map(|token| token.range().start);
    if before.iter().any(|s| s.is_any(0, &MANY_RESULTS)) {
        return FailedKill::Unknown;
    }
    match (failed.word(0).to_ascii_lowercase().as_str(), behind) {
        ("kill", _) => FailedKill::Kill {
            query_only: failed.is(1, "query"),
            behind: behind.first().and_then(starts_of),
        },
        ("execute", []) => FailedKill::Execute,
        ("call", []) => called(failed).unwrap_or(FailedKill::Unknown),
        ("explain" | "desc" | "describe" | "signal" | "resignal", _) => FailedKill::Other,
        _ => FailedKill::Unknown,
    }
}

fn called(call: &Tokens) -> Option<FailedKill> {
    let (schema, name) = match call.is_symbol(2, b'.') {
        true => (Some(call.name(1)?), call.name(3)?),
        false => (None, call.name(1)?),
    };
    Some(FailedKill::Call { schema, name })
}

/// Nothing if there is no KILL in the body, or more than one.
pub fn kill_of_routine(body: &str) -> Option<KillOfRoutine> {
    let lexed = lex::tokens(body, Mode::Unknown).ok()?;
    let list = &lexed.tokens;
    let all = Tokens { sql: body, list };
    let mut kills = (0..list.len()).filter(|at| all.is(*at, "kill"));
    let (Some(kill), None) = (kills.next(), kills.next()) else {
        return None;
    };
    let start = list[kill].range().start;
    let begins = |s: &Tokens| s.list.first().is_some_and(|t| t.range().start > start);
    let statements = all.split_statements();
    let mut behind = statements.iter().filter(|s| begins(s));
    Some(KillOfRoutine {
        query_only: all.is(kill + 1, "query"),
        is_last: behind.all(|s| s.is(0, "end") && !s.is_any(1, &LOOPS)),
    })
}

/// Whether this statement is KILL QUERY; nothing: it is no KILL. `sql`: its text or its digest's, `EXECUTE KILL ?` of a prepared one.
pub fn kill_query(sql: &str) -> Option<bool> {
    match failed_kill(sql.strip_prefix("EXECUTE ").unwrap_or(sql), 0) {
        FailedKill::Kill { query_only, .. } => Some(query_only),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_behind_a_kill_is_known_where_results_can_be_counted() {
        let kill = |sql: &str, results, query_only: bool, rest: Option<&str>| {
            let behind = rest.map(|rest| sql.len() - rest.len());
            let expected = FailedKill::Kill { query_only, behind };
            assert_eq!(failed_kill(sql, results), expected, "{sql}");
        };
        kill("kill @i", 0, false, None);
        kill("/* a */ KILL QUERY 1+2;", 0, true, None);
        let rest = "select 2; select 3";
        kill(&format!("select ';'; kill 7; {rest}"), 1, false, Some(rest));
        let unknown = [
            ("call p(); kill 7; select 2", 2),
            ("select 1", 3),
            ("do f(7)", 0),
            ("call p(7); select 1", 0),
        ];
        for (sql, results) in unknown {
            assert_eq!(failed_kill(sql, results), FailedKill::Unknown, "{sql}");
        }
        assert_eq!(failed_kill("execute s", 0), FailedKill::Execute);
        let call = |schema: Option<&str>| FailedKill::Call {
            schema: schema.map(str::to_owned),
            name: "p".to_owned(),
        };
        assert_eq!(failed_kill("select 1; call p(7)", 1), call(None));
        assert_eq!(failed_kill("call `a b`.`p`", 0), call(Some("a b")));
    }

    #[test]
    fn the_digest_of_a_kill_says_what_it_kills() {
        assert_eq!(kill_query("KILL QUERY ?"), Some(true));
        assert_eq!(kill_query("EXECUTE KILL ?"), Some(false));
        assert_eq!(kill_query("kill  i"), Some(false));
        assert_eq!(kill_query("EXPLAIN FOR CONNECTION ?"), None);
    }

    #[test]
    fn the_only_kill_of_a_routine_is_known_and_whether_something_follows_it() {
        let found = |body: &str| kill_of_routine(body).map(|k| (k.query_only, k.is_last));
        assert_eq!(found("KILL i"), Some((false, true)));
        let inside = "begin if i > 0 then kill query i; end if; end";
        assert_eq!(found(inside), Some((true, true)));
        assert_eq!(found("begin kill i; select 5; end"), Some((false, false)));
        let looped = "begin while i do kill i; end while; end";
        assert_eq!(found(looped), Some((false, false)));
        assert_eq!(found("begin kill i; kill query j; end"), None);
        assert_eq!(found("select 'kill', `kill`"), None);
    }
}
