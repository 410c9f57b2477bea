"""Every data type of MySQL with the values at its edges.

In: nothing; the character sets come from the server. Out: cases {documented name: [(column definition, [SQL values])]}. The names are those
of the table in cdc-applier/LOG.md. Must never: leave out a type that LOG.md names (a test compares both).
"""


def integers(name, bits):
    top, half = 2**bits, 2 ** (bits - 1)
    return [
        (name, [-half, half - 1, 0, -1, 1, "NULL"]),
        (f"{name} UNSIGNED", [0, top - 1, half, half - 1, "NULL"]),
        (f"{name} UNSIGNED ZEROFILL", [0, 7, top - 1]),
        (f"{name} NOT NULL DEFAULT 5", [half - 1, "DEFAULT"]),
    ]


DAYS = ["'1000-01-01'", "'9999-12-31'", "'2024-02-29'", "'1970-01-01'", "'0001-01-01'", "'0099-12-31'", "'1582-10-10'", "NULL"]
CLOCKS = ["00:00:00", "23:59:59", "12:34:56"]


def fractions(name, values):
    """The type with 0 to 6 digits of fraction."""
    return [
        (f"{name}({digits})", [value.replace("}", "." + "9871230000"[:digits] if digits else "") for value in values])
        for digits in range(7)
    ]


TEXTS = {
    "CHAR": "CHAR(60)",
    "VARCHAR": "VARCHAR(3000)",
    "TINYTEXT": "TINYTEXT",
    "TEXT": "TEXT",
    "MEDIUMTEXT": "MEDIUMTEXT",
    "LONGTEXT": "LONGTEXT",
}
TEXT_VALUES = ["''", "'trailing  '", r"'quote\' \" \\ `'", r"'line\n\r\t'", r"'NUL \0 and \Z'", "'%_;--/*#'", "'null'", "NULL"]
EVERY_BYTE = bytes(range(256)).hex()


def text(definition):
    return [(definition, TEXT_VALUES + [f"REPEAT('x', {60 if definition.startswith('CHAR') else 250})"])]


def spatial(name, *shapes):
    plain = [f"ST_GeomFromText('{shape}')" for shape in shapes]
    return [
        (name, plain + ["NULL"]),
        (f"{name} NOT NULL SRID 4326", [f"ST_GeomFromText('{shape}', 4326)" for shape in shapes]),
        (f"{name} SRID 3857", [f"ST_GeomFromText('{shape}', 3857)" for shape in shapes]),
    ]


POINTS = ("POINT(1 2)", "POINT(-0.1 1e-300)")
LINES = ("LINESTRING(0 0,1 1,2 2.5)",)
AREAS = ("POLYGON((0 0,0 1,1 1,1 0,0 0),(0.2 0.2,0.2 0.4,0.4 0.4,0.2 0.2))",)

DOCUMENTS = [
    "'null'",
    "'true'",
    "'[]'",
    "'{}'",
    "'\"text \\\\u0000 \\\\n ü 😀\"'",
    '\'{"": {"a": [1, -1, 1.5, 1e100, true, null, {"b": []}]}}\'',
    "CAST(0 AS JSON)",
    "CAST(18446744073709551615 AS JSON)",
    "CAST(-9223372036854775808 AS JSON)",
    "CAST(CAST(7 AS UNSIGNED) AS JSON)",
    "JSON_ARRAY(32767, 32768, -32769, 65535, 65536, 2147483647, 2147483648, -2147483649, 4294967296)",
    "CAST(1e10 AS JSON)",
    "JSON_ARRAY(-0e0, 5e-324, 1.7976931348623157e308, 1e0, 0.1e0)",
    "JSON_ARRAY(CAST('1.10' AS DECIMAL(10,2)), CAST('-99999999999999999999999999999999999.999999999999999999999999999999' AS DECIMAL(65,30)))",
    "JSON_ARRAY(DATE'2024-01-02', DATE'9999-12-31', CAST('10:11:12.123456' AS TIME(6)), CAST('-838:59:59' AS TIME), CAST('-00:00:00.5' AS TIME(1)))",
    "JSON_ARRAY(TIMESTAMP'2024-01-02 03:04:05.5', CAST('2024-01-02 03:04:05.123456' AS DATETIME(6)))",
    "JSON_OBJECT('bytes', X'00FF10', 'bits', b'101', 'year', CAST(2024 AS YEAR), 'b64', REPEAT(X'FF', 300))",
    "JSON_OBJECT('long', REPEAT('x', 70000), 'more', JSON_ARRAY(REPEAT('ü', 200)))",
    "JSON_ARRAY(ST_GeomFromText('POINT(1 2)'))",
    "NULL",
]

