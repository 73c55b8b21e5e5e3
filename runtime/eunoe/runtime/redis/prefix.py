"""How every Redis key of a projection starts: installation, partition, model, generation.

``eunoe:<log-id>:{p12}:recall:g3:`` - the hash tag is the Kafka partition, so that all keys of a partition live in one
slot and one Function call can write them together. What follows the prefix is built in the module of the model.
"""

from dataclasses import dataclass, replace

from eunoe.schemas.ids import LogId, Partition


@dataclass(frozen=True, slots=True)
class Prefix:
    """One generation of one model's keys in one partition."""

    log_id: LogId
    partition: Partition
    model: str
    generation: int = 1

    def __str__(self) -> str:
        return f"eunoe:{self.log_id}:{{p{self.partition}}}:{self.model}:g{self.generation}:"

    def key(self, rest: str) -> str:
        return f"{self}{rest}"

    @property
    def watermark(self) -> str:
        """The hash with ``position`` and whatever else moves with it."""
        return f"{self}watermark"

    @property
    def generations(self) -> str:
        """The hash that says which generations of the model there are, and which one answers (`generations`)."""
        return f"eunoe:{self.log_id}:{{p{self.partition}}}:{self.model}:generations"

    def of(self, generation: int) -> "Prefix":
        """The same model and partition, another generation."""
        return replace(self, generation=generation)
