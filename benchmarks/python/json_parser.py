"""A JSON parser by recursive descent, a function for each rule: short calls, deep stacks."""

from __future__ import annotations

import json
import sys
from typing import Any


class Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def peek(self) -> str:
        return self.text[self.at]

    def take(self) -> str:
        character = self.text[self.at]
        self.at += 1
        return character

    def skip_space(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in " \n\t\r":
            self.at += 1

    def expect(self, character: str) -> None:
        if self.take() != character:
            raise ValueError(f"{character!r} expected at {self.at}")

    def value(self) -> Any:
        self.skip_space()
        character = self.peek()
        if character == "{":
            return self.members()
        if character == "[":
            return self.elements()
        if character == '"':
            return self.string()
        return self.number()

    def members(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self.expect("{")
        while True:
            self.skip_space()
            key = self.string()
            self.skip_space()
            self.expect(":")
            found[key] = self.value()
            self.skip_space()
            if self.take() == "}":
                return found

    def elements(self) -> list[Any]:
        found: list[Any] = []
        self.expect("[")
        while True:
            found.append(self.value())
            self.skip_space()
            if self.take() == "]":
                return found

    def string(self) -> str:
        self.expect('"')
        characters: list[str] = []
        while self.peek() != '"':
            characters.append(self.take())
        self.expect('"')
        return "".join(characters)

    def number(self) -> float:
        begin = self.at
        while self.is_in_number():
            self.at += 1
        return float(self.text[begin : self.at])

    def is_in_number(self) -> bool:
        return self.peek() in "-+.0123456789eE"


def document(rows: int) -> list[dict[str, Any]]:
    return [
        {"name": f"row {i}", "place": [i, i / 7, -i], "inner": {"a": i * i, "b": "x" * (i % 9)}} for i in range(rows)
    ]


def main() -> None:
    made = document(int(sys.argv[1]))
    assert Parser(json.dumps(made)).value() == made
    print(len(made))


if __name__ == "__main__":
    main()
