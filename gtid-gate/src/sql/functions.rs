//! MySQL's own functions that change nothing and answer alike on every copy, and the words of its grammar
//! that may stand before a parenthesis.
//!
//! In: a word in lower case. Out: whether calling it is harmless. Must never: list a name that some supported
//! server (8.0–9.x) does not know as its own, because there a stored function may carry it: MD5, SHA and SHA1 are a component since 9.6.
//! Left out on purpose: locks, waits for GTIDs, LAST_INSERT_ID and its kin, CONNECTION_ID, USER, LOAD_FILE,
//! UUID_SHORT (server id), BENCHMARK, keyring and account functions.

/// `name (` with a blank calls a stored function of that name instead, unless IGNORE_SPACE is on.
#[rustfmt::skip]
const NEED_ADJACENT_PARENTHESIS: &[&str] = &[
    "adddate", "bit_and", "bit_or", "bit_xor", "cast", "count", "curdate", "curtime", "date_add", "date_sub",
    "extract", "group_concat", "json_arrayagg", "json_objectagg", "max", "mid", "min", "now", "position", "st_collect",
    "std", "stddev", "stddev_pop", "stddev_samp", "subdate", "substr", "substring", "sum", "sysdate", "trim",
    "var_pop", "var_samp", "variance",
];

#[rustfmt::skip]
const HARMLESS: &[&str] = &[
    "abs", "acos", "addtime", "aes_decrypt", "aes_encrypt", "against", "all", "and", "any", "any_value", "as",
    "ascii", "asin", "atan", "atan2", "avg", "between", "bigint", "bin", "bin_to_uuid", "binary", "bit_count",
    "bit_length", "both", "by", "case", "ceil", "ceiling", "char", "char_length", "character", "character_length",
    "charset", "coalesce", "coercibility", "collation", "columns", "compress", "concat", "concat_ws", "conv",
    "convert", "convert_tz", "cos", "cot", "crc32", "cume_dist", "current_date", "current_role", "current_time",
    "current_timestamp", "current_user", "database", "date", "date_format", "datediff", "datetime", "day",
    "dayname", "dayofmonth", "dayofweek", "dayofyear", "dec", "decimal", "default", "degrees", "dense_rank",
    "distinct", "distinctrow", "div", "double", "else", "elt", "except", "exists", "exp", "export_set",
    "extractvalue", "field", "find_in_set", "first_value", "float", "floor", "format", "format_bytes",
    "format_pico_time", "from", "from_base64", "from_days", "from_unixtime", "geomcollection",
    "geometrycollection", "get_format", "greatest", "grouping", "gtid_subset", "gtid_subtract", "having", "hex",
    "high_priority", "hour", "icu_version", "if", "ifnull", "in", "index", "inet6_aton", "inet6_ntoa", "inet_aton",
    "inet_ntoa", "inner", "instr", "int", "integer", "intersect", "interval", "is_ipv4", "is_ipv4_compat",
    "is_ipv4_mapped", "is_ipv6", "is_uuid", "isnull", "join", "json_array", "json_array_append",
    "json_array_insert", "json_contains", "json_contains_path", "json_depth", "json_extract", "json_insert",
    "json_keys", "json_length", "json_merge", "json_merge_patch", "json_merge_preserve", "json_object",
    "json_overlaps", "json_pretty", "json_quote", "json_remove", "json_replace", "json_schema_valid",
    "json_schema_validation_report", "json_search", "json_set", "json_storage_free", "json_storage_size",
    "json_table", "json_type", "json_unquote", "json_valid", "json_value", "key", "lag", "last_day", "last_value",
    "lateral", "lcase", "lead", "leading", "least", "left", "length", "like", "linestring", "ln", "localtime",
    "localtimestamp", "locate", "log", "log10", "log2", "lower", "lpad", "ltrim", "make_set", "makedate",
    "maketime", "match", "mbrcontains", "mbrcoveredby", "mbrcovers", "mbrdisjoint", "mbrequals", "mbrintersects",
    "mbroverlaps", "mbrtouches", "mbrwithin", "mediumint", "microsecond", "minute", "mod", "month",
    "monthname", "multilinestring", "multipoint", "multipolygon", "name_const", "nchar", "not", "nth_value",
    "ntile", "nullif", "numeric", "nvarchar", "oct", "octet_length", "of", "offset", "on", "or", "ord", "over",
    "partition", "percent_rank", "period_add", "period_diff", "pi", "point", "polygon", "pow", "power", "quarter",
    "quote", "radians", "rand", "random_bytes", "rank", "real", "regexp", "regexp_instr", "regexp_like",
    "regexp_replace", "regexp_substr", "repeat", "reverse", "right", "rlike", "round", "row", "row_number", "rpad",
    "rtrim", "schema", "sec_to_time", "second", "select", "sha2", "sign", "sin", "sleep",
    "smallint", "some", "soundex", "space", "sql_big_result", "sql_small_result", "sqrt", "st_area", "st_asbinary",
    "st_asgeojson", "st_astext", "st_aswkb", "st_aswkt", "st_buffer", "st_buffer_strategy", "st_centroid",
    "st_contains", "st_convexhull", "st_crosses", "st_difference", "st_dimension", "st_disjoint", "st_distance",
    "st_distance_sphere", "st_endpoint", "st_envelope", "st_equals", "st_exteriorring", "st_geohash",
    "st_geomcollfromtext", "st_geomcollfromtxt", "st_geomcollfromwkb", "st_geometrycollectionfromtext",
    "st_geometrycollectionfromwkb", "st_geometryfromtext", "st_geometryfromwkb", "st_geometryn", "st_geometrytype",
    "st_geomfromgeojson", "st_geomfromtext", "st_geomfromwkb", "st_interiorringn", "st_intersection",
    "st_intersects", "st_isclosed", "st_isempty", "st_issimple", "st_isvalid", "st_latfromgeohash", "st_latitude",
    "st_length", "st_linefromtext", "st_linefromwkb", "st_linestringfromtext", "st_linestringfromwkb",
    "st_longfromgeohash", "st_longitude", "st_makeenvelope", "st_mlinefromtext", "st_mlinefromwkb",
    "st_mpointfromtext", "st_mpointfromwkb", "st_mpolyfromtext", "st_mpolyfromwkb", "st_multilinestringfromtext",
    "st_multilinestringfromwkb", "st_multipointfromtext", "st_multipointfromwkb", "st_multipolygonfromtext",
    "st_multipolygonfromwkb", "st_numgeometries", "st_numinteriorring", "st_numinteriorrings", "st_numpoints",
    "st_overlaps", "st_pointfromgeohash", "st_pointfromtext", "st_pointfromwkb", "st_pointn", "st_polyfromtext",
    "st_polyfromwkb", "st_polygonfromtext", "st_polygonfromwkb", "st_simplify", "st_srid", "st_startpoint",
    "st_swapxy", "st_symdifference", "st_touches", "st_transform", "st_union", "st_validate", "st_within", "st_x",
    "st_y", "statement_digest", "statement_digest_text", "str_to_date", "straight_join", "strcmp",
    "substring_index", "subtime", "table", "tan", "then", "time", "time_format", "time_to_sec", "timediff",
    "timestamp", "timestampadd", "timestampdiff", "tinyint", "to_base64", "to_days", "to_seconds", "trailing",
    "truncate", "ucase", "uncompress", "uncompressed_length", "unhex", "union", "unix_timestamp", "updatexml",
    "upper", "use", "using", "utc_date", "utc_time", "utc_timestamp", "uuid", "uuid_to_bin", "values", "varbinary",
    "varchar", "varying", "version", "week", "weekday", "weekofyear", "weight_string", "when", "where", "xor",
    "year", "yearweek",
];

