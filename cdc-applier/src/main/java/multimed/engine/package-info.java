/** Debezium's connector by itself, with a connection of its own: what capture is compared with ({@code cdc-applier decode}). */
package multimed.engine;
