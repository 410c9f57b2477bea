package multimed.capture.tables;

import static org.junit.jupiter.api.Assertions.assertEquals;

import multimed.gtid.GtidSet;
import org.junit.jupiter.api.Test;

class CatalogReaderTest {
    private static final String ONE = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
    private static final String OTHER = "16161616-71ca-11e1-9e33-c80aa9429562";

    @Test
    void ownersAreNoNumbers() {
        assertEquals(GtidSet.EMPTY, CatalogReader.owned(""));
        assertEquals(GtidSet.parse(ONE + ":7-8," + OTHER + ":9"), CatalogReader.owned(ONE + ":7#16:8#15" + OTHER + ":9#3"));
        assertEquals(GtidSet.parse(ONE + ":7," + OTHER + ":9"), CatalogReader.owned(ONE + ":7#1616" + OTHER + ":9#3"));
    }
}
