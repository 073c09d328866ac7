"""The program's exit codes as exceptions, with its own words."""

from __future__ import annotations


class NeardupError(RuntimeError):
    """The program failed. `code` is its exit code, the message what it said."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class UsageError(NeardupError):
    """Exit code 2: an argument or a setting is wrong."""


class SkippedError(NeardupError):
    """Exit code 3: the run is done, but records were skipped and strict was asked for."""


class IncompleteError(NeardupError):
    """Exit code 4: the run is incomplete, or rows were not conserved."""


class ConfigurationError(NeardupError):
    """Exit code 10: the run directory is of another configuration."""


_BY_CODE: dict[int, type[NeardupError]] = {
    2: UsageError,
    3: SkippedError,
    4: IncompleteError,
    10: ConfigurationError,
}


def error(code: int, said: str) -> NeardupError:
    """The exception of an exit code; said is the program's standard error."""
    words = [line for line in said.splitlines() if line.startswith("neardup: ")]
    message = "\n".join(line.removeprefix("neardup: ") for line in words) or said.strip()
    return _BY_CODE.get(code, NeardupError)(code, message or f"the program ended with {code}")
