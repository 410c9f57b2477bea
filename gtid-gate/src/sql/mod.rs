//! What a statement may do, and so where it may run.

mod class;
mod classify;
mod digest;
mod facts;
mod functions;
mod keywords;
mod kills;
mod lex;
mod mode;
mod names;
mod question;
mod reasons;
mod remembered;
mod select;
mod set;
mod show;
mod statement;
mod status;
mod tables;
mod ties;
mod token_list;
mod tokens;
mod verb;

pub use class::{ChoiceValue, Class, Completion, SetItem};
pub use classify::{Understood, classify, understand, understand_bytes};
pub use digest::{Digest, of_unclear};
pub use kills::{FailedKill, KillOfRoutine, failed_kill, is_kill_query, kill_of_routine};
pub use mode::Mode;
pub use names::{Name, Names, folded};
pub use question::{BadQuestion, Explained, Question};
pub use reasons::Reasons;
pub use select::is_system_schema;
pub use tables::named_tables;
pub use ties::{FoundRows, Ties};
pub use verb::Verb;
