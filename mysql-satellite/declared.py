#!/usr/bin/env python3
"""Reads multimed.yml: what the machine's owner declares of the servers on it.

usage: declared.py [FILE]

In:  FILE, YAML as multimed.schema.json describes it; without one, or if it is not there, the schema's defaults.
Out: a line NAME=value for each setting that has a value, under the schema's names (x-setting), and for satellite n of a list
     SATELLITE_n_CPUS and the like. For each mistake in FILE a line of stderr, then exit status 64; the other lines come all the same.
Must never: take a value that the schema does not know, or of a key that stands there twice the last.
"""

import json
import pathlib
import re
import sys

INTEGER, FLOAT = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"
SCHEMA = json.loads((pathlib.Path(__file__).parent / "multimed.schema.json").read_text())


def main():
    mistakes, document = [], {}
    file = pathlib.Path(sys.argv[1]) if sys.argv[1:] and sys.argv[1] else None
    if file and file.exists():
        # Whoever has no such file needs neither library.
        try:
            document, mistakes = read(file.read_bytes())
        except OSError as error:
            mistakes = [error.strerror]
    for name, value in settings(document):
        print(f"{name}={value}")
    for mistake in mistakes:
        print(f"{file.name}: {mistake}", file=sys.stderr)
    return 64 if mistakes else 0


def read(text):
    """({…}, [mistake]): what is right of it."""
    import jsonschema
    import yaml

    class Loader(yaml.SafeLoader):
        """Two keys of one name are a mistake, not the second one's value; and a number is what people write, not 010 (8) or 1:30 (90)."""

        yaml_implicit_resolvers = {
            first: [each for each in some if each[0] not in (INTEGER, FLOAT)]
            for first, some in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

        def compose_mapping_node(self, anchor):
            node, seen = super().compose_mapping_node(anchor), set()
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    raise yaml.composer.ComposerError(None, None, "a key is a list or has keys itself", key.start_mark)
                if key.value in seen:
                    raise yaml.composer.ComposerError(None, None, f"{key.value!r} stands there twice", key.start_mark)
                seen.add(key.value)
            return node

    Loader.add_implicit_resolver(INTEGER, re.compile(r"[-+]?(0|[1-9][0-9]*)$"), list("-+0123456789"))
    Loader.add_implicit_resolver(FLOAT, re.compile(r"[-+]?(0|[1-9][0-9]*)?\.[0-9]+$"), list("-+.0123456789"))
    try:
        document = yaml.load(text, Loader)  # noqa: S506 (a SafeLoader)
        document = {} if document is None else said_in(document, SCHEMA)
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        return {}, [f"line {where.line + 1}: {error.problem}" if where else " ".join(str(error).split())]
    except RecursionError:
        return {}, ["something in it is a part of itself, or too deep"]
    except ValueError as error:
        return {}, [str(error)]
    mistakes = []
    for error in sorted(
        jsonschema.Draft202012Validator(SCHEMA).iter_errors(document), key=lambda error: list(map(str, error.absolute_path))
    ):
        mistakes.append(said(error))
        document = without(document, error)
    return document, mistakes


def said_in(value, schema):
    """Without those of the schema's keys that have no value. Others are mistakes, also without one."""
    if isinstance(value, list):
        return [said_in(each, schema.get("items", {})) for each in value]
    if not isinstance(value, dict):
        return value
    known = schema.get("properties", {})
    return {key: said_in(each, known.get(key, {})) for key, each in value.items() if each is not None or key not in known}


def said(error):
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path).lstrip(".")
    if error.validator == "not":
        return f"{place}: count and list together; a list says by itself how many there are"
    if error.validator == "pattern":
        return f"{place}: {error.instance!r} is not {error.schema['description']}"
    message = f"{place}: {error.message}" if place else error.message
    if error.validator == "additionalProperties" and any(re.fullmatch(r"[0-9-]+", str(key)) for key in error.instance):
        message += '; between braces a list of cores needs quotes, like {cpus: "0-3,8"}'
    return message


def without(document, error):
    """The document without what the mistake is in."""
    path = list(error.absolute_path)
    if not path or error.validator in ("additionalProperties", "not"):
        # The rest of this part is right.
        return document if isinstance(document, dict) else {}
    *parents, last = path
    place = document
    for part in parents:
        place = place[part]
    if isinstance(place, list):
        place[last] = None
    else:
        place.pop(last, None)
    return document


def settings(document):
    """(NAME, value) of everything that has one."""
    for name, value in leaves(SCHEMA["properties"], document):
        if name != "SATELLITES" or not (document.get("satellites") or {}).get("list"):
            yield name, value
    satellites = (document.get("satellites") or {}).get("list") or []
    if satellites:
        yield "SATELLITES", len(satellites)
    own = SCHEMA["properties"]["satellites"]["properties"]["list"]["items"]["properties"]
    for number, satellite in enumerate(satellites, 1):
        for name, value in leaves(own, satellite or {}):
            yield f"SATELLITE_{number}_{name}", value


def leaves(properties, given):
    for key, schema in properties.items():
        value = (given or {}).get(key)
        if "properties" in schema:
            yield from leaves(schema["properties"], value)
        elif "x-setting" in schema:
            value = schema.get("default") if value is None else value
            if value is not None:
                yield schema["x-setting"], ",".join(f"{server}:3306" for server in value if server) if isinstance(value, list) else value


if __name__ == "__main__":
    sys.exit(main())
