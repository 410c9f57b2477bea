/** Connections to the master over JDBC, and questions about its state. */
package multimed.master;
