//! Why a statement ran where it ran, and what an application could change about it.
//!
//! In: decisions of the plan and of the admission. Out: a short reason that stays the same from release to release, and one line of
//! advice. Must never: hold a part of a statement.

use std::fmt;

/// The reasons are few: those that come with a text have one of the gate's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// A satellite had all that the read must see.
    Fresh,
    /// A satellite had it after a wait.
    Waited,
    /// A satellite had what wrote the tables of the read, though not all.
    Tables,
    /// The read-only transaction is on this satellite.
    Transaction,
    /// It asks about the statement before, whose server knows.
    LastStatement,

    /// What the statement is, as its classification says: no read for satellites.
    Statement(&'static str),
    /// Controls transactions.
    Control,
    /// Sets something for the session, or chooses its schema.
    Setting,
    Kill,
    /// Asks what the session's connection to the master alone can tell.
    AboutSession,
    ReadWriteTransaction,
    /// A read-only transaction that the master took in a satellite's stead.
    TransactionOnMaster,
    AutocommitOff,
    Serializable,
    SystemSchema,
    /// The sql_mode changes how statements are read.
    SqlMode,
    /// An earlier statement left something on the master that lives only there.
    Pinned(&'static str),
    TooLong,
    /// No satellite can be read from now.
    NoSatellite,
    /// None of those that the read's class may use.
    NoSatelliteOfClass,
    NotFreshInTime,
    MasterSooner,
    /// A satellite refused it, as a write or for lack of something.
    Refused,

    /// The gate answered by itself.
    Gate,
    /// No server has answered: the client got an error of the gate's.
    Unanswered,
}

impl Why {
    /// Statements that a satellite could have run, had something been different, or that are the master's by nature.
    pub fn is_on_master(self) -> bool {
        !matches!(
            self,
            Self::Fresh
                | Self::Waited
                | Self::Tables
                | Self::Transaction
                | Self::LastStatement
                | Self::Gate
                | Self::Unanswered
        )
    }

    /// What to change, so that satellites take such statements; nothing where there is nothing to change.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Statement(reason) => of_statement(reason),
            Self::Pinned(reason) => of_pin(reason),
            Self::AboutSession => "ask for this less often, or keep the answer",
            Self::ReadWriteTransaction => {
                "declare transactions that only read: START TRANSACTION READ ONLY"
            }
            Self::AutocommitOff => {
                "set autocommit=1 for reads, or declare SET SESSION TRANSACTION READ ONLY"
            }
            Self::Serializable => "use REPEATABLE READ for reads",
            Self::SystemSchema => "USE the application's schema, and name system schemas in full",
            Self::SqlMode => {
                "leave ANSI_QUOTES, NO_BACKSLASH_ESCAPES and their kin out of sql_mode"
            }
            Self::TooLong => "send reads of less than 16 MiB, long values as parameters",
            Self::NoSatellite | Self::TransactionOnMaster => {
                "see in GET /servers why no satellite is up"
            }
            Self::NoSatelliteOfClass => "see in GET /servers why the class's satellites are not up",
            Self::NotFreshInTime => {
                "allow a longer wait (multimed_wait_ms) or a weaker level, or see why satellites lag"
            }
            Self::MasterSooner => "nothing; with master_reads=fallback satellites take such reads",
            Self::Refused => {
                "see docs/monitoring.md: a satellite refused it, as a write or for lack of something"
            }
            _ => "",
        }
    }
}

