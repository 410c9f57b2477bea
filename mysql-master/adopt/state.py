"""What `make adopt` has done so far, so that a second run knows what is its own.

In:  the file .state/adopt/PROJECT.json. Out: the same, replaced at once.
Must never: hold a password.
"""

import json
import os
import pathlib
import tempfile

EMPTY = {"phase": "none", "schemas": [], "accounts": []}
PHASES = {
    "none": "nothing is adopted",
    "loading": "a load was begun and not finished: make adopt starts it over, CANCEL=drop removes it",
    "loaded": "loaded, not followed",
    "starting": "loaded, and does not follow yet: the same make adopt FOLLOW=1 goes on, without a load; CANCEL=drop removes it",
    "following": "following; make cutover ends it",
    "closing": "a cutover was begun: the source is read-only, all of it is here; make cutover goes on",
    "done": "cut over (CANCEL=keep forgets it, and with it the way back)",
    "returned": "the old server takes the writes again, our master is read-only: make adopt CANCEL=drop ends it",
}


class State:
    def __init__(self, file):
        self.file = pathlib.Path(file)
        self.facts = {**EMPTY, **(json.loads(self.file.read_text()) if self.file.exists() else {})}

    def __getitem__(self, name):
        return self.facts.get(name)

    def keep(self, **facts):
        """On the disk before it returns; where that fails, all is as before."""
        changed = {**self.facts, **facts}
        try:
            self._write(changed)
        except OSError as error:
            # A full disk is told without a file's name.
            raise OSError(error.errno, error.strerror, str(self.file)) from error
        self.facts = changed

    def _write(self, facts):
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=self.file.parent, delete=False) as file:
            new = pathlib.Path(file.name)
            try:
                json.dump(facts, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
                new.replace(self.file)
            finally:
                new.unlink(missing_ok=True)

    def forget(self):
        self.file.unlink(missing_ok=True)
        self.facts = dict(EMPTY)
