/** The newest records of the log, straight from capture to the appliers that have everything before them (LIVE.md). */
package multimed.live;
