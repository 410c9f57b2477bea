/** Apply: replays the log on one satellite under the master's GTIDs. */
package multimed.apply;
