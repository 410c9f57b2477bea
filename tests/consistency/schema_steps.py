"""Definitions and changes at random, and questions about what they make.

In: what tables and views there are, a source of randomness. Out: SQL for the master, and SQL for a reader. Pure. Must never: need to
know whether a statement succeeded; many don't, and nothing follows from that but their error.

All tables and views have the columns id, k and v. Names are few, so that they come back: a view where a table was.
"""

from dataclasses import dataclass

SCHEMAS = ("random_schema", "random_schema_too")
NAMES = tuple(f"n{i}" for i in range(8))
IDS = 6
COLUMNS = "(id INT PRIMARY KEY, k INT UNIQUE, v INT"


@dataclass(frozen=True)
class There:
    """What there is, by its qualified name."""

    tables: tuple
    views: tuple

    @property
    def all(self):
        return (*self.tables, *self.views)


class Steps:
    def __init__(self, choose):
        self.choose = choose
        self.number = 0

    def a_name(self):
        return f"{SCHEMAS[self.choose.random() < 0.2]}.{self.choose.choice(NAMES)}"

    def one(self, among):
        return self.choose.choice(among) if among else self.a_name()

    def next_number(self):
        self.number += 1
        return self.number

    # --- definitions ------------------------------------------------------------------------------------------------

    def definition(self, there):
        if len(there.tables) < 3:
            return self.table(there)
        kinds = (
            (self.table, 4 if len(there.tables) < 5 else 1),
            (self.child, 3),
            (self.view, 4),
            (self.routine, 2),
            (self.trigger, 2),
            (self.renaming, 3),
            (self.dropping, 2),
            (self.alteration, 2),
        )
        return self.choose.choices([make for make, _ in kinds], [weight for _, weight in kinds])[0](there)

    def table(self, there):
        name, like = self.a_name(), self.one(there.tables)
        return self.choose.choice(
            (
                [f"CREATE TABLE {name} {COLUMNS})", *(f"INSERT INTO {name} VALUES ({i}, {i}, {self.next_number()})" for i in range(IDS))],
                [f"CREATE TABLE {name} LIKE {like}", f"INSERT INTO {name} SELECT * FROM {like}"],
                [f"CREATE TABLE {name} {COLUMNS}) SELECT id, k, v FROM {self.one(there.all)}"],
            )
        )

    def child(self, there):
        name, parent = self.a_name(), self.one(there.tables)
        deleting = self.choose.choice(("CASCADE", "SET NULL"))
        key = f"FOREIGN KEY (k) REFERENCES {parent} (k) ON UPDATE CASCADE ON DELETE {deleting}"
        return [f"CREATE TABLE {name} {COLUMNS}, {key})", f"INSERT IGNORE INTO {name} SELECT id, k, v FROM {parent}"]

    def view(self, there):
        a, b = self.one(there.all), self.one(there.all)
        query = self.choose.choice(
            (
                f"SELECT id, k, v FROM {a}",
                f"SELECT x.id, x.k, y.v FROM {a} x JOIN {b} y ON y.id = x.id",
                f"SELECT id, k, v FROM {a} UNION ALL SELECT id, k, v FROM {b}",
                f"SELECT id, k, (SELECT SUM(v) FROM {b}) v FROM {a}",
                f"SELECT id, k, {SCHEMAS[0]}.{self.a_function()}() v FROM {a}",
            )
        )
        return [f"CREATE OR REPLACE VIEW {self.one(there.views) if self.choose.random() < 0.3 else self.a_name()} AS {query}"]

    def a_function(self):
        return self.choose.choice(("f0", "f1"))

    def routine(self, there):
        name = f"{SCHEMAS[0]}.{self.a_function()}"
        body = f"RETURNS BIGINT READS SQL DATA RETURN (SELECT COALESCE(SUM(v), 0) FROM {self.one(there.all)})"
        return [f"DROP FUNCTION IF EXISTS {name}", f"CREATE FUNCTION {name}() {body}"]

    def trigger(self, there):
        table, other = self.one(there.tables), self.one(there.tables)
        name = f"{table.split('.')[0]}.g{self.choose.randrange(4)}"
        event = self.choose.choice(("UPDATE", "INSERT"))
        change = f"UPDATE {other} SET v = v + 100 WHERE id = NEW.id"
        return [f"DROP TRIGGER IF EXISTS {name}", f"CREATE TRIGGER {name} AFTER {event} ON {table} FOR EACH ROW {change}"]

    def renaming(self, there):
        a, b = self.one(there.tables), self.one(there.tables)
        return [
            self.choose.choice(
                (
                    f"RENAME TABLE {a} TO {self.a_name()}",
                    f"RENAME TABLE {a} TO {SCHEMAS[0]}.between, {b} TO {a}, {SCHEMAS[0]}.between TO {b}",
                    f"RENAME TABLE {self.one(there.views)} TO {SCHEMAS[0]}.{self.choose.choice(NAMES)}",
                )
            )
        ]

    def dropping(self, there):
        if there.views and self.choose.random() < 0.5:
            return [f"DROP VIEW {self.one(there.views)}"]
        # Else too few are left.
        return [f"DROP TABLE {self.one(there.tables)}"] if len(there.tables) > 4 else []

    def alteration(self, there):
        table = self.one(there.tables)
        return [
            self.choose.choice(
                (
                    f"ALTER TABLE {table} ADD COLUMN c{self.next_number()} INT DEFAULT 7",
                    f"ALTER TABLE {table} MODIFY v BIGINT",
                    f"TRUNCATE TABLE {table}",
                    f"ALTER TABLE {table} COMMENT 'again'",
                )
            )
        ]

    # --- changes ----------------------------------------------------------------------------------------------------

    def changes(self, there):
        """One transaction on one to three tables."""
        some = [self.change(self.one(there.tables)) for _ in range(self.choose.choice((1, 1, 2, 3)))]
        return some if len(some) == 1 else ["START TRANSACTION", *some, "COMMIT"]

    def change(self, table):
        some = self.choose.randrange(IDS)
        return self.choose.choice(
            (
                f"UPDATE {table} SET v = {self.next_number()} WHERE id = {some}",
                f"UPDATE {table} SET v = {self.next_number()}",
                f"UPDATE {table} SET k = {1000 + self.next_number()} WHERE id = {some}",
                f"DELETE FROM {table} WHERE id = {some}",
                f"REPLACE INTO {table} (id, k, v) VALUES ({some}, {1000 + self.next_number()}, {self.next_number()})",
            )
        )

    # --- questions --------------------------------------------------------------------------------------------------

    def question(self, there):
        a, b = self.one(there.all), self.one(there.all)
        if self.choose.random() < 0.05:
            a = self.a_name()
        # As from a session in the first schema.
        shown = [name.removeprefix(f"{SCHEMAS[0]}.") if self.choose.random() < 0.7 else name for name in (a, b)]
        queries = self.choose.choice(
            (
                ["SELECT * FROM {0}"],
                ["SELECT * FROM {0}"],
                ["SELECT id, v FROM {0}"],
                ["SELECT COUNT(*), SUM(x.v), SUM(y.v) FROM {0} x JOIN {1} y ON y.id = x.id"],
                ["SELECT v FROM {0} WHERE id IN (SELECT id FROM {1})"],
                ["WITH x AS (SELECT * FROM {0}) SELECT SUM(v) FROM x"],
                ["TABLE {0}"],
                ["SELECT * FROM {0}", "SELECT SUM(v) FROM {1}"],
            )
        )
        # TABLE is no query whose tables the gate knows: among declared tables it is refused.
        in_transaction = self.choose.random() < 0.3 and queries != ["TABLE {0}"]
        return Question(tuple(shown), [query.format(*shown) for query in queries], in_transaction)


@dataclass(frozen=True)
class Question:
    tables: tuple
    queries: list
    in_transaction: bool

    @property
    def opening(self):
        return f"START TRANSACTION READ ONLY /* multimed: tables={','.join(self.tables)} */"
