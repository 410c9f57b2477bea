//! What is asked of the gate itself: SHOW MULTIMED … and EXPLAIN MULTIMED …, which are syntax errors to MySQL.
//!
//! In: the tokens of one statement. Out: the question, or what is wrong with it. Must never: take what MySQL understands for one:
//! `DESCRIBE multimed` and ``EXPLAIN `multimed` `` are about a table.

use super::lex::Kind;
use super::tokens::{Lower, Tokens};

/// What an error says of the text, in characters.
const LONGEST_NEAR: usize = 80;
const NAME: &str = "multimed";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    Status { like: Option<String> },
    Servers,
    Statements { limit: Option<u64> },
    LastRead,
    Variables { like: Option<String> },
    Explain(Explained),
}

/// A statement that is not to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// Without what stands before its first word and after its last.
    pub statement: String,
    /// Question marks in it: who has its whole text counts them.
    pub params: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadQuestion {
    #[error(
        "You have an error in your SQL syntax near '{0}': the gate knows SHOW MULTIMED STATUS [LIKE 'pattern'], \
         SHOW MULTIMED SERVERS, SHOW MULTIMED STATEMENTS [LIMIT n], SHOW MULTIMED LAST READ, \
         SHOW MULTIMED VARIABLES [LIKE 'pattern'], EXPLAIN MULTIMED statement"
    )]
    Syntax(String),
    #[error("SHOW MULTIMED and EXPLAIN MULTIMED can't stand beside other statements in one text")]
    NotAlone,
}

/// Nothing if the statement asks nothing of the gate.
pub fn question(tokens: &Tokens) -> Option<Result<Question, BadQuestion>> {
    if !tokens.is(1, NAME) {
        return None;
    }
    let rest = tokens.from(2);
    let asked = match Lower::new(tokens.word(0)).as_str() {
        "show" => show(rest),
        "explain" if !rest.is_empty() => explain(rest),
        _ => return None,
    };
    Some(asked.ok_or_else(|| BadQuestion::Syntax(near(tokens))))
}

fn show(rest: Tokens) -> Option<Question> {
    let after = rest.from(1);
    match Lower::new(rest.word(0)).as_str() {
        "status" => like(after).map(|like| Question::Status { like }),
        "variables" => like(after).map(|like| Question::Variables { like }),
        "statements" => limit(after).map(|limit| Question::Statements { limit }),
        "servers" if after.is_empty() => Some(Question::Servers),
        "last" if after.is(0, "read") && after.list.len() == 1 => Some(Question::LastRead),
        _ => None,
    }
}

/// `[LIKE 'pattern']`
fn like(rest: Tokens) -> Option<Option<String>> {
    match rest.list.len() {
        0 => Some(None),
        2 if rest.is(0, "like") => rest.pattern(1).map(Some),
        _ => None,
    }
}

/// `[LIMIT n]`
fn limit(rest: Tokens) -> Option<Option<u64>> {
    match rest.list.len() {
        0 => Some(None),
        2 if rest.is(0, "limit") && rest.kind(1) == Some(Kind::Number) => {
            rest.text(1).parse().ok().map(Some)
        }
        _ => None,
    }
}

fn explain(rest: Tokens) -> Option<Question> {
    Some(Question::Explain(Explained {
        statement: rest.span().to_owned(),
        params: 0,
    }))
}

fn near(tokens: &Tokens) -> String {
    tokens.span().chars().take(LONGEST_NEAR).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{Class, classify};

    fn asked(sql: &str) -> Option<Result<Question, BadQuestion>> {
        match classify(sql) {
            Class::Multimed(asked) => Some(asked),
            _ => None,
        }
    }

    fn explained(statement: &str, params: u16) -> Question {
        let statement = statement.to_owned();
        Question::Explain(Explained { statement, params })
    }

    #[test]
    fn questions_are_known_in_any_case_and_among_comments() {
        let like = |pattern: &str| Some(pattern.to_owned());
        for (sql, expected) in [
            ("SHOW MULTIMED STATUS", Question::Status { like: None }),
            (
                "show multimed status like 'a\\_%'",
                Question::Status {
                    like: like("a\\_%"),
                },
            ),
            (
                "SHOW MULTIMED VARIABLES LIKE \"it\"\"s\"",
                Question::Variables {
                    like: like("it\"s"),
                },
            ),
            ("/* x */ show  multimed -- y\n servers ;", Question::Servers),
            ("SHOW MULTIMED LAST READ;", Question::LastRead),
            (
                "SHOW MULTIMED STATEMENTS LIMIT 5",
                Question::Statements { limit: Some(5) },
            ),
            (
                "EXPLAIN MULTIMED /* y */ SELECT a FROM t WHERE b = ? AND c IN (?, '?') -- z",
                explained("SELECT a FROM t WHERE b = ? AND c IN (?, '?')", 2),
            ),
            ("explain multimed commit", explained("commit", 0)),
        ] {
            assert_eq!(asked(sql), Some(Ok(expected)), "{sql}");
        }
    }

    #[test]
    fn a_question_that_is_not_understood_says_what_there_is() {
        for sql in [
            "SHOW MULTIMED",
            "SHOW MULTIMED STATES",
            "SHOW MULTIMED STATUS LIKE",
            "SHOW MULTIMED STATUS LIKE ?",
            "SHOW MULTIMED STATUS WHERE Value > 0",
            "SHOW MULTIMED STATEMENTS LIMIT -1",
            "SHOW MULTIMED STATEMENTS LIMIT 99999999999999999999999",
            "SHOW MULTIMED LAST",
            "SHOW MULTIMED SERVERS FULL",
        ] {
            let refused = asked(sql).unwrap().unwrap_err();
            let said = refused.to_string();
            assert!(said.contains(sql) && said.contains("LAST READ"), "{said}");
        }
    }

    #[test]
    fn a_question_stands_alone() {
        for sql in [
            "SELECT 1; SHOW MULTIMED STATUS",
            "SHOW MULTIMED STATUS; DELETE FROM t",
            "EXPLAIN MULTIMED SELECT 1; SELECT 2",
        ] {
            assert_eq!(asked(sql), Some(Err(BadQuestion::NotAlone)), "{sql}");
        }
    }

    #[test]
    fn a_table_may_have_that_name() {
        for sql in [
            "DESCRIBE multimed",
            "DESC multimed a",
            "EXPLAIN multimed",
            "EXPLAIN `multimed` a",
            "SHOW COLUMNS FROM multimed",
            "SHOW `multimed` STATUS",
        ] {
            assert_eq!(asked(sql), None, "{sql}");
        }
    }
}
