/** What the text of a SQL statement says: one lexer, and questions about its words. Pure. */
package multimed.sqltext;
