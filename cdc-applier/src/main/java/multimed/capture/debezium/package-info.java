/** Rows for the log, which Debezium's row deserializers and value converters make of the binlog's row events. */
package multimed.capture.debezium;
