/** The table stream: tells its subscribers over TCP, ahead of the log, which tables each transaction wrote. TABLE_STREAM.md is its contract. */
package multimed.capture.tables;
