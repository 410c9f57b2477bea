/** Capture: reads the master's binlog and appends each transaction to the log, once and in commit order. */
package multimed.capture;
