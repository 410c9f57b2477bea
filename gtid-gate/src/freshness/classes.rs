//! Classes of reads: which satellites a read may use for the sake of its class, and of all others. Pure but for the counters.
//!
//! In: a read's class, and of each satellite the classes that it is bound to and whether it can take the read. Out: whether a
//! satellite is one for this read. A read of a class gets its class's satellites while one of them is live; others avoid
//! satellites that are bound to a class while another is live.
//! Must never: let a read go elsewhere that is to have an error otherwise.

use super::table_writes::TableNames;
use crate::common::classes::{ClassSet, ClassTable, Classes, Otherwise, ReadClass};
use crate::common::consistency::{AfterWait, MasterReads, Policy};
use crate::ops::metrics::Metrics;
use crate::protocol::error::SqlError;
use crate::sql::{Name, Names, folded};
use prometheus::IntCounter;
use std::sync::Arc;

/// The satellites that a read may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    All,
    Unbound,
    Of(ReadClass),
}

impl Scope {
    pub fn has(self, bound: ClassSet) -> bool {
        match self {
            Self::All => true,
            Self::Unbound => bound.is_empty(),
            Self::Of(class) => bound.has(class),
        }
    }
}

/// `live`: the classes of each satellite that can take the read now.
pub(super) fn scope(class: Option<ReadClass>, live: impl Iterator<Item = ClassSet>) -> Scope {
    let (mut of_class, mut unbound) = (false, false);
    for bound in live {
        of_class |= class.is_some_and(|class| bound.has(class));
        unbound |= bound.is_empty();
    }
    match class {
        Some(class) if of_class || class.otherwise == Otherwise::Error => Scope::Of(class),
        _ if unbound => Scope::Unbound,
        _ => Scope::All,
    }
}

/// What a read of a class is promised while its satellites can take it: the master answers it only after a wait in vain, and
/// not at all where an error is to come otherwise.
pub(super) fn promised(policy: Policy, class: ReadClass) -> Policy {
    let mut policy = policy;
    if policy.master_reads == MasterReads::Spare {
        policy.master_reads = MasterReads::Fallback;
    }
    if class.otherwise == Otherwise::Error {
        policy.after_wait = AfterWait::Error;
    }
    policy
}

/// The class that a statement belongs to by its digest, else by the first table of the list that it names.
pub fn class_of(classes: &Classes, read: TableNames<'_>) -> Option<ReadClass> {
    let by_table = || {
        let table = classes.tables.iter().find(|table| has(table, read));
        table.map(|table| classes.of_table(table))
    };
    classes.of_digest(read.names.digest).or_else(by_table)
}

fn has(table: &ClassTable, read: TableNames<'_>) -> bool {
    let is_here = |database: &str| match database.is_ascii() {
        true => database.eq_ignore_ascii_case(&table.schema),
        false => folded(database) == table.schema,
    };
    is_named(read.names, Some(&table.schema), &table.table)
        || is_named(read.names, None, &table.table) && read.database.is_some_and(is_here)
}

/// The names are sorted.
fn is_named(names: &Names, schema: Option<&str>, table: &str) -> bool {
    let key = |name: &Name| (name.schema.as_deref(), &*name.table).cmp(&(schema, table));
    names.list.binary_search_by(key).is_ok()
}

/// What is counted of the classes, each by its place in the list.
pub struct ClassCounts {
    classes: Arc<Classes>,
    /// Reads answered; those without a class come last.
    reads: Vec<IntCounter>,
    elsewhere: Vec<IntCounter>,
    errors: Vec<IntCounter>,
}

impl ClassCounts {
    pub fn new(classes: Arc<Classes>, metrics: &Metrics) -> Self {
        let names: Vec<&str> = classes.list.iter().map(|c| &*c.name).collect();
        let of = |counters: &prometheus::IntCounterVec, names: &[&str]| {
            let counter = |name| counters.with_label_values(&[name]);
            names.iter().map(counter).collect()
        };
        Self {
            reads: of(&metrics.class_reads, &[&names[..], &["none"]].concat()),
            elsewhere: of(&metrics.class_elsewhere, &names),
            errors: of(&metrics.class_errors, &names),
            classes,
        }
    }

    pub fn read(&self, class: Option<ReadClass>) {
        let at = class.map_or(self.classes.list.len(), |c| c.index.into());
        self.reads.get(at).inspect(|counter| counter.inc());
    }

    /// What a read of a class is promised, `can`: by one of the class's satellites now; an error if it must not go elsewhere.
    pub(super) fn admitted(
        &self,
        policy: Policy,
        class: ReadClass,
        can: bool,
    ) -> Result<Policy, SqlError> {
        let count = |counters: &[IntCounter]| counters[usize::from(class.index)].inc();
        match (can, class.otherwise) {
            (true, _) => Ok(promised(policy, class)),
            (false, Otherwise::Any) => {
                count(&self.elsewhere);
                Ok(policy)
            }
            (false, Otherwise::Error) => {
                count(&self.errors);
                Err(self.refusal(class))
            }
        }
    }

