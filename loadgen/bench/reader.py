"""Reads a bench's settings from the environment, one after the other; what is wrong is collected.

In:  the environment, as the bench's shell script fills it in. Out: values, and `mistakes`, one line each. Must never: stop at the first.
"""


class Reader:
    def __init__(self, environment):
        self._environment = environment
        self.mistakes = []

    def text(self, name):
        return self._environment.get(name, "")

    def number(self, name, least=1, most=10**9):
        value = self.text(name)
        if self._fits(value, least, most):
            return int(value)
        self.mistakes.append(f"{name}={value}: a whole number from {least} to {most} is needed")
        return least

    def numbers(self, name, most):
        """None at all is right, too."""
        values = self.text(name).split()
        bad = [value for value in values if not self._fits(value, 1, most)]
        self.mistakes.extend(f"{name}: {value} is not a whole number from 1 to {most}" for value in bad)
        return () if bad else tuple(sorted(set(map(int, values))))

    def words(self, name, known):
        """In the order of those that are known; at least one."""
        values = self.text(name).split()
        bad = [value for value in values if value not in known]
        self.mistakes.extend(f"{name}: {value} is not known; known: {' '.join(known)}" for value in bad)
        if not values:
            self.mistakes.append(f"{name}: at least one is needed of: {' '.join(known)}")
        return tuple(word for word in known if word in values)

    def require_good(self):
        """ValueError with all mistakes, one a line."""
        if self.mistakes:
            raise ValueError("\n".join(self.mistakes))

    @staticmethod
    def _fits(value, least, most):
        return value.isascii() and value.isdigit() and len(value) <= 10 and least <= int(value) <= most
