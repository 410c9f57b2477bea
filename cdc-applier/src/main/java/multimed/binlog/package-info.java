/**
 * The master's binlog: reads it as a replica does, and parses events as far as capture needs it. Formats: MySQL's
 * libs/mysql/binlog/event/*.h.
 */
package multimed.binlog;
