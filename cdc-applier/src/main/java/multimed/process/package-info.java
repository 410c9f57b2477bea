/** What every process has: settings, metrics, readiness and the port where they are read. Knows nothing of MySQL or the log. */
package multimed.process;
