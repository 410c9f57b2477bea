//! What reading a name reads: the base tables of views, and the tables whose changes cascade. Pure.
//!
//! In: views, foreign keys and tables as capture read them on the master, and what the master had executed before and after.
//! Out: the tables of a query. Names are folded (`sql::folded`).
//! Must never: leave out a table that a name may stand for.

use super::definitions::{Asks, Behind, Definition, Definitions};
use super::table::Table;
use crate::gtid::GtidSet;
use crate::sql::{Name, Names};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// Schemas whose tables are no data of the log's.
const SERVER_SCHEMAS: [&str; 4] = ["information_schema", "mysql", "performance_schema", "sys"];

/// Rows of a table are changed, unlogged, when rows of the other are.
#[derive(Debug, Clone)]
pub struct Cascade {
    pub child: Table,
    pub parent: Table,
}

#[derive(Debug, Clone)]
pub struct View {
    pub view: Table,
    /// What it reads, other views among them; nothing if it calls what may read anything.
    pub reads: Option<Vec<Table>>,
}

/// As it was read.
#[derive(Debug, Default)]
pub struct Sample {
    /// What the master had executed before the catalog was read, and after.
    pub before: GtidSet,
    pub after: GtidSet,
    pub lower_case: bool,
    pub views: Vec<View>,
    pub cascades: Vec<Cascade>,
    pub tables: Vec<Table>,
    /// What views, and functions that they may call, use. Nothing: a capture of an earlier release does not say.
    pub definitions: Vec<Definition>,
}

/// The tables of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reads {
    Anything,
    Tables(BTreeSet<Table>),
}

type ByName<T> = HashMap<Box<str>, HashMap<Box<str>, T>>;

#[derive(Debug, Default)]
pub struct Catalog {
    pub before: GtidSet,
    pub after: GtidSet,
    lower_case: bool,
    /// What a view, or a table with parents, stands for. Other tables stand for themselves.
    stands_for: ByName<Reads>,
    tables: ByName<()>,
    views: ByName<Behind>,
    /// How many of them may ask.
    asking: usize,
    /// Names of views that asked once, and don't now: a satellite may still have them as they were.
    asked: HashSet<Table>,
}

/// More names of views that asked once are not remembered.
const MOST_ASKED: usize = 10_000;

fn find<'a, T>(map: &'a ByName<T>, schema: &str, name: &str) -> Option<&'a T> {
    map.get(schema)?.get(name)
}

fn put<T>(map: &mut ByName<T>, table: Table, value: T) {
    map.entry(table.schema)
        .or_default()
        .insert(table.name, value);
}

impl Catalog {
    pub fn of(sample: Sample) -> Self {
        let views = views(&sample);
        let asking = of_all(&views)
            .filter(|(_, behind)| behind.asks.is_some())
            .count();
        let mut edges: HashMap<Table, Option<Vec<Table>>> = HashMap::new();
        for cascade in sample.cascades {
            let parents = edges
                .entry(cascade.child)
                .or_insert_with(|| Some(Vec::new()));
            parents
                .as_mut()
                .into_iter()
                .for_each(|p| p.push(cascade.parent.clone()));
        }
        let mut tables = ByName::new();
        sample
            .views
            .iter()
            .map(|v| &v.view)
            .chain(&sample.tables)
            .for_each(|t| put(&mut tables, t.clone(), ()));
        for View { view, reads } in sample.views {
            edges.insert(view, reads);
        }
        let mut stands_for = ByName::new();
        for table in edges.keys() {
            put(&mut stands_for, table.clone(), closure(table, &edges));
        }
        Self {
            before: sample.before,
            after: sample.after,
            lower_case: sample.lower_case,
            stands_for,
            tables,
            views,
            asking,
            asked: HashSet::new(),
        }
    }

    /// What comes after the one before.
    pub fn after(mut self, before: Option<&Self>) -> Self {
        let Some(before) = before else {
            return self;
        };
        let asking = of_all(&before.views).filter(|(_, behind)| behind.asks.is_some());
        let asked = asking.map(|(table, _)| table);
        let asked = asked.chain(before.asked.iter().cloned());
        self.asked = asked.take(MOST_ASKED).collect();
        self
    }

    /// Of the views among these names, what may ask about the session; of none, of all views that there are.
    pub fn asks(&self, read: Option<(&Names, Option<&str>)>) -> Option<Arc<Asks>> {
        if self.asking == 0 {
            return None;
        }
        match read {
            Some((names, database)) if self.compares(names, database) => qualified(names, database)
                .find_map(|(schema, name)| find(&self.views, schema, name)?.asks.clone()),
            _ => of_all(&self.views).find_map(|(_, behind)| behind.asks.clone()),
        }
    }

