"""Users, roles and what they may, from an existing MySQL to our master.

In:  a Clients with `source` and `master`. Out: the accounts on the master, with their passwords; what was left out of their privileges.
Must never: give what bypasses the binlog (plan.WITHHELD), leave something out in silence, or show a password's hash.
"""

import collections

import plan

QUOTED = "SET SESSION sql_mode = '', SESSION sql_quote_show_create = ON"
AS_HEX = "SET SESSION print_identified_with_as_hex = ON"
# Before it, the bytes of a hash stand in SHOW CREATE USER as they are.
HAS_AS_HEX = (8, 0, 17)


# Names; statements that make them, name their default roles, and give privileges; what is left out of these.
Accounts = collections.namedtuple("Accounts", "names users defaults grants left_out")


def read(there, mine, schemas, kept=(), coming=()):
    """All accounts but the system's and `mine`, in the order of their names. Those in `kept` are here already and stay as they are: of them
    come only privileges on the schemas that are `coming`."""
    listed = there.run("source", "SELECT user, host FROM mysql.user ORDER BY user, host;")
    theirs = [(user, host) for user, host in listed if not plan.own_account(user, mine)]
    names = [name for name in theirs if name not in kept]
    known = {row[0].upper() for row in there.run("master", "SHOW PRIVILEGES;")}
    users, defaults, grants, left_out = [], [], [], []
    session = there.session("source")
    session.run(QUOTED)
    has_as_hex = plan.version_of(there.value("source", "@@version")) >= HAS_AS_HEX
    if has_as_hex:
        session.run(AS_HEX)
    for name in names:
        who = plan.account(*name)
        created = session.run(f"SHOW CREATE USER {who}")[0][0]
        if not has_as_hex:
            user, host = map(plan.text, name)
            (hash_as_hex,) = session.run(f"SELECT HEX(authentication_string) FROM mysql.user WHERE user = {user} AND host = {host}")[0]
            created = plan.with_hash(created, hash_as_hex)
        user, default = plan.create_user(created)
        users.append(user)
        if default:
            defaults.append(f"ALTER USER {who} DEFAULT ROLE {default}")
        given, without = plan.grants([row[0] for row in session.run(f"SHOW GRANTS FOR {who}")], known, schemas)
        grants += given
        left_out += [f"{name[0]}@{name[1]}: {each}" for each in without]
    for name in kept:
        if name in theirs:
            grants += plan.grants_on([row[0] for row in session.run(f"SHOW GRANTS FOR {plan.account(*name)}")], coming)
    session.close()
    return Accounts(names, users, defaults, grants, left_out)


def make(there, old, users, first):
    """The accounts anew, so that nothing stays of what they were; without privileges yet."""
    drops = [f"DROP USER IF EXISTS {plan.account(*name)}" for name in old]
    there.run("master", script(first, [*drops, *users]))


def grant(there, copy, first):
    there.run("master", script(first, [*copy.grants, *copy.defaults]))


def script(first, statements):
    return "".join(f"{each};\n" for each in [first, "SET SESSION sql_mode = ''", *statements])
