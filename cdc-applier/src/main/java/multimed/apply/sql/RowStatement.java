package multimed.apply.sql;

import java.util.function.Supplier;

/**
 * One INSERT, UPDATE or DELETE.
 *
 * @param sql its bytes, see {@link SqlBuffer}
 * @param changes how many row changes of the log it carries out; it must find exactly as many rows
 * @param certain whether the server itself sees to that: it carries out all of it, or answers with an error
 * @param about table and first row's key, for the operator; made only when asked for
 */
public record RowStatement(byte[] sql, int changes, boolean certain, Supplier<String> about) {}