    /// Whether these names are the master's in the same letters.
    fn compares(&self, names: &Names, database: Option<&str>) -> bool {
        !self.lower_case || names.ascii && database.is_none_or(str::is_ascii)
    }

    /// Whether one of these names is a view.
    pub fn names_view(&self, names: &Names, database: Option<&str>) -> bool {
        !self.compares(names, database)
            || qualified(names, database)
                .any(|(schema, name)| find(&self.views, schema, name).is_some())
    }

    /// Whether one of these names was a view that asked about the session.
    pub fn names_asked(&self, names: &Names, database: Option<&str>) -> bool {
        let was = |(schema, name): (&str, &str)| {
            let (schema, name) = (schema.into(), name.into());
            self.asked.contains(&Table { schema, name })
        };
        !self.asked.is_empty() && qualified(names, database).any(was)
    }

    /// The names, and all that are behind those that are views.
    pub fn behind<'a>(
        &'a self,
        names: &'a Names,
        database: Option<&'a str>,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        qualified(names, database).flat_map(|(schema, name)| {
            let view = find(&self.views, schema, name);
            let behind = view.into_iter().flat_map(|view| &view.names);
            let behind = behind.map(|table| (&*table.schema, &*table.name));
            std::iter::once((schema, name)).chain(behind)
        })
    }

    #[cfg(test)]
    pub fn with_tables(tables: &[&str]) -> Self {
        let table = |name: &&str| {
            let (schema, name) = name.split_once('.').unwrap_or_default();
            Table {
                schema: schema.into(),
                name: name.into(),
            }
        };
        Self::of(Sample {
            tables: tables.iter().map(table).collect(),
            ..Sample::default()
        })
    }

    /// The tables that a query with these names may read, and those whose changes change them.
    pub fn reads(&self, names: &Names, database: Option<&str>) -> Reads {
        if !self.compares(names, database) {
            return Reads::Anything;
        }
        let mut found = BTreeSet::new();
        for (schema, table) in qualified(names, database) {
            if SERVER_SCHEMAS.contains(&schema) {
                return Reads::Anything;
            }
            match find(&self.stands_for, schema, table) {
                Some(Reads::Anything) => return Reads::Anything,
                Some(Reads::Tables(tables)) => found.extend(tables.iter().cloned()),
                None => {
                    found.insert(Table {
                        schema: schema.into(),
                        name: table.into(),
                    });
                }
            }
        }
        Reads::Tables(found)
    }

    /// The first of the names that is a table or view, and not among those that were declared.
    /// Each with the current schema, folded.
    pub fn undeclared(
        &self,
        (names, database): (&Names, Option<&str>),
        declared: (&Names, Option<&str>),
    ) -> Option<Table> {
        let is_declared =
            |table: &(&str, &str)| qualified(declared.0, declared.1).any(|d| d == *table);
        let found = qualified(names, database)
            .filter(|(schema, name)| {
                SERVER_SCHEMAS.contains(schema) || find(&self.tables, schema, name).is_some()
            })
            .find(|table| !is_declared(table))?;
        Some(Table {
            schema: found.0.into(),
            name: found.1.into(),
        })
    }
}

/// Of two views of one name in another case, the one that asks counts.
fn views(sample: &Sample) -> ByName<Behind> {
    let names = sample.views.iter().map(|v| &v.view);
    let definitions = Definitions::new(names.clone(), &sample.tables, &sample.definitions);
    let mut views = ByName::new();
    for view in names {
        let other: Option<&Behind> = find(&views, &view.schema, &view.name);
        if other.is_none_or(|other| other.asks.is_none()) {
            put(&mut views, view.clone(), definitions.behind(view));
        }
    }
    views
}

fn of_all<T>(map: &ByName<T>) -> impl Iterator<Item = (Table, &T)> {
    map.iter().flat_map(|(schema, names)| {
        names.iter().map(|(name, value)| {
            let (schema, name) = (schema.clone(), name.clone());
            (Table { schema, name }, value)
        })
    })
}

fn qualified<'a>(
    names: &'a Names,
    database: Option<&'a str>,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let schema = move |n: &'a Name| n.schema.as_deref().or(database);
    names
        .list
        .iter()
        .filter_map(move |n| Some((schema(n)?, &*n.table)))
}

