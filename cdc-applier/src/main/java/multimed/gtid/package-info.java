/** GTIDs and sets of GTIDs, as MySQL prints them. Pure. */
package multimed.gtid;
