//! Which views may ask about the session that reads through them: with all that they read and call. Pure.
//!
//! In: what each view and function uses by itself. Out: of each view what of it is not proven to be harmless, if anything is.
//! Must never: call a view harmless of which some part is not known.

use super::table::Table;
use crate::sql::{Name, Ties, Uses};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

#[derive(Debug)]
pub struct Definition {
    pub name: Table,
    pub is_function: bool,
    pub uses: Uses,
}

/// What of a view may ask about the session that reads through it.
#[derive(Debug, PartialEq, Eq)]
pub struct Asks {
    /// For people: the view or function, and what in it.
    pub what: Box<str>,
    /// What all of it needs of the session's connection.
    pub ties: Ties,
}

/// Why a read is not for satellites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unproven {
    /// A view among them may ask about the session.
    Asks(Arc<Asks>),
    /// What the names stand for is not known as of now.
    Unknown,
}

impl Unproven {
    /// The reason that is shown of it, one of few.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Asks(_) => "view that may ask about the session",
            Self::Unknown => "definitions of views not known",
        }
    }
}

/// What is behind a view.
#[derive(Debug)]
pub struct Behind {
    /// Nothing: it is proven that nothing of it asks about the session.
    pub asks: Option<Arc<Asks>>,
    /// Names of all that it may read or call, at any depth.
    pub names: Vec<Table>,
}

/// A view or a function.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Item {
    name: Table,
    is_function: bool,
}

pub struct Definitions<'a> {
    views: HashSet<&'a Table>,
    uses: HashMap<Item, &'a Uses>,
    schemas: HashSet<&'a str>,
}

impl<'a> Definitions<'a> {
    pub fn new(
        views: impl Iterator<Item = &'a Table>,
        tables: &'a [Table],
        all: &'a [Definition],
    ) -> Self {
        let views: HashSet<&Table> = views.collect();
        let names = views.iter().copied().chain(tables);
        let schemas = names.chain(all.iter().map(|d| &d.name));
        let mut uses: HashMap<Item, &Uses> = HashMap::new();
        for each in all {
            let item = Item {
                name: each.name.clone(),
                is_function: each.is_function,
            };
            // Two of one name in another case: the one that asks counts.
            let other = uses.get(&item).filter(|other| other.asks.is_some());
            let counts = other.copied().unwrap_or(&each.uses);
            uses.insert(item, counts);
        }
        Self {
            schemas: schemas.map(|table| &*table.schema).collect(),
            views,
            uses,
        }
    }

    pub fn behind(&self, view: &Table) -> Behind {
        let first = Item {
            name: view.clone(),
            is_function: false,
        };
        let (mut seen, mut left) = (HashSet::from([first.clone()]), vec![first]);
        let (mut what, mut ties, mut names) = (None, SESSION, HashSet::new());
        while let Some(item) = left.pop() {
            names.insert(item.name.clone());
            let Some(uses) = self.uses.get(&item) else {
                let unknown = || format!("{item}: definition that is not known");
                what.get_or_insert_with(unknown);
                continue;
            };
            if let Some(asks) = &uses.asks {
                what.get_or_insert_with(|| format!("{item}: {asks}"));
            }
            ties = joined(ties, uses.ties);
            let used = self.used(&item, uses).filter(|u| seen.insert(u.clone()));
            left.extend(used.collect::<Vec<_>>());
            names.extend(self.tables(&item, uses));
        }
        let what = what.map(String::into_boxed_str);
        Behind {
            asks: what.map(|what| Arc::new(Asks { what, ties })),
            names: names.into_iter().collect(),
        }
    }

