package multimed.apply.sql;

import com.google.protobuf.ByteString;
import multimed.log.proto.Creator;

/**
 * In: who created a routine on the master. Out: SQL that does with that account's privileges what automatic_sp_privileges did there. Pure. Must
 * never: let a name become SQL. To be sent under the session's baseline (see {@link SessionSettings}).
 */
public final class CreatorPrivileges {
    /** The creator gets both privileges on the routine. */
    public static final String GRANT = "grant";
    /** The creator has both privileges without that, or there is no such account. */
    public static final String NONE = "none";

    /**
     * As a replica of MySQL's own: with the account's default roles. The privileges of an account are those on all schemas, those of the row
     * of mysql.db that MySQL takes, and those on the routine. 0 is no, 1 is yes, 2 is not certain.
     *
     * <p>MySQL takes the row of mysql.db with the most specific name, and one account's rows together with its roles'. If the rows differ, only
     * a row of the very name, without wildcards, is certain to be the one. Partial revokes are not looked into.
     */
    private static final String QUESTION = """
            WITH RECURSIVE grantees (u, h, own) AS (
              SELECT User, Host, 1 FROM mysql.user WHERE User = {user} AND Host = {host}
              UNION SELECT d.DEFAULT_ROLE_USER, d.DEFAULT_ROLE_HOST, 0 FROM mysql.default_roles d
                WHERE NOT @@global.activate_all_roles_on_login AND d.USER = {user} AND d.HOST = {host}
                AND (EXISTS (SELECT 1 FROM mysql.role_edges e WHERE e.FROM_USER = d.DEFAULT_ROLE_USER AND e.FROM_HOST = d.DEFAULT_ROLE_HOST
                  AND e.TO_USER = d.USER AND e.TO_HOST = d.HOST) OR {mandatory d.DEFAULT_ROLE_USER d.DEFAULT_ROLE_HOST})
              UNION SELECT FROM_USER, FROM_HOST, 0 FROM mysql.role_edges
                WHERE @@global.activate_all_roles_on_login AND TO_USER = {user} AND TO_HOST = {host}
              UNION SELECT User, Host, 0 FROM mysql.user
                WHERE @@global.activate_all_roles_on_login AND {mandatory User Host}
              UNION SELECT e.FROM_USER, e.FROM_HOST, 0 FROM grantees g JOIN mysql.role_edges e ON e.TO_USER = g.u AND e.TO_HOST = g.h
                WHERE g.own = 0),
            everywhere AS (
              SELECT COALESCE(MAX(m.Execute_priv = 'Y'), 0) AS e, COALESCE(MAX(m.Alter_routine_priv = 'Y'), 0) AS a,
                COALESCE(MAX(0 /*!80016 OR JSON_CONTAINS_PATH(m.User_attributes, 'one', '$.Restrictions') */), 0) AS restricted
              FROM grantees g JOIN mysql.user m ON m.User = g.u AND m.Host = g.h),
            on_routine AS (
              SELECT COALESCE(MAX(FIND_IN_SET('Execute', p.Proc_priv) > 0), 0) AS e,
                COALESCE(MAX(FIND_IN_SET('Alter Routine', p.Proc_priv) > 0), 0) AS a
              FROM grantees g JOIN mysql.procs_priv p ON p.User = g.u AND p.Host = g.h
              WHERE p.Db = {schema} AND p.Routine_name = {routine} AND p.Routine_type = {type}),
            in_schema AS (
              SELECT MAX(d.Execute_priv = 'Y') AS e, MAX(d.Alter_routine_priv = 'Y') AS a,
                MAX(d.Db = {schema} AND {schema} NOT REGEXP '[_%]' AND d.User = g.u AND d.Host = g.h) AS exact
              FROM grantees g JOIN mysql.db d ON d.User IN (g.u, IF(g.own, '', g.u)) AND (d.Host = g.h OR g.h LIKE d.Host)
              WHERE {schema} LIKE d.Db ESCAPE '\\'
              GROUP BY d.Db, IF((SELECT COUNT(*) FROM grantees) > 1, '', CONCAT(d.User, '@', d.Host))),
            held AS (
              SELECT CASE WHEN everywhere.e OR on_routine.e THEN 1 ELSE (SELECT {decided e} FROM in_schema) END AS e,
                CASE WHEN everywhere.a OR on_routine.a THEN 1 ELSE (SELECT {decided a} FROM in_schema) END AS a, restricted
              FROM everywhere JOIN on_routine)
            SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM grantees WHERE own) THEN 'none' WHEN e = 0 OR a = 0 THEN 'grant'
              WHEN e = 2 OR a = 2 OR restricted THEN 'doubt' ELSE 'none' END FROM held
            """.replaceAll("\\{mandatory (\\S+) (\\S+)}", """
            (FIND_IN_SET(CONCAT($1, '@', $2), REGEXP_REPLACE(@@global.mandatory_roles, '[`'' "]', ''))
                  OR $2 = '%' AND FIND_IN_SET($1, REGEXP_REPLACE(@@global.mandatory_roles, '[`'' "]', '')))""")
            .replaceAll("\\{decided (.)}",
                    "CASE WHEN COALESCE(MAX($1), 0) = 0 THEN 0 WHEN MIN($1) = 1 THEN 1 ELSE COALESCE(MAX(IF(exact, $1, NULL)), 2) END");

    private CreatorPrivileges() {}

    /** A query of one word: {@link #GRANT}, {@link #NONE}, or something else if it is not certain. */
    public static String question(Creator creator) {
        SqlBuffer sql = new SqlBuffer();
        int copied = 0;
        for (int from = QUESTION.indexOf('{'); from >= 0; from = QUESTION.indexOf('{', copied)) {
            sql.add(QUESTION.substring(copied, from));
            copied = QUESTION.indexOf('}', from) + 1;
            value(sql, QUESTION.substring(from + 1, copied - 1), creator);
        }
        return sql.add(QUESTION.substring(copied)).text();
    }

    private static void value(SqlBuffer sql, String name, Creator creator) {
        switch (name) {
            case "user" -> quoted(sql, creator.getUser());
            case "host" -> quoted(sql, creator.getHost());
            case "routine" -> quoted(sql, creator.getRoutine());
            case "type" -> quoted(sql, type(creator));
            case "schema" -> {
                sql.add("IF(@@lower_case_table_names = 0, ");
                quoted(sql, creator.getSchema());
                sql.add(", LOWER(");
                quoted(sql, creator.getSchema());
                sql.add("))");
            }
            default -> throw new IllegalArgumentException(name);
        }
    }

    private static void quoted(SqlBuffer sql, String text) {
        sql.addQuoted(ByteString.copyFromUtf8(text));
    }

    private static String type(Creator creator) {
        return creator.getProcedure() ? "PROCEDURE" : "FUNCTION";
    }

    public static String grant(Creator creator) {
        return routine(new SqlBuffer().add("GRANT EXECUTE, ALTER ROUTINE ON "), creator)
                .add(" TO ").addIdentifier(creator.getUser()).add('@').addIdentifier(creator.getHost()).text();
    }

    /** What an attempt has left that ended before the grant. */
    public static String drop(Creator creator) {
        return "DROP " + type(creator) + " IF EXISTS " + routine(new SqlBuffer(), creator).text().substring(type(creator).length() + 1);
    }

    private static SqlBuffer routine(SqlBuffer sql, Creator creator) {
        return sql.add(type(creator)).add(' ').addIdentifier(creator.getSchema()).add('.').addIdentifier(creator.getRoutine());
    }
}
