/** Debezium, which decodes rows for capture: its engine, its records, and the rows made of them. */
package multimed.capture.debezium;
