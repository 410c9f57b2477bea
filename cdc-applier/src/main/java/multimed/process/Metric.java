package multimed.process;

/** All metrics of capture and apply: name (unit in it), label if any, and the help that /metrics gives with it. */
public enum Metric {
    READY("multimed_ready", null, "1 while /ready answers 200"),

    CAPTURE_RECORDS("multimed_capture_records_total", "kind", "records appended to the log"),
    CAPTURE_TRANSACTIONS("multimed_capture_transactions_total", "kind", "master transactions appended to the log"),
    CAPTURE_BYTES("multimed_capture_bytes_total", null, "bytes of records appended to the log, before compression"),
    CAPTURE_RAW("multimed_capture_raw_total", "reason", "transactions that went out raw, by reason"),
    CAPTURE_REBUILD("multimed_capture_rebuild_total", null, "transactions at which satellites re-clone"),
    CAPTURE_BROKEN_LOG("multimed_capture_broken_log_total", null,
            "places in the log that broke its contract and from before which a new epoch went on"),
    CAPTURE_POSITION("multimed_capture_position_transactions", null, "GTIDs in the set that the log contains"),
    CAPTURE_EPOCH("multimed_capture_epoch", null, "number of this capture run"),
    CAPTURE_RECONNECTS("multimed_capture_reconnects_total", null, "restarts of the whole stream after an error"),
    CAPTURE_READY("multimed_capture_ready_seconds", null, "commit on the master to record ready for the log"),
    CAPTURE_DECODE("multimed_capture_decode_seconds", null, "Debezium's decoding of a transaction's rows"),
    CAPTURE_ACKNOWLEDGE("multimed_capture_acknowledge_seconds", null, "record sent to acknowledged by the log"),
    CAPTURE_LAG("multimed_capture_lag_seconds", null, "commit on the master to acknowledged in the log"),
    CAPTURE_TABLE_STREAM("multimed_capture_table_stream_transactions_total", "kind",
            "transactions told to the table stream: tables, or all if they count as having written everything"),
    CAPTURE_RETENTION("multimed_capture_log_retention_seconds", null, "how long the log keeps transactions, as set"),
    CAPTURE_LOG_DISK("multimed_capture_log_disk_bytes", null, "size of the file system that the broker keeps the log on"),
    CAPTURE_LOG_DISK_FREE("multimed_capture_log_disk_free_bytes", null, "what is free of it for the broker"),
    CAPTURE_LIVE_READERS("multimed_capture_live_readers", null, "appliers that get records straight from capture"),
    CAPTURE_TABLE_SUBSCRIBERS("multimed_capture_table_stream_subscribers", null, "subscribers of the table stream"),
    CAPTURE_TABLE_STREAM_SLOW("multimed_capture_table_stream_slow_total", null,
            "subscribers of the table stream that were disconnected because they were too slow"),
    COMPARISON_PROGRESS("multimed_capture_comparison_progress", null, "how much of the pass over all tables is done, from 0 to 1"),
    COMPARISON_PASSED("multimed_capture_comparison_passed_timestamp_seconds", null, "when all tables had been compared, since 1970"),
    COMPARISON_ROWS("multimed_capture_comparison_rows_total", null, "rows of the master whose checks went to the satellites"),
    COMPARISON_GIVEN_UP("multimed_capture_comparison_given_up_total", null,
            "pieces of tables that were not compared because their rows stayed locked"),
    COMPARISON_SKIPPED("multimed_capture_comparison_skipped_tables", null,
            "tables that this pass does not compare: no primary key that can be used, changed meanwhile, or too slow to read"),

    APPLY_TRANSACTIONS("multimed_applier_transactions_total", "kind", "transactions committed on the satellite"),
    APPLY_RECORDS("multimed_applier_records_total", "kind", "log records (parts of transactions) written to the satellite"),
    APPLY_ROWS("multimed_applier_rows_total", null, "row changes written from rows records"),
    APPLY_BATCHES("multimed_applier_batches_total", null,
            "packets of row changes sent to the satellite, one round trip each"),
    APPLY_SKIPPED("multimed_applier_skipped_total", null, "transactions that the satellite already had"),
    APPLY_RETRIES("multimed_applier_retries_total", "reason", "transactions rolled back and tried again"),
    APPLY_CONFLICTS("multimed_applier_conflicts_total", null,
            "transactions that waited for an earlier one while a session was free"),
    APPLY_REBUILDS("multimed_applier_rebuilds_total", "reason", "requests to the satellite to clone itself again"),
    APPLY_CHECKS("multimed_applier_checks_total", "result",
            "pieces of tables that were compared: equal; failed: the query did not run, which says nothing"),
    APPLY_OFFSET("multimed_applier_log_offset", null, "log offset after the last transaction committed"),
    APPLY_LIVE("multimed_applier_live", null, "1: records come straight from capture; 0: from the log"),
    APPLY_POSITION("multimed_applier_position_transactions", null, "GTIDs that the satellite has executed"),
    APPLY_LAG("multimed_applier_lag_seconds", null, "age of the transaction in hand; 0 when all of the log is applied"),
    APPLY_COMMIT_TO_VISIBLE("multimed_applier_commit_to_visible_seconds", null,
            "commit on the master to commit acknowledged by the satellite");

    final String name;
    final String label;
    final String help;

    Metric(String name, String label, String help) {
        this.name = name;
        this.label = label;
        this.help = help;
    }
}
