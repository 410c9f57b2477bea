/** What every process has: settings, metrics, readiness and the port that tells them. Knows nothing of MySQL or the log. */
package multimed.process;
