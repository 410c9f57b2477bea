//! `gtid-gate classify`: where statements would run, asked without a server.
//!
//! In: statements, one a line. Out: for each a line, `satellite`, `session` (the gate answers it, or it follows the session's server) or
//! `master`, and for the last a tab and the reason. It knows no session: inside a read-write transaction a read runs on the master, too.

use crate::sql::{Class, classify};
use std::io::{BufRead, Result, Write};

pub fn run(input: impl BufRead, mut output: impl Write) -> Result<()> {
    for line in input.split(b'\n') {
        let line = line?;
        writeln!(output, "{}", place(&String::from_utf8_lossy(&line)))?;
    }
    output.flush()
}

/// A digest that a server has cut ends so.
const CUT: &str = "...";

fn place(sql: &str) -> String {
    if sql.trim_end().ends_with(CUT) {
        return "master\tcut".to_owned();
    }
    match classify(sql) {
        Class::Read => "satellite".to_owned(),
        Class::Write(reason) | Class::Pin(reason) => format!("master\t{reason}"),
        _ => "session".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(input: &str) -> String {
        let mut output = Vec::new();
        run(input.as_bytes(), &mut output).unwrap();
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn each_line_gets_its_place() {
        let said = places("SELECT a FROM t WHERE b IN (?)\nSTART TRANSACTION\nDELETE FROM t\n");
        let lines: Vec<_> = said.lines().collect();
        assert_eq!(lines[..2], ["satellite", "session"]);
        assert!(lines[2].starts_with("master\t") && lines.len() == 3);
    }

    #[test]
    fn what_is_no_statement_is_for_the_master() {
        assert!(places("SELECT 'open\n").starts_with("master\t"));
        assert!(places("SELECT ? FROM `t` WHERE `a` = ? ...\n").starts_with("master\t"));
    }
}
