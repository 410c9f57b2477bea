package multimed.binlog;

/** A table's schema and name, as the binlog has them. */
public record TableName(String schema, String table) {}