/// MySQL's own functions whose answer depends on the connection or on the server.
pub const ABOUT_SESSION: &[&str] = &[
    "connection_id",
    "get_lock",
    "is_free_lock",
    "is_used_lock",
    "load_file",
    "master_pos_wait",
    "ps_current_thread_id",
    "ps_thread_id",
    "release_all_locks",
    "release_lock",
    "roles_graphml",
    "service_get_read_locks",
    "service_get_write_locks",
    "service_release_locks",
    "session_user",
    "source_pos_wait",
    "system_user",
    "user",
    "uuid_short",
    "wait_for_executed_gtid_set",
];

/// About the statement itself: its attributes go with it to any server.
pub const ABOUT_ITSELF: &str = "mysql_query_attribute_string";

/// MySQL's own functions about the session or the server, those about the statement's attributes and inserted rows among them.
pub fn is_about_session(name: &str) -> bool {
    ABOUT_SESSION.contains(&name) || matches!(name, "last_insert_id" | ABOUT_ITSELF)
}

pub fn needs_adjacent_parenthesis(name: &str) -> bool {
    NEED_ADJACENT_PARENTHESIS.binary_search(&name).is_ok()
}

pub fn is_harmless(name: &str) -> bool {
    HARMLESS.binary_search(&name).is_ok() || needs_adjacent_parenthesis(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        assert!(NEED_ADJACENT_PARENTHESIS.is_sorted());
        let unsorted = HARMLESS.windows(2).find(|pair| pair[0] >= pair[1]);
        assert_eq!(unsorted, None);
    }
}