CASES = {
    "TINYINT": integers("TINYINT", 8) + [("BOOLEAN", [0, 1, 2])],
    "SMALLINT": integers("SMALLINT", 16),
    "MEDIUMINT": integers("MEDIUMINT", 24),
    "INT": integers("INT", 32),
    "BIGINT": integers("BIGINT", 64),
    "DECIMAL": [
        ("DECIMAL(65,30)", ["9" * 35 + "." + "9" * 30, "-" + "9" * 35 + "." + "9" * 30, 0, "1e-30", "-1e-30", "NULL"]),
        ("DECIMAL(65,0)", ["9" * 65, "-" + "9" * 65]),
        ("DECIMAL(30,30)", ["0." + "9" * 30, 0]),
        ("DECIMAL(10,2) UNSIGNED ZEROFILL", [1.1, 99999999.99]),
        ("DECIMAL(5,0)", [-99999, 99999]),
        ("NUMERIC(9,9)", ["0.123456789"]),
    ],
    "FLOAT": [
        (
            "FLOAT",
            ["-3.402823466e38", "3.402823466e38", "1.175494351e-38", "1e-45", "-1e-45", "-0e0", "0", "0.1", "1/3", "16777217", "NULL"],
        ),
        ("FLOAT UNSIGNED", ["0", "1e10"]),
        ("FLOAT(7,2)", ["12345.67", "-0.01"]),
    ],
    "DOUBLE": [
        (
            "DOUBLE",
            [
                "-1.7976931348623157e308",
                "1.7976931348623157e308",
                "2.2250738585072014e-308",
                "5e-324",
                "-5e-324",
                "-0e0",
                "0",
                "0.1",
                "1e0/3",
                "9007199254740993",
                "NULL",
            ],
        ),
        ("DOUBLE UNSIGNED", ["0", "1e300"]),
        ("DOUBLE(10,4)", ["123456.7891"]),
    ],
    "DATE": [("DATE", DAYS)],
    "TIME": fractions("TIME", ["'-838:59:59'", "'838:59:59'", "'-00:00:00}'", "'00:00:00}'", "'23:59:59}'", "'-12:34:56}'", "NULL"]),
    "DATETIME": fractions(
        "DATETIME",
        [
            "'1000-01-01 00:00:00'",
            "'9999-12-31 23:59:58}'",
            "'2024-02-29 12:34:56}'",
            "'0001-01-01 00:00:00}'",
            "'1969-12-31 23:59:59}'",
            "NULL",
        ],
    ),
    "TIMESTAMP": fractions(
        "TIMESTAMP", ["'1970-01-01 00:00:01'", "'2038-01-19 03:14:06}'", "'2024-03-31 02:30:00}'", "'2024-10-27 01:30:00}'"]
    )
    + [("TIMESTAMP NULL", ["NULL", "NOW()"])],
    "YEAR": [("YEAR", ["1901", "2155", "'0000'", "0", "2000", "1970", "NULL"])],
    "BIT": [
        ("BIT(1)", ["b'0'", "b'1'", "NULL"]),
        ("BIT(7)", ["b'1111111'"]),
        ("BIT(8)", ["X'80'"]),
        ("BIT(9)", ["b'100000001'"]),
        ("BIT(64)", ["~0", "1", "1 << 63"]),
    ],
    "ENUM": [
        ("ENUM('a','b,c','','é😀','it''s','\"q\"','\\\\','B ')", [1, 2, 3, 4, 5, 6, 7, 8, "0", "NULL"]),
        (f"ENUM({','.join(repr(f'm{i}') for i in range(300))})", [1, 255, 256, 300]),
    ],
    "SET": [
        ("SET('x','y y','','é😀','it''s','\"q\"','\\\\')", [0, 1, 4, 5, 127, "NULL"]),
        (f"SET({','.join(repr(f'm{i}') for i in range(64))})", ["~0", "1 << 63", "0"]),
    ],
    "BINARY": [("BINARY(8)", ["''", "X'00FF'", "X'0102030405060700'", "NULL"]), ("BINARY(255)", [f"X'{EVERY_BYTE[2:]}'"])],
    "VARBINARY": [("VARBINARY(300)", ["''", f"X'{EVERY_BYTE}'", "X'2700'", "NULL"]), ("VARBINARY(60000)", [f"X'{EVERY_BYTE * 200}'"])],
    "TINYBLOB": [("TINYBLOB", [f"X'{EVERY_BYTE[2:]}'", "''", "NULL"])],
    "BLOB": [("BLOB", [f"X'{EVERY_BYTE}'", "''", "NULL"])],
    "MEDIUMBLOB": [("MEDIUMBLOB", [f"REPEAT(X'{EVERY_BYTE}', 300)", "''", "NULL"])],
    "LONGBLOB": [("LONGBLOB", [f"REPEAT(X'{EVERY_BYTE}', 1000)", "''", "NULL"])],
    "JSON": [("JSON", DOCUMENTS)],
    "VECTOR": [
        ("VECTOR(3)", ["STRING_TO_VECTOR('[1,-0.5,1.5e-38]')", "STRING_TO_VECTOR('[0,0,3.4e38]')", "NULL"]),
        ("VECTOR", ["STRING_TO_VECTOR('[1]')"]),
    ],
    "POINT": spatial("POINT", *POINTS),
    "LINESTRING": spatial("LINESTRING", *LINES),
    "POLYGON": spatial("POLYGON", *AREAS),
    "MULTIPOINT": spatial("MULTIPOINT", "MULTIPOINT((0 0),(1 2))"),
    "MULTILINESTRING": spatial("MULTILINESTRING", "MULTILINESTRING((0 0,1 1),(2 2,3 3))"),
    "MULTIPOLYGON": spatial("MULTIPOLYGON", "MULTIPOLYGON(((0 0,0 1,1 1,0 0)))"),
    "GEOMETRYCOLLECTION": spatial("GEOMETRYCOLLECTION", "GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(0 0,1 1))", "GEOMETRYCOLLECTION EMPTY"),
    "GEOMETRY": spatial("GEOMETRY", *POINTS, *LINES, *AREAS),
    **{name: text(definition) for name, definition in TEXTS.items()},
}


