/** Entry point of the two ends of the log: {@code capture} (master to Kafka) and {@code apply} (Kafka to a satellite). */
package multimed;