fn closure(table: &Table, edges: &HashMap<Table, Option<Vec<Table>>>) -> Reads {
    let (mut found, mut left) = (BTreeSet::from([table.clone()]), vec![table]);
    while let Some(next) = left.pop() {
        match edges.get(next) {
            Some(None) => return Reads::Anything,
            Some(Some(reads)) if reads.iter().any(|r| SERVER_SCHEMAS.contains(&&*r.schema)) => {
                return Reads::Anything;
            }
            Some(Some(reads)) => {
                let new = reads.iter().filter(|r| found.insert((*r).clone()));
                left.extend(new);
            }
            None => {}
        }
    }
    Reads::Tables(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::understand;

    fn table(name: &str) -> Table {
        let (schema, name) = name.split_once('.').unwrap_or(("db", name));
        Table {
            schema: schema.into(),
            name: name.into(),
        }
    }

    fn view(name: &str, reads: Option<&[&str]>) -> View {
        let reads = reads.map(|r| r.iter().map(|t| table(t)).collect());
        View {
            view: table(name),
            reads,
        }
    }

    fn cascade(child: &str, parent: &str) -> Cascade {
        Cascade {
            child: table(child),
            parent: table(parent),
        }
    }

    fn catalog() -> Catalog {
        Catalog::of(Sample {
            views: vec![
                view("v", Some(&["t", "w"])),
                view("w", Some(&["other.u"])),
                view("f", None),
                view("g", Some(&["f"])),
                view("i", Some(&["information_schema.tables"])),
            ],
            cascades: vec![
                cascade("c", "p"),
                cascade("p", "q"),
                cascade("q", "c"),
                cascade("t", "p"),
            ],
            tables: ["t", "p", "other.u"].map(table).to_vec(),
            ..Sample::default()
        })
    }

    fn reads(sql: &str, database: Option<&str>) -> String {
        match catalog().reads(&understand(sql).names.unwrap(), database) {
            Reads::Anything => "anything".into(),
            Reads::Tables(tables) => {
                let name = |t: &Table| format!("{}.{}", t.schema, t.name);
                tables.iter().map(name).collect::<Vec<_>>().join(" ")
            }
        }
    }

    #[test]
    fn views_and_cascades_are_followed_to_their_end() {
        for (sql, expected) in [
            ("SELECT 1 FROM x", "db.x"),
            ("SELECT 1 FROM V", "db.c db.p db.q db.t db.v db.w other.u"),
            ("SELECT 1 FROM other.v", "db.other other.v"),
            ("SELECT 1 FROM c", "db.c db.p db.q"),
            ("SELECT 1 FROM f", "anything"),
            ("SELECT 1 FROM g", "anything"),
            ("SELECT 1 FROM i", "anything"),
            (
                "SELECT 1 FROM information_schema.key_column_usage",
                "anything",
            ),
        ] {
            assert_eq!(reads(sql, Some("db")), expected, "{sql}");
        }
        assert_eq!(reads("SELECT 1 FROM x, db.y", None), "db.y");
    }

    #[test]
    fn letters_whose_case_servers_see_differently_may_be_anything() {
        let catalog = Catalog::of(Sample {
            lower_case: true,
            ..Sample::default()
        });
        let names = understand("SELECT 1 FROM ä").names.unwrap();
        assert_eq!(catalog.reads(&names, Some("db")), Reads::Anything);
        let names = understand("SELECT 1 FROM a").names.unwrap();
        assert_eq!(catalog.reads(&names, Some("ä")), Reads::Anything);
        assert!(matches!(
            catalog.reads(&names, Some("db")),
            Reads::Tables(_)
        ));
    }

    #[test]
    fn what_was_not_declared_is_told() {
        let undeclared = |sql: &str, declared: &str| {
            let (names, declared) = (
                understand(sql).names.unwrap(),
                understand(declared).names.unwrap(),
            );
            catalog().undeclared((&names, Some("db")), (&declared, Some("db")))
        };
        assert_eq!(
            undeclared("SELECT t.a FROM t, p", "SELECT 1 FROM t, p"),
            None
        );
        assert_eq!(
            undeclared("SELECT 1 FROM t, p", "SELECT 1 FROM t"),
            Some(table("p"))
        );
        assert_eq!(
            undeclared("SELECT 1 FROM other.u", "SELECT 1 FROM u"),
            Some(table("other.u"))
        );
        assert_eq!(
            undeclared("SELECT 1 FROM v", "SELECT 1 FROM t"),
            Some(table("v"))
        );
    }
}
