/** Pure parsing of MySQL binlog events, only as far as capture needs it. Formats: MySQL's libs/mysql/binlog/event/*.h. */
package multimed.binlog;
