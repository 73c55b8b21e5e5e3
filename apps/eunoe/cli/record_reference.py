"""A record as people name it: its id, or ``ID@REVISION``, which is what a review, a trace and `rollback_ref` say."""

from typing import Any

import click


class Reference(click.ParamType):
    """``MEMORY_ID`` or ``MEMORY_ID@REVISION``, as a pair; None for a revision that was not named."""

    name = "MEMORY_ID[@REVISION]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from eunoe.schemas.ids import is_uuid

        memory_id, at, revision = str(value).partition("@")
        if not is_uuid(memory_id):
            self.fail("is no id of a memory: a UUID in lower case, or with its revision ID@REVISION", param, ctx)
        if at and not (revision.isascii() and revision.isdigit() and 0 < int(revision) < 2**31):
            self.fail(f"{value!r} names no revision after the @", param, ctx)
        return memory_id, int(revision) if at else None


class RecordId(Reference):
    """The same where only the id matters: whatever the revision, the answer is about the record."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(value, param, ctx)[0]


def seen(option: str, named: tuple[str, int | None]) -> dict[str, Any]:
    """What ``option`` names as it was looked at, as a line of `eunoe ingest` has it."""
    memory_id, version = named
    if version is None:
        raise click.UsageError(f"{option} {memory_id}: say which version you looked at: {memory_id}@VERSION")
    return {"memory_id": memory_id, "version": version}
