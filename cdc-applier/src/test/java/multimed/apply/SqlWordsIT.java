package multimed.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import multimed.mysql.PipelinedConnection;
import multimed.mysql.QueryText;
import multimed.sqltext.SqlWords;
import org.junit.jupiter.api.Test;

/** What is white space and what ends {@code --} depends on the client's character set: each byte of each, as a real server reads it. */
class SqlWordsIT {
    private static final String CHARSETS = "SELECT GROUP_CONCAT(character_set_name) FROM information_schema.character_sets"
            + " WHERE character_set_name NOT IN ('ucs2', 'utf16', 'utf16le', 'utf32')";

    @Test
    void everyByteSeparatesWordsAndEndsCommentsAsOnTheServer() throws Exception {
        List<String> wrong = new ArrayList<>();
        int blanks = 0;
        TestMysql server = TestMysql.satellite("words");
        try (PipelinedConnection connection = PipelinedConnection.open(server.address(), 3306, TestMysql.USER, TestMysql.PASSWORD, 5000)) {
            for (String charset : connection.text(CHARSETS).split(",")) {
                connection.execute("SET NAMES " + charset);
                for (int b = 0x7f; b <= 0xff; b++) {
                    byte[] space = latin1("SELECT" + (char) b + "1");
                    byte[] comment = latin1("SELECT 1 --" + (char) b + "' \n");
                    String at = charset + String.format(" %02x", b);
                    if (isRun(connection, space)) {
                        blanks++;
                        check(wrong, "space " + at, List.of("SELECT", "1"), SqlWords.of(space, true, charset));
                    }
                    if (isRun(connection, comment)) {
                        byte[] more = latin1("SELECT 1 --" + (char) b + "' \n, b --" + (char) b + "'");
                        check(wrong, "comment " + at, List.of("SELECT", "1", "B"), SqlWords.of(more, true, charset));
                    }
                }
            }
        }
        assertEquals(List.of(), wrong);
        assertEquals(true, blanks > 5, "no blanks were found");
    }

    private static byte[] latin1(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    private static boolean isRun(PipelinedConnection connection, byte[] sql) {
        try {
            connection.textAlone(new QueryText().add(sql), 0);
            return true;
        } catch (SQLException e) {
            return false;
        }
    }

    private static void check(List<String> wrong, String what, List<String> expected, List<String> words) {
        if (!words.equals(expected)) {
            wrong.add(what + ": " + Arrays.toString(words.toArray()));
        }
    }
}
