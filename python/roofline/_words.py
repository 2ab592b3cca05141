"""Arguments of a question as words of the command line, and the texts of files that are not on the disk."""

from __future__ import annotations

import contextlib
import json
import math
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from . import _core, _options
from ._error import Error

# What a text that is given in place of a file is called in messages, by option. A text in place of a file has several
# lines; a name of a file has none.
_FILES = {
    "model": "config.json",
    "draft-model": "draft.json",
    "on": "machine.toml",
    "base": "machine.toml",
    "prefill": "machine.toml",
    "names": "machine.toml",
    "calibration": "calibration.toml",
    "framework": "framework.toml",
    "plan-from": "launch.txt",
    "lengths": "lengths.csv",
    "routing": "routing.csv",
    "quantisation": "hf_quant_config.json",
    "table": "table.csv",
    "tables": "table.csv",
    "profiles": "profile.csv",
    "trace": "trace.json",
    "module": "module.hlo",
    "files": "measured.txt",
    "merge": "part.json",
    "leading": "leading.json",
    "cost": "cost.toml",
    "for": "workloads.toml",
    "file": "fleet.toml",
}


class NamedText(str):
    """A text in place of a file, with a name for messages and titles."""

    name: str = ""


class Question(NamedTuple):
    """A question without the form of its answer."""

    command: str
    options: tuple[str, ...]
    arguments: tuple[str, ...]
    texts: Mapping[str, str | bytes]

    def words(self, *form: str) -> list[str]:
        end = ["--", *self.arguments] if self.arguments else []
        return [*self.command.split(), *self.options, *form, *end]


def question_of(command: str, given: Mapping[str, Any]) -> Question:
    """Makes the words of a question. Raises Error for a keyword that the command does not have."""
    known = _options.commands()[command]
    options: list[str] = []
    arguments: list[str] = []
    texts: dict[str, str | bytes] = {}
    for keyword, value in given.items():
        option = known.get(keyword)
        if option is None:
            raise unknown_keyword(command, keyword, known)
        if value is None or value is False:
            continue
        for word in _words_of(option, value, texts, options):
            if option.value and not word and not isinstance(value, str):
                continue  # an empty list or mapping says nothing
            if option.positional:
                arguments.append(word)
            else:
                options.append(f"--{option.name}={word}" if option.value else f"--{option.name}")
    return Question(command, tuple(options), tuple(arguments), texts)


def file_names(question: Question) -> list[str]:
    """Returns the words of a question that may be names of files; a machine's may be followed by its slice."""
    words = list(question.arguments)
    for option in question.options:
        name, _, value = option.removeprefix("--").partition("=")
        if name in _FILES:
            words.append(value)
    return words + [word.rpartition(":")[0] for word in words if ":" in word]


def unknown_keyword(command: str, keyword: str, known: Iterable[str]) -> Error:
    function = command.replace(" ", ".")
    if keyword in ("executor", "parts"):
        hint = "plan.train() has, and so has op() with arrays of sizes; or give whole questions to the workers"
        return Error("unknown_keyword", f"{function}() has no parts that an executor could take", hint)
    near = _core.nearest(keyword, list(known))
    hint = f"did you mean `{near}`?" if near else f"see help(roofline.{function})"
    return Error("unknown_keyword", f"{function}() has no argument `{keyword}`", hint)


def refuse_picture(command: str, kind: str | None) -> None:
    """Raises Error: the command draws no picture, or only one, and a kind of picture is asked for."""
    forms = _options.forms().get(command, set())
    function = command.replace(" ", ".")
    if "svg" not in forms:
        hint = "plot(ax=True) draws bars of its times, if it has any" if kind is None else "leave the picture out"
        raise Error("no_picture", f"the answer of {function}() has no picture", hint)
    if kind is not None and "plot" not in forms:
        message = f"the answer of {function}() has one picture, and `kind` is {_shown(kind)}"
        raise Error("no_picture", message, "leave `kind` out")


def refuse_report(command: str) -> None:
    """Raises Error: the command has no report."""
    if "html" not in _options.forms().get(command, set()):
        function = command.replace(" ", ".")
        raise Error("no_report", f"the answer of {function}() has no report", "text() has what the command line prints")


def _words_of(
    option: _options.Option, value: Any, texts: dict[str, str | bytes], options: list[str], depth: int = 0
) -> list[str]:
    if not option.value:
        if _is_true(value):
            return [""]
        raise Error("bad_argument", f"`{option.keyword}` is {_shown(value)}", "it is True or False")
    asked = getattr(value, "_as_argument", None)
    if asked is not None:
        words, more, given = asked(option.keyword)
        options.extend(more)
        texts.update(given)
        return list(words)
    if isinstance(value, Mapping) and option.name not in _FILES:
        return [",".join(f"{_word(option, key)}={_value(option, each)}" for key, each in value.items())]
    if _is_list(value):
        _refuse_longer(option, value)
        if depth > 1:
            raise Error("bad_argument", f"`{option.keyword}` has lists in lists in a list", "give one list of values")
        words = [word for each in value for word in _words_of(option, each, texts, options, depth + 1)]
        return words if option.repeated else [",".join(words)]
    file = _FILES.get(option.name)
    text = None if file is None else text_of(option.keyword, value)
    if file is not None and text is not None:
        file = getattr(text, "name", "") or file
        if isinstance(text, str):
            text = text.encode(errors="replace").decode()  # half of a surrogate pair is no text
        name = file
        number = 1
        while name in texts:
            number += 1
            name = file.replace(".", f"-{number}.")
        texts[name] = text
        return [name]
    return [_word(option, value)]


