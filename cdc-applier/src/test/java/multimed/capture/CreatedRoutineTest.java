package multimed.capture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import java.util.Map;
import multimed.capture.Verdict.AsRebuild;
import multimed.capture.Verdict.AsStatement;
import multimed.log.proto.Creator;
import multimed.log.proto.Statement;
import multimed.master.Collations;
import multimed.master.Collations.Collation;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Who created which routine, as the record says it. */
class CreatedRoutineTest {
    private static final int UTF8 = 255;
    private static final Collations COLLATIONS = new Collations(Map.of(UTF8, new Collation("utf8mb4_0900_ai_ci", "utf8mb4")));

    private static TestQuery by(String user, String host) {
        return new TestQuery().charset(UTF8, UTF8).invoker(user, host);
    }

    private static Statement statement(TestQuery query, String sql) {
        return assertInstanceOf(AsStatement.class, new Statements(COLLATIONS, "UTC").verdict(query.of(sql))).statement();
    }

    private static Creator creator(String schema, String routine, boolean procedure) {
        return Creator.newBuilder().setUser("o'b`r\\é").setHost("10.%").setSchema(schema).setRoutine(routine).setProcedure(procedure)
                .build();
    }

    @Test
    void the_creator_of_a_routine_is_in_the_record() {
        TestQuery query = by("o'b`r\\é", "10.%").atomic();
        assertEquals(creator("app", "f", false),
                statement(query, "CREATE DEFINER=`root`@`%` FUNCTION `app`.`f`(a INT) RETURNS int\n    DETERMINISTIC\nRETURN a")
                        .getCreator());
        assertEquals(creator("", "p", true), statement(query, "CREATE DEFINER=`root`@`%` PROCEDURE `p`()\nSELECT 1").getCreator());
        assertEquals(creator("a`.`b", "é(\"", true),
                statement(query, "CREATE DEFINER=`a`@`PROCEDURE x(` PROCEDURE IF NOT EXISTS `a``.``b`.`é(\"`()\nSELECT 1").getCreator());
        assertEquals(creator("app", "a\"b", false),
                statement(query.mode(TestQuery.ANSI_QUOTES),
                        "CREATE DEFINER=\"a\"@\"%\" FUNCTION \"app\".\"a\"\"b\"() RETURNS int\nRETURN 1")
                        .getCreator());
    }

    @Test
    void a_routine_whose_name_is_not_certain_is_a_rebuild() {
        assertInstanceOf(AsRebuild.class, new Statements(COLLATIONS, "UTC")
                .verdict(by("a", "%").atomic().of("CREATE DEFINER=`a`@`%` /* */ FUNCTION `f`() RETURNS int RETURN 1")));
    }

    @Test
    void what_created_nothing_has_no_creator() {
        String sql = "CREATE DEFINER=`root`@`%` FUNCTION IF NOT EXISTS `f`() RETURNS int\nRETURN 1";
        assertFalse(statement(by("a", "%"), sql).hasCreator());
        assertFalse(statement(new TestQuery().charset(UTF8, UTF8).atomic(), sql).hasCreator());
        assertFalse(statement(by("a", "%").atomic(), "DROP FUNCTION f").hasCreator());
    }

    @ParameterizedTest
    @ValueSource(strings = {"DROP FUNCTION f", "/* x */ drop\nprocedure if exists p", "/*! DROP FUNCTION f */"})
    void the_setting_is_asked_where_a_routine_may_be_dropped(String sql) {
        assertTrue(RoutinePrivileges.dependsOn(Statement.newBuilder().setSql(ByteString.copyFromUtf8(sql)).build()));
    }

    @Test
    void the_setting_is_asked_where_a_routine_is_created_and_not_else() {
        assertTrue(RoutinePrivileges.dependsOn(Statement.newBuilder().setCreator(Creator.getDefaultInstance()).build()));
        for (String sql : new String[] {"DROP TABLE t", "CREATE TABLE t (a INT)", "GRANT EXECUTE ON FUNCTION f TO u"}) {
            assertFalse(RoutinePrivileges.dependsOn(Statement.newBuilder().setSql(ByteString.copyFromUtf8(sql)).build()), sql);
        }
    }
}
