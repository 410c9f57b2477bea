//! Capability flags of MySQL's handshake, and which of them the gate honours.

pub const LONG_PASSWORD: u32 = 1;
pub const FOUND_ROWS: u32 = 1 << 1;
pub const LONG_FLAG: u32 = 1 << 2;
pub const CONNECT_WITH_DB: u32 = 1 << 3;
pub const NO_SCHEMA: u32 = 1 << 4;
pub const ODBC: u32 = 1 << 6;
pub const LOCAL_FILES: u32 = 1 << 7;
pub const IGNORE_SPACE: u32 = 1 << 8;
pub const PROTOCOL_41: u32 = 1 << 9;
pub const INTERACTIVE: u32 = 1 << 10;
pub const SSL: u32 = 1 << 11;
pub const IGNORE_SIGPIPE: u32 = 1 << 12;
pub const TRANSACTIONS: u32 = 1 << 13;
pub const SECURE_CONNECTION: u32 = 1 << 15;
pub const MULTI_STATEMENTS: u32 = 1 << 16;
pub const MULTI_RESULTS: u32 = 1 << 17;
pub const PS_MULTI_RESULTS: u32 = 1 << 18;
pub const PLUGIN_AUTH: u32 = 1 << 19;
pub const CONNECT_ATTRS: u32 = 1 << 20;
pub const PLUGIN_AUTH_LENENC: u32 = 1 << 21;
/// Of an account whose password has expired, the client can set a new one.
pub const EXPIRED_PASSWORDS: u32 = 1 << 22;
pub const SESSION_TRACK: u32 = 1 << 23;
pub const DEPRECATE_EOF: u32 = 1 << 24;
pub const QUERY_ATTRIBUTES: u32 = 1 << 27;

/// What changes how statements are written, how they run and how results look: the same towards client and servers.
const RELAYED: u32 = LONG_PASSWORD
    | FOUND_ROWS
    | LONG_FLAG
    | NO_SCHEMA
    | ODBC
    | LOCAL_FILES
    | IGNORE_SPACE
    | INTERACTIVE
    | IGNORE_SIGPIPE
    | TRANSACTIONS
    | MULTI_STATEMENTS
    | MULTI_RESULTS
    | PS_MULTI_RESULTS
    | EXPIRED_PASSWORDS
    | SESSION_TRACK
    | DEPRECATE_EOF
    | QUERY_ATTRIBUTES;

/// Without these the gate does not talk to anyone.
pub const REQUIRED: u32 = PROTOCOL_41 | SECURE_CONNECTION;

const OWN: u32 = REQUIRED | PLUGIN_AUTH | CONNECT_WITH_DB | CONNECT_ATTRS | PLUGIN_AUTH_LENENC;

/// What the gate honours towards clients. No compression, no optional metadata.
pub const OFFERED: u32 = RELAYED | OWN | SSL;

/// What to offer to a client in front of a master that offers this: MySQL before 8.0.23 knows no query attributes.
pub fn offered(by_master: u32) -> u32 {
    OFFERED & (by_master | !QUERY_ATTRIBUTES)
}

/// What the gate uses for questions of its own.
pub const FOR_QUESTIONS: u32 = LONG_PASSWORD | LONG_FLAG | TRANSACTIONS | DEPRECATE_EOF;

/// What a session's connections are to have besides what its client negotiated: session tracking tells the GTIDs of its commits,
/// whether or not the client hears of them.
pub fn of_session(client: u32) -> u32 {
    client | SESSION_TRACK
}

/// What to ask of a server on behalf of a client that negotiated `client`.
pub fn towards_server(client: u32, offered_by_server: u32, with_database: bool) -> u32 {
    let database = if with_database { CONNECT_WITH_DB } else { 0 };
    (client & RELAYED & offered_by_server) | REQUIRED | PLUGIN_AUTH | PLUGIN_AUTH_LENENC | database
}

/// Whether a server reads statements as the client writes them, and can give results in the shape that it was promised.
pub fn shapes_agree(client: u32, offered_by_server: u32) -> bool {
    let shape = DEPRECATE_EOF | SESSION_TRACK | PROTOCOL_41 | QUERY_ATTRIBUTES;
    client & shape & !offered_by_server == 0
}
