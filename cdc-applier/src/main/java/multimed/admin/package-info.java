/** The HTTP side of both processes: /live, /ready, /metrics. */
package multimed.admin;
