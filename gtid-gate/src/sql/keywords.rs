//! The words of MySQL's grammar that stand in statements again and again.
//!
//! In: a word in lower case. Out: whether it is one. Words that are not reserved may be names, too: whoever asks goes by it only for what
//! people are shown.

/// Whether the word is reserved, or stands for itself at the places where statements have it.
pub fn is_keyword(word: &str) -> bool {
    KEYWORDS.binary_search(&word).is_ok()
}

#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "accessible", "add", "after", "against", "algorithm", "all", "alter", "analyze", "and", "any", "as", "asc", "auto_increment", "before",
    "begin", "between", "bigint", "binary", "blob", "both", "by", "call", "cascade", "case", "chain", "change", "char",
    "character", "check", "collate", "column", "columns", "commit", "committed", "condition", "consistent", "constraint",
    "convert", "create", "cross", "cube", "current_date", "current_time", "current_timestamp", "current_user", "cursor",
    "database", "databases", "date", "datetime", "deallocate", "dec", "decimal", "declare", "default", "delayed", "delete", "desc",
    "describe", "deterministic", "distinct", "distinctrow", "div", "do", "double", "drop", "dual", "duplicate", "each", "else",
    "elseif", "enclosed", "end", "engine", "escape", "escaped", "except", "execute", "exists", "exit", "explain", "false", "fetch",
    "float", "flush", "for", "force", "foreign", "from", "full", "fulltext", "function", "generated", "get", "global", "grant",
    "group", "grouping", "groups", "handler", "having", "high_priority", "identified", "if", "ignore", "in", "index", "infile", "inner",
    "inout", "insert", "int", "integer", "intersect", "interval", "into", "is", "isolation", "iterate", "join", "json_table",
    "key", "keys", "kill", "lateral", "leading", "leave", "left", "level", "like", "limit", "linear", "lines", "load", "local",
    "localtime", "localtimestamp", "lock", "locked", "longblob", "longtext", "loop", "low_priority", "match", "maxvalue",
    "mediumblob", "mediumint", "mediumtext", "mod", "mode", "modify", "names", "natural", "no", "not", "nowait", "null", "numeric", "of",
    "offset", "on", "only", "optimize", "option", "optionally", "or", "order", "out", "outer", "outfile", "over", "partition", "password",
    "prepare", "primary", "procedure", "processlist", "purge", "quick", "range", "read", "reads", "real", "recursive",
    "references", "regexp", "release", "rename", "repeat", "repeatable", "replace", "require", "resignal", "restrict",
    "return", "revoke", "right", "rlike", "rollback", "rollup", "row", "rows", "savepoint", "schema", "schemas", "select", "sensitive",
    "separator", "serializable", "session", "set", "share", "show", "signal", "skip", "smallint", "snapshot", "spatial",
    "specific", "sql", "sql_big_result", "sql_buffer_result", "sql_cache", "sql_calc_found_rows", "sql_no_cache",
    "sql_small_result", "start", "starting", "status", "stored", "straight_join", "table", "tables", "temporary",
    "terminated", "then", "time", "timestamp", "tinyblob", "tinyint", "tinytext", "to", "trailing", "transaction", "trigger", "true",
    "truncate", "uncommitted", "undo", "union", "unique", "unlock", "unsigned", "update", "usage", "use", "user", "using", "value",
    "values", "varbinary", "varchar", "variables", "varying", "view", "virtual", "warnings", "when", "where", "while", "window", "with",
    "work", "write", "xa", "xor", "year", "zerofill",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted() {
        let unsorted = KEYWORDS.windows(2).find(|pair| pair[0] >= pair[1]);
        assert_eq!(unsorted, None);
    }
}
