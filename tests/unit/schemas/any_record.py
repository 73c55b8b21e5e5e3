"""Hypothesis strategies for every record type of the contract, from what msgspec knows of its fields."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from hypothesis import strategies as st
from msgspec import inspect

_LONGEST: Final = 2**63 - 1

_SIMPLE: Final[Mapping[type, Callable[[Any], st.SearchStrategy[Any]]]] = {
    inspect.IntType: lambda found: st.integers(-_LONGEST - 1 if found.ge is None else found.ge, _LONGEST),
    inspect.FloatType: lambda found: st.floats(found.ge, found.le, allow_nan=False),
    inspect.StrType: lambda _: st.text(max_size=20),
    inspect.BytesType: lambda _: st.binary(max_size=80),
    inspect.BoolType: lambda _: st.booleans(),
    inspect.NoneType: lambda _: st.none(),
    inspect.EnumType: lambda found: st.sampled_from(list(found.cls)),
    inspect.UnionType: lambda found: st.one_of(*map(_any_of, found.types)),
    inspect.VarTupleType: lambda found: st.lists(_any_of(found.item_type), max_size=3).map(tuple),
}


def any_of(type_: Any) -> st.SearchStrategy[Any]:
    """Any valid value of a struct, or of a union of structs."""
    members = getattr(type_, "__args__", (type_,))
    return st.one_of(*(_any_of(inspect.type_info(member)) for member in members))


def _any_of(found: Any) -> st.SearchStrategy[Any]:
    if isinstance(found, inspect.StructType):
        return _struct(found)
    return _SIMPLE[type(found)](found)


def _struct(found: inspect.StructType) -> st.SearchStrategy[Any]:
    fields = {each.name: _any_of(each.type) for each in found.fields}
    return st.fixed_dictionaries(fields).map(lambda values: msgspec.convert(values, found.cls, builtin_types=(bytes,)))
