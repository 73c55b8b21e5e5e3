"""The Function library of `recall`."""

from typing import Final

from eunoe.runtime.redis.functions import FunctionLibrary, lua

RECALL: Final = FunctionLibrary(
    "eunoe_recall",
    lua("eunoe.readmodels.recall", "recall.lua"),
    {"search": True, "fetch": True, "sweep": False},
)