def charset_values(charset):
    """Values for a text column of that character set: everything in the Basic Multilingual Plane that it has (what it lacks becomes '?')."""
    values = ["''", "NULL"]
    for start in range(0x20, 0x10000, 0x400):
        points = [p for p in range(start, min(start + 0x400, 0x10000)) if not 0xD800 <= p < 0xE000 and p != 0xFFFD]
        if points:
            values.append(f"CONVERT(_utf8mb4 X'{''.join(map(chr, points)).encode().hex()}' USING {charset})")
    return values + [f"CONVERT(_utf8mb4 X'{'😀𠮷𐍈'.encode().hex()}' USING {charset})"]


def odd_bytes(charset, longest):
    """Every byte, where a character is one; else first bytes with second bytes that look like quotes, backslashes and letters; and the
    character that stands for what could not be decoded."""
    pairs = [
        f"CONVERT(X'{first:02X}{second:02X}' USING {charset})"
        for first in range(0x80, 0x100)
        for second in (0x27, 0x40, 0x5C, 0x60, 0x7E, 0x80, 0xA1, 0xFE)
    ]
    return [f"CONVERT(_utf8mb4 X'EFBFBD' USING {charset})", *([f"CONVERT(X'{EVERY_BYTE}' USING {charset})"] if longest == 1 else pairs)]