/// Of what a statement's classification says.
fn of_statement(reason: &str) -> &'static str {
    match reason {
        "locking read" => {
            "drop FOR UPDATE, FOR SHARE or LOCK IN SHARE MODE where the rows are not changed next"
        }
        "function that is not known to be harmless"
        | "stored function"
        | "function of a schema" => {
            "call stored functions in START TRANSACTION READ ONLY: there satellites run them"
        }
        "quoted function name" | "number used as a function's name" => {
            "write the function's name without quotes"
        }
        "user variable" => {
            "compute without user variables: use parameters, a derived table or window functions"
        }
        "system variable" => "read system variables once, at the start of a connection",
        "SQL_CALC_FOUND_ROWS" => "ask SELECT COUNT(*) instead",
        "view that may ask about the session" => {
            "leave what the item Asks of EXPLAIN MULTIMED names out of the view: pass it as a parameter of the query"
        }
        "definitions of views not known" => {
            "nothing: it passes when capture has sent the definitions; if not, see gtid_gate_table_stream_up"
        }
        "INTO" | "PROCEDURE" => "read the rows in the application",
        "multi-statement" => "send reads one by one",
        "prepared statement in text form" => "prepare by the protocol, not by PREPARE and EXECUTE",
        "about the statement before" => "ask about the statement before without naming a table",
        "CALL" => "send the procedure's reads as statements of their own",
        "longer than 16 MiB" | "more than a million words and signs" => {
            "send shorter reads, long values as parameters"
        }
        "not understood" => {
            "write the query in plainer SQL; gtid-gate classify says what it takes a text for"
        }
        "backslash whose meaning depends on sql_mode" => {
            "double the quote instead of a backslash, or use parameters"
        }
        "bytes outside the character set that the gate reads" => "connect with utf8mb4",
        "hint that changes the session" | "hint with quotes" => "leave such hints out of reads",
        reason if reason.contains("comment") => "leave such comments out of reads",
        _ => "",
    }
}

/// Of what ties a session to the master.
fn of_pin(reason: &str) -> &'static str {
    match reason {
        "temporary table" => "use derived tables, or a connection of its own for temporary tables",
        "LOCK" | "GET_LOCK" | "FLUSH that locks" | "HANDLER OPEN" => {
            "take locks on a connection of its own"
        }
        "user variable" => "compute without user variables",
        "CALL" => "call procedures on a connection of their own",
        "PREPARE" => "prepare by the protocol, not by PREPARE and EXECUTE",
        _ => "use another connection for reads, or COM_RESET_CONNECTION",
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Fresh => "fresh",
            Self::Waited => "fresh after a wait",
            Self::Tables => "has what wrote its tables",
            Self::Transaction => "its read-only transaction is here",
            Self::LastStatement => "about the statement before",
            Self::Statement(reason) => reason,
            Self::Control => "transaction control",
            Self::Setting => "setting",
            Self::Kill => "KILL",
            Self::AboutSession => "about the session",
            Self::ReadWriteTransaction => "in a read-write transaction",
            Self::TransactionOnMaster => "its read-only transaction found no satellite",
            Self::AutocommitOff => "autocommit is off",
            Self::Serializable => "isolation level SERIALIZABLE",
            Self::SystemSchema => "current schema is a system schema",
            Self::SqlMode => "sql_mode that reads texts differently",
            Self::Pinned(reason) => return write!(f, "session pinned: {reason}"),
            Self::TooLong => "longer than one packet",
            Self::NoSatellite => "no satellite up",
            Self::NoSatelliteOfClass => "no satellite of its class up",
            Self::NotFreshInTime => "no satellite fresh in time",
            Self::MasterSooner => "the master answers sooner",
            Self::Refused => "refused by a satellite",
            Self::Gate => "answered by the gate",
            Self::Unanswered => "error of the gate",
        };
        f.write_str(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_of_the_master_is_told_with_what_to_change() {
        assert_eq!(Why::Pinned("LOCK").to_string(), "session pinned: LOCK");
        assert_eq!(Why::Statement("locking read").to_string(), "locking read");
        for why in [
            Why::AutocommitOff,
            Why::ReadWriteTransaction,
            Why::Statement("locking read"),
            Why::Statement("function that is not known to be harmless"),
            Why::Pinned("temporary table"),
            Why::Pinned("anything else"),
            Why::NotFreshInTime,
        ] {
            assert!(why.is_on_master() && !why.advice().is_empty(), "{why}");
        }
        assert!(Why::Statement("data change").advice().is_empty());
        assert!([Why::Fresh, Why::Gate].iter().all(|w| !w.is_on_master()));
    }
}
