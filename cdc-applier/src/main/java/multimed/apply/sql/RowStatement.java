package multimed.apply.sql;

import java.util.function.Supplier;

/**
 * One INSERT, UPDATE or DELETE.
 *
 * @param sql its bytes, see {@link SqlBuffer}
 * @param changes how many row changes of the log it carries out; it must find exactly as many rows
 * @param about table and first row's key, for the operator; made only when asked for
 */
public record RowStatement(byte[] sql, int changes, Supplier<String> about) {}
