//! The statements of a stored function's body. Pure.
//!
//! In: the tokens of a body, and its parameters. Out: nothing, or the statement that may change or set something. What stands in expressions
//! and queries is not looked at here.
//! Must never: pass a statement that is not certainly one that reads, computes or steers.

use super::tokens::{Lower, Tokens};

/// Deeper bodies are not followed.
const DEEPEST: usize = 50;

/// Up to their semicolon.
const SIMPLE: [&str; 11] = [
    "select", "with", "table", "values", "return", "do", "iterate", "leave", "open", "fetch",
    "close",
];

type Checked = Result<(), Box<str>>;

struct Body<'a> {
    left: Tokens<'a>,
    /// Parameters, and what the outermost block declares: an inner one's could hide that a SET means another thing.
    locals: Vec<String>,
    depth: usize,
    blocks: usize,
}

pub fn check(tokens: Tokens, parameters: &[&str]) -> Checked {
    let mut body = Body {
        left: tokens,
        locals: parameters.iter().map(|p| p.to_lowercase()).collect(),
        depth: 0,
        blocks: 0,
    };
    body.statement()?;
    body.left.eat_symbol(b';');
    match body.left.is_empty() {
        true => Ok(()),
        false => body.unknown(),
    }
}

impl<'a> Body<'a> {
    fn unknown<T>(&self) -> Result<T, Box<str>> {
        Err(format!("statement {}", self.left.text(0).to_uppercase()).into())
    }

    fn skip(&mut self, tokens: usize) {
        self.left = self.left.from(tokens);
    }

