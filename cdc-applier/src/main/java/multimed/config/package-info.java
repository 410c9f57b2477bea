/** Settings from the environment; every mistake is reported at once. */
package multimed.config;
