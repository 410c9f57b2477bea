"""The comparison's pure parts: SQL that it sends, matching of rows, settings. The rest: compare_integration."""

import importlib.machinery
import importlib.util
import pathlib
import random
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "mysql-satellite" / "compare"
loader = importlib.machinery.SourceFileLoader("compare", str(TOOL))
compare = importlib.util.module_from_spec(importlib.util.spec_from_loader("compare", loader))
loader.exec_module(compare)


class Statements(unittest.TestCase):
    def test_names_and_texts_are_quoted(self):
        self.assertEqual(compare.identifier("a`b"), "`a``b`")
        self.assertEqual(compare.literal("o'n\\eil"), "'o''n\\\\eil'")

    def test_rows_come_in_primary_key_order_or_by_content(self):
        columns = [("id", "int"), ("f", "float")]
        query = compare.rows_query("d", "t", columns, ["id"])
        self.assertIn("ORDER BY `id`", query)
        self.assertIn("CAST(`f` AS DOUBLE)", query)
        self.assertIn("ORDER BY SHA2(", compare.rows_query("d", "t", columns, []))

    def test_a_digest_takes_every_column_and_keeps_null_apart(self):
        query = compare.digest_query("d", "t", [("id", "int"), ("c", "char")])
        self.assertIn("IFNULL(`id`,'NULL')", query)
        self.assertIn("HEX(`c`)", query)
        self.assertIn("FROM `d`.`t`", query)

    def test_no_type_is_printed_as_raw_bytes(self):
        for data_type in ("char", "varchar", "text", "blob", "binary", "geometry", "point", "vector", "unknown"):
            self.assertIn("HEX(`c`)", compare.column_expression("c", data_type))

    def test_auto_increment_counter_is_cut_and_nothing_else(self):
        create = (
            "CREATE TABLE `t` (\\n  `id` int NOT NULL AUTO_INCREMENT,\\n  `c` int DEFAULT '7'\\n) ENGINE=InnoDB%s DEFAULT CHARSET=utf8mb4"
        )
        self.assertEqual(compare.definition_of(create % " AUTO_INCREMENT=17", {}), create % "")
        self.assertEqual(compare.definition_of(create % "", {}), create % "")
        commented = create % "" + " COMMENT=') ENGINE=InnoDB AUTO_INCREMENT=3'"
        self.assertEqual(compare.definition_of(commented, {}), commented)


class Matching(unittest.TestCase):
    @staticmethod
    def matched(left, right):
        return compare.common_order([iter(left), iter(right)], lambda row: row[0])

    def test_finds_exactly_what_differs_for_any_rows(self):
        generator = random.Random(1)
        for _ in range(1000):
            left = {key: generator.randint(0, 3) for key in generator.sample(range(40), generator.randint(0, 30))}
            right = dict(left)
            for key in generator.sample(range(40), generator.randint(0, 5)):
                if generator.random() < 0.5:
                    right[key] = generator.randint(0, 3)
                else:
                    right.pop(key, None)
            changed, missing, extra = self.matched(sorted(left.items()), sorted(right.items()))
            self.assertEqual({row[0] for row, _ in changed}, {k for k in left.keys() & right.keys() if left[k] != right[k]})
            self.assertTrue(all(left[a[0]] == a[1] and right[b[0]] == b[1] for a, b in changed))
            self.assertEqual({row[0] for row in missing}, left.keys() - right.keys())
            self.assertEqual({row[0] for row in extra}, right.keys() - left.keys())

    def test_rows_without_key_are_counted(self):
        self.assertEqual(self.matched([("x",), ("x",)], [("x",)]), ([], [("x",)], []))


class Definitions(unittest.TestCase):
    def test_missing_extra_and_changed_are_named_and_password_hashes_are_not_shown(self):
        found = compare.definition_differences(
            ["m", "s"],
            [
                {"table d.a": "x", "account 'u'@'%'": "hash1", "view d.v": [["same"]]},
                {"table d.b": "x", "account 'u'@'%'": "hash2", "view d.v": [["same"]]},
            ],
        )["s"]
        self.assertEqual(found, ["account 'u'@'%': definition differs", "table d.a: missing on s", "table d.b: only on s, not on m"])


class Settings(unittest.TestCase):
    def test_defaults_and_wrong_use(self):
        settings = compare.settings_from({"COMPARE_EXEC": "docker exec -i"})
        self.assertEqual((settings["exec"], settings["timeout"]), (["docker", "exec", "-i"], 120))
        for timeout in ("0", "-1", "x", ""):
            with self.assertRaises(SystemExit) as stopped:
                compare.settings_from({"COMPARE_TIMEOUT_S": timeout})
            self.assertEqual(stopped.exception.code, 64)
        for arguments in (["a"], ["a", "a"], ["--help", "a"]):
            self.assertEqual(compare.main(arguments), 64)


if __name__ == "__main__":
    unittest.main()