    fn refusal(&self, class: ReadClass) -> SqlError {
        let class = &self.classes.list[usize::from(class.index)];
        SqlError::gate(format_args!(
            "no satellite of class {} can take a read: {} down, drained or not there",
            class.name,
            class.satellites.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::understand;
    use proptest::prelude::*;

    fn class(index: u8, otherwise: Otherwise) -> ReadClass {
        ReadClass { index, otherwise }
    }

    fn set(classes: &[u8]) -> ClassSet {
        ClassSet::of(classes.iter().copied())
    }

    #[test]
    fn a_read_gets_its_classs_satellites_and_others_avoid_them_while_they_can() {
        let (any, strict) = (class(1, Otherwise::Any), class(1, Otherwise::Error));
        let of = |class, live: &[&[u8]]| scope(class, live.iter().map(|c| set(c)));
        assert_eq!(of(Some(any), &[&[], &[0, 1]]), Scope::Of(any));
        assert_eq!(of(Some(any), &[&[], &[0]]), Scope::Unbound);
        assert_eq!(of(Some(any), &[&[0]]), Scope::All);
        assert_eq!(of(Some(strict), &[&[], &[0]]), Scope::Of(strict));
        assert_eq!(of(None, &[&[], &[1]]), Scope::Unbound);
        assert_eq!(of(None, &[&[1]]), Scope::All);
        assert_eq!(of(None, &[]), Scope::All);
    }

    #[test]
    fn the_master_is_no_sooner_place_for_a_class_and_none_at_all_where_an_error_is_to_come() {
        let policy = Policy {
            level: crate::common::consistency::Level::Strong,
            wait: std::time::Duration::ZERO,
            after_wait: AfterWait::Master,
            master_reads: MasterReads::Spare,
        };
        let any = promised(policy, class(0, Otherwise::Any));
        assert!(any.falls_back() && !any.spares());
        let strict = promised(policy, class(0, Otherwise::Error));
        assert!(!strict.falls_back() && !strict.spares());
        let never = MasterReads::Never;
        let never = Policy {
            master_reads: never,
            ..policy
        };
        assert!(!promised(never, class(0, Otherwise::Any)).falls_back());
    }

    fn found(text: &str, sql: &str, database: Option<&str>) -> Option<u8> {
        let (classes, mistakes) = Classes::parse(text);
        assert!(mistakes.is_empty(), "{mistakes:?}");
        let names = understand(sql).names.unwrap();
        let read = TableNames {
            names: &names,
            database,
        };
        class_of(&classes, read).map(|c| c.index)
    }

    #[test]
    fn a_statement_belongs_to_a_class_by_its_digest_and_then_by_its_tables() {
        let tables = "a: satellites=s tables=shop.orders; b: satellites=s tables=shop.lines";
        let of = |sql, database| found(tables, sql, database);
        assert_eq!(of("SELECT 1 FROM orders", Some("Shop")), Some(0));
        assert_eq!(of("SELECT 1 FROM SHOP.Lines", Some("x")), Some(1));
        assert_eq!(of("SELECT 1 FROM lines, orders", Some("shop")), Some(0));
        assert_eq!(of("SELECT 1 FROM orders", Some("x")), None);
        assert_eq!(of("SELECT 1 FROM orders", None), None);
        assert_eq!(of("SELECT 1 FROM x.orders", Some("shop")), None);
        let digest = understand("SELECT 5 FROM orders").names.unwrap().digest;
        let both = format!("{tables}; c: satellites=s digests={digest:016x}");
        assert_eq!(found(&both, "SELECT 77 FROM orders", Some("shop")), Some(2));
    }

    proptest! {
        /// Whatever the satellites: a read finds a live one if it may, never one that another rule forbids.
        #[test]
        fn no_read_is_left_without_a_live_satellite_that_it_may_use(
            index in prop::option::of(0u8..3), strict: bool,
            live in prop::collection::vec(prop::collection::vec(0u8..3, 0..3), 0..5),
        ) {
            let otherwise = if strict { Otherwise::Error } else { Otherwise::Any };
            let class = index.map(|index| class(index, otherwise));
            let live: Vec<ClassSet> = live.iter().map(|c| set(c)).collect();
            let chosen = scope(class, live.iter().copied());
            let candidates: Vec<_> = live.iter().filter(|b| chosen.has(**b)).collect();
            let own = class.map_or(0, |class| live.iter().filter(|b| b.has(class)).count());
            if own > 0 || class.is_some() && strict {
                prop_assert_eq!(candidates.len(), own);
            } else if live.iter().any(|b| b.is_empty()) {
                prop_assert!(candidates.iter().all(|b| b.is_empty()) && !candidates.is_empty());
            } else {
                prop_assert_eq!(candidates.len(), live.len());
            }
        }
    }
}
