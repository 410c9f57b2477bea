/** The log between capture and apply: GTIDs, the topic, and how its records become transactions. Knows nothing of MySQL servers. */
package multimed.log;
