//! What a statement may do, and so where it may run.

mod class;
mod classify;
mod definition;
mod digest;
mod functions;
mod keywords;
mod lex;
mod names;
mod parse;
mod question;
mod routine;
mod select;
mod set;
mod show;
mod statement;
mod status;
mod tables;
mod ties;
mod tokens;

pub use class::{ChoiceValue, Class, SetItem};
pub use classify::{Understood, classify, understand, understand_bytes};
pub use definition::Uses;
pub use digest::{Digest, of_unclear};
pub use names::{Name, Names, folded};
pub use question::{BadQuestion, Explained, Question};
pub use select::is_system_schema;
pub use status::with_own_status;
pub use tables::named_tables;
pub use ties::{ABOUT_ITSELF, FoundRows, Ties};
