/**
 * The log in Kafka: its topic, its reader, its writer, and the epochs that keep one writer at a time. Knows nothing of MySQL
 * servers.
 */
package multimed.log;
