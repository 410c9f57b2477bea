/** Verify: reads the whole log and compares it with the master's binlog and the satellites' GTID sets. */
package multimed.verify;
