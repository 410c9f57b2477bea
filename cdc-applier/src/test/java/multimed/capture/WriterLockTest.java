package multimed.capture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class WriterLockTest {
    @Test
    void nobodyGuessesTheNameOfCapturesLock() {
        String name = WriterLock.name("multimed.log", "secret");
        assertEquals(name, WriterLock.name("multimed.log", "secret"), "all captures must ask for the same");
        assertNotEquals(name, WriterLock.name("multimed.log", "other"));
        assertNotEquals(name, WriterLock.name("other.log", "secret"));
        assertFalse(name.contains("log") || name.contains("secret"));
        assertTrue(name.length() <= 64 && name.equals(name.toLowerCase()), "as GET_LOCK allows");
    }
}