def _is_true(value: Any) -> bool:
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")


def _is_list(value: Any) -> bool:
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return True
    return getattr(value, "ndim", None) == 1 and hasattr(value, "tolist")


def _value(option: _options.Option, value: Any) -> str:
    """A value of a mapping; several sizes of a dimension are joined by commas."""
    if not _is_list(value):
        return _word(option, value)
    _refuse_longer(option, value)
    return ",".join(_word(option, each) for each in value)


# Values of a list that is no array of sizes.
_MOST_VALUES = 100_000


def _refuse_longer(option: _options.Option, value: Any) -> None:
    try:
        too_long = len(value) > _MOST_VALUES
    except OverflowError:  # of a range
        too_long = True
    if too_long:
        raise Error("bad_argument", f"`{option.keyword}` has more than {_MOST_VALUES} values", "give fewer")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _word(option: _options.Option, value: Any) -> str:
    """A text or a number as a word."""
    if isinstance(value, str):
        return _checked(option, value)
    if isinstance(value, os.PathLike):
        return _checked(option, os.fsdecode(value))
    if not _is_true(value):
        try:
            return str(operator.index(value))
        except (TypeError, ValueError):
            pass
        if isinstance(value, float) or (hasattr(value, "__float__") and getattr(value, "ndim", 0) == 0):
            complex_number = getattr(getattr(value, "dtype", None), "kind", "") == "c"
            with contextlib.suppress(TypeError):  # a class has __float__, too
                if not complex_number:
                    return _number(option, float(value))
    dtype = getattr(value, "name", None) or str(value)
    if type(value).__module__.split(".")[0] in ("numpy", "torch", "ml_dtypes", "jax", "jaxlib") and "dtype" in str(
        type(value)
    ):
        return _checked(option, dtype.removeprefix("torch."))
    raise Error(
        "bad_argument",
        f"`{option.keyword}` is {_shown(value)}",
        f"it is a text or a number, such as {option.value}",
    )


def _checked(option: _options.Option, text: str) -> str:
    if "\0" in text or not text.isprintable() and any(0xD800 <= ord(c) < 0xE000 for c in text):
        raise Error("bad_argument", f"`{option.keyword}` has characters that no text has", "remove them")
    if text == "-" and (option.name in _FILES or option.positional):
        raise Error("bad_argument", f"`{option.keyword}` is `-`", "standard input is not read; give a text or a file")
    return text


def _number(option: _options.Option, value: float) -> str:
    if not math.isfinite(value):
        raise Error("bad_argument", f"`{option.keyword}` is {value}", "give a finite number")
    return str(int(value)) if value.is_integer() and abs(value) < 2**63 else repr(value)


def text_of(keyword: str, value: Any) -> str | bytes | None:
    """Returns what stands in place of a file, as bytes if it is no text; None for the name of a file."""
    if isinstance(value, str) and "\n" in value:
        return value
    if isinstance(value, (str, os.PathLike)):
        path = os.fsdecode(value)
        return _parquet_text(keyword, path) if path.endswith(".parquet") else None
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value
    if isinstance(value, Mapping):
        return _json_text(keyword, dict(value))
    if hasattr(value, "to_csv") and hasattr(value, "columns"):
        return _frame_text(value)
    if hasattr(value, "to_pandas") and hasattr(value, "column_names"):
        return _frame_text(value.to_pandas())
    if hasattr(value, "to_dict") and hasattr(value, "model_type"):
        return _json_text(keyword, value.to_dict())
    raise Error(
        "bad_argument",
        f"`{keyword}` is of the class {type(value).__name__}",
        "give a name, a path, a dict, the text of a file, a table of pandas, or a configuration of transformers",
    )


def _parquet_text(keyword: str, path: str) -> str:
    try:
        import pandas

        return _frame_text(pandas.read_parquet(path))
    except ImportError:
        message = f"`{keyword}` is a Parquet file, and pandas or pyarrow is absent"
        raise Error("absent", message, "pip install pandas pyarrow") from None
    except (OSError, ValueError) as problem:
        first = str(problem).strip().split("\n")[0]
        raise Error("file", f"cannot read {path}: {first}", "give a Parquet file, or a frame") from None


def _frame_text(frame: Any) -> str:
    return str(frame.to_csv(index=False))


def _json_text(keyword: str, value: Any) -> str:
    try:
        return json.dumps(value, default=str) + "\n"
    except (TypeError, ValueError, RecursionError) as problem:
        raise Error("bad_argument", f"`{keyword}` cannot be written as JSON: {problem}", "give plain values") from None


def listed(value: Any) -> Sequence[Any]:
    """The value as a list."""
    return list(value) if _is_list(value) else [value]
