//! The tables that a read-only transaction says it will read. Pure.
//!
//! In: `START TRANSACTION READ ONLY /* multimed: tables=a,b */`, and the statements that follow. Out: an error for those that
//! may read another table. Its snapshot needs the last writers of these tables, and so need not have those of others.
//! Must never: let a statement read what the snapshot may lack.

use super::statement::Known;
use crate::freshness::Catalog;
use crate::protocol::error::SqlError;
use crate::sql::{Class, Names, folded};
use std::sync::Arc;

#[derive(Clone)]
pub struct Declared {
    pub names: Arc<Names>,
    /// The current schema then.
    pub database: Option<String>,
    /// What tables there were when its snapshot was chosen; nothing: that was not known, and the snapshot has all.
    pub catalog: Option<Arc<Catalog>>,
}

impl Declared {
    pub(super) fn admits(&self, known: &Known, database: Option<&str>) -> Result<(), SqlError> {
        let may_read = match &known.class {
            Class::Read => true,
            Class::Write(_) | Class::Pin(_) => known.ties.reads,
            _ => false,
        };
        match (may_read, &known.names) {
            (false, _) => Ok(()),
            (true, Some(names)) => self.check(names, database),
            (true, None) => Err(refusal("this statement may read others")),
        }
    }

    pub(super) fn check(&self, names: &Names, database: Option<&str>) -> Result<(), SqlError> {
        let Some(catalog) = &self.catalog else {
            return Ok(());
        };
        let (database, then) = (database.map(folded), self.database.as_deref().map(folded));
        let other =
            catalog.undeclared((names, database.as_deref()), (&self.names, then.as_deref()));
        other.map_or(Ok(()), |table| {
            Err(refusal(format_args!(
                "this statement names `{}`.`{}`",
                table.schema, table.name
            )))
        })
    }
}

fn refusal(why: impl std::fmt::Display) -> SqlError {
    SqlError::gate(format_args!(
        "the transaction was begun for certain tables (tables=…), and {why}; list the table there, or begin without a list"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::understand;

    fn known(sql: &str) -> Known {
        Known::of(understand(sql)).ok().unwrap()
    }

    fn declared() -> Declared {
        let begin = known("START TRANSACTION READ ONLY /* multimed: tables=a,other.b */");
        let tables = ["db.a", "db.c", "other.b", "other.a"];
        Declared {
            names: begin.listed.unwrap(),
            database: Some("Db".into()),
            catalog: Some(Arc::new(Catalog::with_tables(&tables))),
        }
    }

    #[test]
    fn a_statement_on_another_table_is_refused() {
        let declared = declared();
        let admits = |sql: &str, database| declared.admits(&known(sql), Some(database)).is_ok();
        for (sql, allowed) in [
            ("SELECT a.x FROM a JOIN other.b", true),
            ("SELECT 1", true),
            ("SELECT @@sql_mode", true),
            ("SAVEPOINT s", true),
            ("COMMIT", true),
            ("SELECT 1 FROM a, c", false),
            ("SELECT 1 FROM other.a", false),
            ("SELECT 1 FROM a WHERE x IN (SELECT 1 FROM `C`)", false),
            ("SELECT f(x) FROM a", false),
            ("SELECT 1 FROM information_schema.columns", false),
            ("SHOW TABLES", false),
        ] {
            assert_eq!(admits(sql, "Db"), allowed, "{sql}");
        }
        assert!(!admits("SELECT 1 FROM a", "other"));
        assert!(admits("SELECT 1 FROM db.a, b", "other"));
    }
}
