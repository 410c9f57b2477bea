package multimed.capture.tables;

import java.util.List;
import java.util.Map;
import multimed.binlog.TableName;
import multimed.gtid.GtidSet;

/**
 * What there is on the master, as far as it says what reading a name reads.
 *
 * @param before what the master had executed before the catalog was read
 * @param after what it had executed, or was about to, after that: a definition that shows is in there
 * @param unfinished some of that was only about to be executed
 * @param lowerCase whether the master compares names in lower case
 * @param views what each view reads, other views among them; no list if it calls a stored function
 * @param cascades whose rows change with whose: child and parent of foreign keys that cascade
 * @param tables base tables
 * @param definitions of all views whose text can be read, and if one of them calls functions, of all functions
 */
record Catalog(GtidSet before, GtidSet after, boolean unfinished, boolean lowerCase, Map<TableName, List<TableName>> views,
        List<Cascade> cascades,
        List<TableName> tables, List<Definition> definitions) {

    record Cascade(TableName child, TableName parent) {}

    /**
     * @param parameters of a function
     * @param text as {@link multimed.sqltext.DefinitionText} has it
     */
    record Definition(boolean function, TableName name, List<String> parameters, String text) {}
}