    /// What may be a table: a column's name has no schema before it.
    fn tables<'b>(&'b self, by: &'b Item, uses: &'b Uses) -> impl Iterator<Item = Table> + 'b {
        let own = &by.name.schema;
        let tables = uses.names.iter().map(move |name| qualified(name, own));
        tables.filter(|t| self.schemas.contains(&*t.schema))
    }

    /// Other definitions that one uses.
    fn used<'b>(&'b self, by: &'b Item, uses: &'b Uses) -> impl Iterator<Item = Item> + 'b {
        let own = &by.name.schema;
        let functions = uses.calls.iter().map(move |call| Item {
            name: qualified(call, own),
            is_function: true,
        });
        let views = self.tables(by, uses).filter(|t| self.views.contains(t));
        let views = views.map(|name| Item {
            name,
            is_function: false,
        });
        functions.chain(views)
    }
}

/// Of what may leave something on the session's connection, and read anything.
const SESSION: Ties = Ties {
    stays: true,
    about_session: true,
    reads: true,
    ..Ties::NONE
};

fn joined(all: Ties, more: Ties) -> Ties {
    Ties {
        about_last: all.about_last || more.about_last,
        row_count: all.row_count || more.row_count,
        found_rows: all.found_rows || more.found_rows,
        asks_insert_id: all.asks_insert_id || more.asks_insert_id,
        sets_insert_id: all.sets_insert_id || more.sets_insert_id,
        ..all
    }
}

fn qualified(name: &Name, own: &str) -> Table {
    Table {
        schema: name.schema.as_deref().unwrap_or(own).into(),
        name: name.table.clone(),
    }
}

impl std::fmt::Display for Item {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if self.is_function { "function" } else { "view" };
        write!(f, "{kind} `{}`.`{}`", self.name.schema, self.name.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str) -> Table {
        let (schema, name) = name.split_once('.').unwrap_or(("d", name));
        Table {
            schema: schema.into(),
            name: name.into(),
        }
    }

    fn view(name: &str, text: &str) -> Definition {
        Definition {
            name: table(name),
            is_function: false,
            uses: Uses::of_view(text),
        }
    }

    fn function(name: &str, text: &str) -> Definition {
        Definition {
            name: table(name),
            is_function: true,
            uses: Uses::of_function(text, &[]),
        }
    }

    #[test]
    fn a_view_asks_what_any_view_or_function_behind_it_asks() {
        let all = [
            view("plain", "select `d`.`t`.`a` AS `a` from `d`.`t`"),
            view("own", "select connection_id() AS `c`"),
            view("over", "select `d`.`plain`.`a` AS `own` from `d`.`plain`"),
            view("nested", "select `x`.`c` AS `c` from `d`.`own` `x`"),
            view("calls", "select row_count() AS `r`,`f`() AS `f`"),
            view("twice", "select `half`(`o`.`twice`(1)) AS `f`"),
            view("reads", "select `g`() AS `g`"),
            view("loadable", "select some_component() AS `g`"),
            function("f", "return g()"),
            function("g", "return (select count(*) from nested)"),
            function("half", "return 1"),
            function("o.twice", "return 2 * half()"),
            function("o.half", "return 2"),
        ];
        let names = [
            "plain", "own", "over", "nested", "calls", "twice", "reads", "loadable", "lost",
        ];
        let views = names.map(table);
        let definitions = Definitions::new(views.iter(), &[], &all);
        let asks = |name: &str| {
            definitions
                .behind(&table(name))
                .asks
                .map(|a| a.what.to_string())
        };
        let own = "view `d`.`own`: CONNECTION_ID()";
        for (name, expected) in [
            ("plain", None),
            ("over", None),
            ("twice", None),
            ("own", Some(own)),
            ("nested", Some(own)),
            ("reads", Some(own)),
            ("calls", Some("view `d`.`calls`: ROW_COUNT()")),
            (
                "loadable",
                Some("function `d`.`some_component`: definition that is not known"),
            ),
            (
                "lost",
                Some("view `d`.`lost`: definition that is not known"),
            ),
        ] {
            assert_eq!(asks(name).as_deref(), expected, "{name}");
        }
        let ties = |name: &str| definitions.behind(&table(name)).asks.map(|asks| asks.ties);
        assert!(ties("calls").is_some_and(|t| t.about_last && t.stays));
        assert!(ties("own").is_some_and(|t| !t.about_last && t.stays));
    }
}
