package multimed.capture;

import java.util.List;
import multimed.binlog.BinlogEvent;
import multimed.binlog.GtidEvent;

/**
 * One transaction as the binlog has it.
 *
 * @param formatDescription in force, without checksums
 * @param events all after the GTID event, the commit included
 */
record MasterTransaction(GtidEvent start, byte[] formatDescription, List<BinlogEvent> events) {}
