/** The client side of MySQL's protocol, as far as it takes to pipeline statements over many sessions from one thread. */
package multimed.mysql;
