# SPDX-License-Identifier: Apache-2.0
"""Typed access to a JSON object, where each failure names the file and the field."""

from __future__ import annotations

import pathlib
from typing import Any, Iterator


LARGEST = 2.0 ** 64  # nothing counts further


class RunError(Exception):
    """A run that cannot be used: one line that names file and field."""


def describe(value: Any) -> str:
    """A JSON value for a message, cut to a length that fits a line."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


class Fields:
    """One JSON object of a file, and the path that leads to it."""

    def __init__(self, file: pathlib.Path, path: str, value: Any) -> None:
        self.file = file
        self.path = path
        if not isinstance(value, dict):
            raise RunError(f"{file}: {path or 'top level'}: want an object, "
                           f"found {describe(value)}")
        self.value: dict[str, Any] = value

    def where(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def error(self, key: str, text: str) -> RunError:
        return RunError(f"{self.file}: {self.where(key)}: {text}")

    def wrong(self, key: str, want: str) -> RunError:
        return self.error(key, f"want {want}, found {describe(self.value[key])}")

    def has(self, key: str) -> bool:
        return key in self.value

    def any(self, key: str) -> Any:
        if key not in self.value:
            raise self.error(key, "missing")
        return self.value[key]

    def object(self, key: str) -> Fields:
        return Fields(self.file, self.where(key), self.any(key))

    def text(self, key: str, *, empty: bool = False) -> str:
        value = self.any(key)
        if not isinstance(value, str) or not (value or empty):
            raise self.wrong(key, "a string" if empty else "a non-empty string")
        return value

    def text_or_null(self, key: str) -> str:
        """Null, the recorder's word for 'there is none', becomes an empty string."""
        value = self.any(key)
        if value is not None and not isinstance(value, str):
            raise self.wrong(key, "a string or null")
        return value or ""

    def integer_or_null(self, key: str, *, least: int) -> int:
        return 0 if self.any(key) is None else self.integer(key, least=least)

    def choice(self, key: str, allowed: tuple[str, ...]) -> str:
        value = self.any(key)
        if value not in allowed:
            raise self.wrong(key, "one of " + ", ".join(allowed))
        return str(value)

    def flag(self, key: str) -> bool:
        value = self.any(key)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def integer(self, key: str, *, least: int) -> int:
        value = self.any(key)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.wrong(key, f"an integer of at least {least}")
        return value

    def number(self, key: str) -> float:
        """A number from 0 to LARGEST."""
        value = self.any(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.wrong(key, "a number")
        if not 0 <= value <= LARGEST:  # NaN is not
            raise self.wrong(key, "a number from 0 to 2^64")
        return float(value)

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.any(key)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.wrong(key, "a list of strings")
        return tuple(value)

    def mapping(self, key: str) -> dict[str, str]:
        """An object of plain values, each as text."""
        fields = self.object(key)
        for name, value in fields.value.items():
            if isinstance(value, (dict, list)):
                raise fields.wrong(name, "a plain value")
        return {name: _plain(value) for name, value in fields.value.items()}

    def objects(self, key: str) -> Iterator[Fields]:
        value = self.any(key)
        if not isinstance(value, list):
            raise self.wrong(key, "a list")
        for index, item in enumerate(value):
            yield Fields(self.file, f"{self.where(key)}[{index}]", item)


def _plain(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
