"""The Function library of `recall`."""

from typing import Final

from eunoe.runtime.redis.functions import FunctionLibrary, lua

RECALL: Final = FunctionLibrary(
    "eunoe_recall",
    lua("eunoe.readmodels.recall", "recall.lua") + lua("eunoe.readmodels.recall", "search.lua"),
    {"search": True, "count": True, "fetch": True, "look": True, "sweep": False},
)