    fn statement(&mut self) -> Checked {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("statements nested too deep".into());
        }
        self.skip_label();
        let first = Lower::new(self.left.word(0));
        let checked = match first.as_str() {
            "begin" => self.block(),
            "declare" => self.declare(),
            "set" => self.set(),
            "if" => self.branches("then", &["elseif"]),
            "case" => self
                .skip_past("when")
                .and_then(|()| self.branches("then", &["when"])),
            "while" => self
                .skip_past("do")
                .and_then(|()| self.until(&["end"]))
                .and_then(|()| self.end()),
            "loop" => {
                self.skip(1);
                self.until(&["end"]).and_then(|()| self.end())
            }
            "repeat" => self.repeat(),
            word if SIMPLE.contains(&word) => self.simple(),
            "" if self.left.is_symbol(0, b'(') => self.simple(),
            _ => self.unknown(),
        };
        self.depth -= 1;
        checked
    }

    fn skip_label(&mut self) {
        let labelled = self.left.name(0).is_some() && self.left.is_symbol(1, b':');
        self.skip(if labelled { 2 } else { 0 });
    }

    /// Statements, each with its semicolon, up to one of these words.
    fn until(&mut self, ends: &[&str]) -> Checked {
        while !self.left.is_any(0, ends) {
            self.statement()?;
            if !self.left.eat_symbol(b';') {
                return self.unknown();
            }
        }
        Ok(())
    }

    fn block(&mut self) -> Checked {
        self.skip(1);
        self.blocks += 1;
        self.until(&["end"])?;
        self.end()
    }

    /// END, the kind of what it ends, and its label.
    fn end(&mut self) -> Checked {
        if !self.left.eat("end") {
            return self.unknown();
        }
        while self.left.name(0).is_some() {
            self.skip(1);
        }
        Ok(())
    }

    /// Condition and statements, again and again, up to END.
    fn branches(&mut self, condition_ends: &str, again: &[&str]) -> Checked {
        let ends = [again[0], "else", "end"];
        loop {
            self.skip_past(condition_ends)?;
            self.until(&ends)?;
            if self.left.eat("else") {
                self.until(&["end"])?;
            }
            if self.left.is(0, "end") {
                return self.end();
            }
        }
    }

    fn repeat(&mut self) -> Checked {
        self.skip(1);
        self.until(&["until"])?;
        let mut cases = 0_i64;
        while cases > 0 || !self.left.is(0, "end") {
            cases += i64::from(self.left.is(0, "case")) - i64::from(self.left.is(0, "end"));
            self.one_of_expression()?;
        }
        self.end()
    }

    /// An expression up to this word, and the word; a CASE in it has its own.
    fn skip_past(&mut self, word: &str) -> Checked {
        let mut cases = 0_i64;
        self.skip(usize::from(self.left.is(0, "case")));
        while cases > 0 || !self.left.is(0, word) {
            let ends = cases > 0 && self.left.is(0, "end");
            cases += i64::from(self.left.is(0, "case")) - i64::from(ends);
            self.one_of_expression()?;
        }
        self.skip(1);
        Ok(())
    }

    fn one_of_expression(&mut self) -> Checked {
        if self.left.is_empty() || self.left.is_symbol(0, b';') {
            return self.unknown();
        }
        self.skip(1);
        Ok(())
    }

    fn simple(&mut self) -> Checked {
        let end = self.to_semicolon();
        self.skip(end);
        Ok(())
    }

    fn to_semicolon(&self) -> usize {
        let all = self.left.list.len();
        let end = (0..all).find(|at| self.left.is_symbol(*at, b';'));
        end.unwrap_or(all)
    }

    fn declare(&mut self) -> Checked {
        let handler = self.left.is_any(1, &["continue", "exit", "undo"]);
        if handler && self.left.is(2, "handler") && self.left.is(3, "for") {
            self.skip(4);
            self.conditions();
            return self.statement();
        }
        let mut at = 1;
        while let Some(name) = self.left.name(at).filter(|_| self.blocks == 1) {
            self.locals.push(name.to_lowercase());
            at += 2;
            if !self.left.is_symbol(at - 1, b',') {
                break;
            }
        }
        self.simple()
    }

    /// What a handler is for.
    fn conditions(&mut self) {
        loop {
            if self.left.eat("sqlstate") {
                self.left.eat("value");
            } else {
                self.left.eat("not");
            }
            self.skip(1);
            if !self.left.eat_symbol(b',') {
                return;
            }
        }
    }

    /// Only what the function has of its own may be set.
    fn set(&mut self) -> Checked {
        let end = self.to_semicolon();
        let list = self.left.list.get(1..end).unwrap_or_default();
        let assignments = Tokens { list, ..self.left };
        let is_local = |a: &Tokens| {
            let assigns = a.is_symbol(1, b'=') || a.is_symbol(1, b':') && a.is_symbol(2, b'=');
            let name = a.name(0).map(|n| n.to_lowercase());
            assigns && name.is_some_and(|n| self.locals.contains(&n))
        };
        if !assignments.split(b',').iter().all(is_local) {
            return Err("SET of what is not its own variable".into());
        }
        self.skip(end);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::Mode;
    use crate::sql::lex;

    fn checked(sql: &str) -> Checked {
        let list = &lex::tokens(sql, Mode::Unknown).ok().unwrap().tokens;
        check(Tokens { sql, list }, &["a", "B"])
    }

    #[test]
    fn a_function_that_only_reads_and_computes_passes() {
        for body in [
            "return a",
            "return (select count(*) from t where x = a);",
            "begin declare n, m int default 0; select count(*) into n from t; return n; end",
            "begin set a = 1, b = if(a, (2), 3); set b := 2; return a; end",
            "l: begin declare x int; if a = 1 then return 1; elseif case when a then b else a end then set x = 2; else set x = 3; end if; return x; end l",
            "begin case a when 1 then return 1; when case b when 1 then 2 end then set a = 1; else begin end; end case; case when a then return 2; end case; return 3; end",
            "begin declare i int; w: while i < 3 do set i = i + 1; if i = 2 then leave w; end if; end while w; \
             repeat set i = i - 1; until case i when 0 then 1 end end repeat; loop return i; end loop; end",
            "begin declare done int default 0; declare c cursor for select x from t; \
             declare continue handler for not found, sqlstate value '02000', 1329 set done = 1; \
             declare exit handler for sqlexception begin return null; end; \
             open c; r: loop fetch c into a; if done then leave r; end if; iterate r; end loop; close c; return a; end",
        ] {
            assert_eq!(checked(body), Ok(()), "{body}");
        }
    }

    #[test]
    fn a_function_that_may_change_or_set_something_does_not_pass() {
        for body in [
            "",
            "begin insert into t values (1); return 1; end",
            "begin declare x int; if a then update t set x = 1; end if; return 1; end",
            "begin if a then return 1; else delete from t; end if; return 1; end",
            "begin case when a then call p(); end case; return 1; end",
            "begin declare continue handler for not found insert into t values (1); return 1; end",
            "begin declare exit handler for sqlexception begin kill 7; end; return 1; end",
            "begin set sql_mode = ''; return 1; end",
            "begin set a = 1, autocommit = 0; return 1; end",
            "begin set session a = 1; return 1; end",
            "begin set names latin1; return 1; end",
            "begin begin declare sql_mode int; end; set sql_mode = ''; return 1; end",
            "begin set transaction read only; return 1; end",
            "begin set @x = 1; return 1; end",
            "begin shutdown; return 1; end",
            "begin get diagnostics a = number; return 1; end",
            "begin create temporary table t (a int); return 1; end",
            "begin savepoint s; return 1; end",
            "begin w: while a do lock instance for backup; end while; return 1; end",
            "begin return 1; end; insert into t values (1)",
            "begin if a then",
            "begin return 1",
        ] {
            assert!(checked(body).is_err(), "{body}");
        }
        let deep = format!("{}return 1;{}", "begin ".repeat(1000), "end;".repeat(1000));
        assert!(checked(&deep).is_err());
    }
}
