"""What a rebuild did, for people and programs."""

from typing import Any, Final

from msgspec import Struct

from eunoe.readmodels.rebuild.content import Content
from eunoe.readmodels.rebuild.proving import Proof
from eunoe.readmodels.rebuild.rebuilding import Switched
from eunoe.runtime.redis.generations import Generations
from eunoe.runtime.redis.prefix import Prefix

BUILT: Final = {"kept": "kept from before the last switch", "building": "being built"}


class RebuildReport(Struct, frozen=True, kw_only=True):
    """``frozen``, ``removed``: generations by partition; ``keys``: how many went with them."""

    model: str
    proofs: tuple[Proof, ...] = ()
    switched: tuple[Switched, ...] = ()
    frozen: tuple[Prefix, ...] = ()
    removed: tuple[Prefix, ...] = ()
    keys: int = 0

    @property
    def document(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "proved": [
                {
                    "partition": each.partition,
                    "generation": each.generation,
                    "position": each.content.position,
                    "digest": each.content.digest,
                    "items": each.content.items,
                    "checks": dict(each.checks),
                }
                for each in self.proofs
            ],
            "switched": [
                {
                    "partition": each.partition,
                    "serving": each.serving,
                    "kept": each.kept,
                    "position": each.position,
                }
                for each in self.switched
            ],
            "as_of_then": _places(self.frozen),
            "removed": _places(self.removed),
            "keys_removed": self.keys,
        }


def _places(prefixes: tuple[Prefix, ...]) -> list[dict[str, int]]:
    return [{"partition": each.partition, "generation": each.generation} for each in prefixes]


class GenerationRow(Struct, frozen=True, kw_only=True):
    """``role``: serving, kept, building, or as of then."""

    model: str
    partition: int
    generation: int
    role: str
    position: int
    items: int
    digest: str

    @staticmethod
    def of(prefix: Prefix, generations: Generations, content: Content) -> "GenerationRow":
        number = prefix.generation
        role = "building"
        if number == generations.serving:
            role = "serving"
        elif number == generations.kept:
            role = "kept"
        elif number in generations.frozen:
            role = f"as of offset {generations.frozen[number]}"
        return GenerationRow(
            model=prefix.model,
            partition=prefix.partition,
            generation=number,
            role=role,
            position=content.position,
            items=content.items,
            digest=content.digest,
        )
