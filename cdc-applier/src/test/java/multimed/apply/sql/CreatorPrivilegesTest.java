package multimed.apply.sql;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import multimed.log.proto.Creator;
import org.junit.jupiter.api.Test;

class CreatorPrivilegesTest {
    private static final Creator CREATOR = Creator.newBuilder().setUser("o'b`r\\").setHost("10.%").setSchema("a`b").setRoutine("{user}'; x")
            .build();

    @Test
    void aNameCannotBecomeSql() {
        assertEquals("GRANT EXECUTE, ALTER ROUTINE ON FUNCTION `a``b`.`{user}'; x` TO `o'b``r\\`@`10.%`", CreatorPrivileges.grant(CREATOR));
        assertEquals("DROP FUNCTION IF EXISTS `a``b`.`{user}'; x`", CreatorPrivileges.drop(CREATOR));
        String question = CreatorPrivileges.question(CREATOR);
        assertTrue(question.contains("User = 'o''b`r\\' AND Host = '10.%'"), question);
        assertTrue(question.contains("p.Routine_name = '{user}''; x' AND p.Routine_type = 'FUNCTION'"), question);
    }

    @Test
    void aProcedureIsOne() {
        Creator procedure = CREATOR.toBuilder().setRoutine("p").setProcedure(true).build();
        assertEquals("DROP PROCEDURE IF EXISTS `a``b`.`p`", CreatorPrivileges.drop(procedure));
        assertTrue(CreatorPrivileges.grant(procedure).startsWith("GRANT EXECUTE, ALTER ROUTINE ON PROCEDURE "));
        assertTrue(CreatorPrivileges.question(procedure).contains("p.Routine_type = 'PROCEDURE'"));
        assertFalse(CreatorPrivileges.question(procedure).contains("{"));
    }
}
