/** Compares satellites with the master, a piece of a table at a time, by queries that the log carries to them. */
package multimed.capture.comparison;
