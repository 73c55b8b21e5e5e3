"""The errors of the contract, split by blame."""

from dataclasses import dataclass


class SchemaError(Exception):
    """Base of everything this package raises."""


@dataclass(eq=False)
class UnknownSchema(SchemaError):
    """The record was written with a schema this version does not have. Upgrade the reader, or find the stray writer."""

    fingerprint: str

    def __str__(self) -> str:
        return f"no schema with fingerprint {self.fingerprint}: written by a newer version, or not by eunoe"


@dataclass(eq=False)
class Undecodable(SchemaError):
    """The bytes are not a record of this kind. ``problem`` never quotes the record."""

    record: str
    problem: str

    def __str__(self) -> str:
        return f"not a readable {self.record}: {self.problem}"
