/** SQL that writes a log record to a satellite: literals, statements by primary key, session settings. Pure. */
package multimed.apply.sql;
