package multimed.sqltext;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class RedefinitionTest {
    private static String names(String sql) {
        return Redefinition.names(sql).stream().map(n -> (n.schema() == null ? "" : n.schema() + ".") + n.name())
                .collect(Collectors.joining(" "));
    }

    @Test
    void onlyTheNamesThatStandForSomethingElseAreThere() {
        assertEquals("v", names("CREATE ALGORITHM=UNDEFINED DEFINER=`u`@`%` SQL SECURITY DEFINER VIEW `v` AS SELECT `a`.`b` FROM `t`"));
        assertEquals("d.v", names("create or replace view d . v (a) as select 1"));
        assertEquals("f``x", names("CREATE DEFINER=`view`@`%` FUNCTION IF NOT EXISTS `f````x`(a INT) RETURNS INT RETURN 'VIEW x'"));
        assertEquals("a d.b c e", names("RENAME TABLE a TO d.b, /* x */ `c` TO e"));
    }

    /** Under NO_BACKSLASH_ESCAPES {@code '\\'} is a whole string: what is taken for a name here may be a client's text. */
    @Test
    void aNameLongerThanTheStackIsRead() {
        String text = "x".repeat(1_000_000);
        assertEquals("v", names("CREATE VIEW v AS SELECT '\\' AS a, '`" + text + "`' AS b -- '"));
        assertEquals(text, names("CREATE VIEW `" + text + "` AS SELECT 1"));
    }

    @Test
    void whatIsNotUnderstoodMayBeAnyName() {
        for (String sql : List.of("CREATE DEFINER=view@h VIEW v AS SELECT 1", "CREATE VIEW `ä` AS SELECT 1", "RENAME TABLE a TO b c",
                "RENAME USER a TO b", "CREATE /*!50000 VIEW */ v", "CREATE FUNCTION IF f", "x", "CREATE VIEW",
                "ALTER")) {
            assertEquals("", names(sql), sql);
        }
    }
}
