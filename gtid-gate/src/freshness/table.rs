//! The name of a table, a view or a function, in the form in which names are compared (`sql::folded`).

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Table {
    pub schema: Box<str>,
    pub name: Box<str>,
}
