"""The corpus that every machine has: the docstrings of the installed scientific Python stack."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import io
import pkgutil
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from functools import cached_property
from types import ModuleType
from typing import Any, NamedTuple

from likewise.errors import UsageError
from likewise.records import Document

JUDGED_FIELD = "see_also"
"""The field that says which documents an author holds to be like this one."""

PACKAGES = ("numpy", "scipy", "sklearn", "stdlib")

# Private and test modules; those that open windows or servers, print, touch the terminal or warn
# of their own removal; those that repeat under a platform's name what has a public one.
_SKIPPED = re.compile(
    r"(.*\.)?(_.*|conftest|setup|tests?)"
    r"|antigravity|distutils|encodings|genericpath|idlelib|lib2to3|nt|ntpath|posix|posixpath"
    r"|pydoc_data|readline|rlcompleter|sre_\w+|this|tkinter|turtle|turtledemo"
    r"|numpy\.(core|distutils|f2py)|scipy\.special\.cython_special|sklearn\.externals"
)
# Places where a program hangs its own function: what stands there depends on who runs.
_HOOKS = re.compile(r"(sys|threading)\.\w*hook|warnings\.(format|show)warning")
# A docstring may begin with one of these, and so have no summary.
_SECTION = re.compile(r"(?i)attributes|examples|methods|notes|parameters|references|returns")
# What is shorter says little more than its name.
_MIN_CHARS = 40
_MIN_METHOD_CHARS = 100
_TITLE_CHARS = 120

_UNDERLINE = re.compile(r"\s*([-=~^*#])\1{2,}\s*")
_SIGNATURE = re.compile(r"[A-Za-z_][\w.]*\(")
_ROLE = re.compile(r":(?:\w+:)*\w+:`")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
_QUOTED = re.compile(r"`+[~!]?([^`<>\s]+)`+|`[^`<>]*<[~!]?([^`<>\s]+)>`")
_ITEM_END = re.compile(r"\s:(?:\s|$)|(?<=[\w`)]):(?:\s|$)")
_DRAWN = re.compile(r"(?m)^array\(.*\)(?=\s+# may vary$)")
_UNORDERED = re.compile(r"(?<=argument\(s\) ``\{)[^}`]*(?=\}``)")


class _Entry(NamedTuple):
    """A documented object under its public name; `rank` orders its possible names, best first."""

    rank: tuple[Any, ...]
    name: str
    kind: str
    module: str
    package: str
    obj: Any


def read_docstrings(packages: str = "") -> Iterator[Document]:
    """Read the docstrings of `packages` (a comma list out of PACKAGES; empty: all installed).

    Sorted by id. The `See Also` section is taken out of the text and stands, resolved to ids of
    this corpus, in the field `see_also`, which is absent where nothing could be resolved.
    """
    chosen = _chosen_packages(packages)
    with contextlib.ExitStack() as quiet:
        quiet.enter_context(warnings.catch_warnings(action="ignore"))
        quiet.enter_context(contextlib.redirect_stdout(io.StringIO()))
        quiet.enter_context(contextlib.redirect_stderr(io.StringIO()))
        entries, aliases = _entries(chosen)
        return iter(_documents(entries, aliases))


def split_see_also(doc: str) -> tuple[str, list[str]]:
    """Take the numpydoc `See Also` sections out of a docstring: what is left, the names as written.

    Roles, quotes and call parentheses are taken off the names; nothing is resolved.
    """
    lines = doc.splitlines()
    kept: list[str] = []
    names: dict[str, None] = {}
    at = 0
    while at < len(lines):
        if not (_is_heading(lines, at) and lines[at].strip().lower() in ("see also", "see also:")):
            kept.append(lines[at])
            at += 1
            continue
        end = at + 2
        while end < len(lines) and not _is_heading(lines, end):
            end += 1
        names.update(dict.fromkeys(_listed_names(lines[at + 2 : end])))
        at = end
    if len(kept) == len(lines):
        return doc, []
    return "\n".join(kept).rstrip(), list(names)


def split_summary(doc: str) -> tuple[str, str]:
    """Split a cleaned docstring into its summary, on one line, and the rest.

    Signatures and lone words before the summary stay with the rest. The summary is the first
    paragraph, or its first sentence where that is long; empty where there is none.
    """
    lines = doc.splitlines()
    start = end = _after_signatures(lines)
    while True:
        while start < len(lines) and _is_ornament(lines[start]):
            start += 1
        end = start
        while end < len(lines) and not _is_ornament(lines[end]):
            end += 1
        paragraph = " ".join(line.strip() for line in lines[start:end])
        if not paragraph or _SECTION.fullmatch(paragraph):
            return "", doc.strip("\n")
        if " " in paragraph or paragraph.endswith(".") or not any(map(str.strip, lines[end:])):
            break
        start = end
    before = [line for line in lines[:start] if not _UNDERLINE.fullmatch(line)]
    if end < len(lines) and _UNDERLINE.fullmatch(lines[end]):
        end += 1
    after = lines[end:]
    summary = paragraph
    if len(paragraph) > _TITLE_CHARS:
        sentence = re.match(r".{20,}?[.!?:](?=\s+\S)", paragraph)
        if sentence and len(sentence.group()) <= 1.5 * _TITLE_CHARS:
            summary = sentence.group()
            after = [paragraph[len(summary) :].strip(), *after]
        elif len(paragraph) > 1.5 * _TITLE_CHARS:
            summary = paragraph[:_TITLE_CHARS].rsplit(" ", 1)[0] + " …"
            after = [paragraph, *after]
    rest = ("\n".join(part).strip("\n") for part in (before, after))
    plain = re.sub(r"`+[~!]?([^`]*)`+", r"\1", _ROLE.sub("`", summary)).strip()
    return plain, "\n\n".join(filter(None, rest)).rstrip()


def _is_heading(lines: list[str], at: int) -> bool:
    """Whether a section begins at this line: a title, and dashes under it at the same indent."""
    if at + 1 >= len(lines) or not lines[at].strip() or _UNDERLINE.fullmatch(lines[at]):
        return False
    below = lines[at + 1]
    return bool(_UNDERLINE.fullmatch(below)) and _indent(below) <= _indent(lines[at])


def _listed_names(section: list[str]) -> Iterator[str]:
    """The names before the colons of a See Also section; indented lines only describe."""
    margin = min((_indent(line) for line in section if line.strip()), default=0)
    continued = False
    for line in section:
        if not line.strip() or (_indent(line) > margin and not continued):
            continue
        item = _ROLE.sub("`", line.strip().removeprefix("* ").removeprefix("- "))
        ending = _ITEM_END.search(item)
        head = item[: ending.start()] if ending else item
        continued = ending is None and head.endswith(",")
        for part in head.split(","):
            bare = part.strip().rstrip(".")
            quoted = [m.group(1) or m.group(2) for m in _QUOTED.finditer(bare)]
            for name in quoted or [bare]:
                clean = name.removesuffix("()").lstrip("~!").rstrip(".")
                if _NAME.fullmatch(clean):
                    yield clean


def _after_signatures(lines: list[str]) -> int:
    """The first line after the call signatures with which compiled functions begin."""
    at = 0
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        if not _SIGNATURE.match(lines[at]):
            return at
        end, depth = at, 0
        while end < len(lines) and lines[end].strip():
            depth += sum(lines[end].count(c) for c in "([{") - sum(map(lines[end].count, ")]}"))
            end += 1
            if depth <= 0 and (end == len(lines) or not lines[end].startswith(" ")):
                break
        # A sentence may begin with a call, too: a signature ends its line, or says what it gives.
        if not re.search(r"\)\s*(?:->.*|:)?$", " ".join(lines[at:end]).rstrip()):
            return at
        at = end
        if at < len(lines) and lines[at].strip() == "--":
            at += 1
    return at


def _is_ornament(line: str) -> bool:
    return not line.strip() or line.startswith("..") or bool(_UNDERLINE.fullmatch(line))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _chosen_packages(packages: str) -> list[str]:
    installed = [p for p in PACKAGES if p == "stdlib" or importlib.util.find_spec(p) is not None]
    if not packages.strip():
        return installed
    asked = [p.strip() for p in packages.split(",")]
    for package in asked:
        if package not in PACKAGES:
            raise UsageError(
                f"no docstrings of {package!r}: give a comma list of {', '.join(PACKAGES)}, "
                "or nothing for all that are installed"
            )
        if package not in installed:
            raise UsageError(
                f"the docstrings of {package!r} need it installed (pip install 'likewise[demo]'); "
                f"installed here: {', '.join(installed)}"
            )
    return [p for p in PACKAGES if p in asked]


def _modules(package: str) -> dict[str, ModuleType]:
    """Every public module of a package that can be imported here, by its public name."""
    top = [*sys.stdlib_module_names, "os.path"] if package == "stdlib" else [package]
    waiting = [name for name in top if not _SKIPPED.fullmatch(name)]
    found: dict[str, ModuleType] = {}
    while waiting:
        name = waiting.pop()
        # A module may end itself, or fail in any way, where it was not made for this platform.
        with contextlib.suppress(Exception, SystemExit):
            module = importlib.import_module(name)
            found[name] = module
            below = pkgutil.iter_modules(getattr(module, "__path__", ()), f"{name}.")
            waiting.extend(m.name for m in below if not _SKIPPED.fullmatch(m.name))
    for name, module in list(found.items()):
        for attribute in getattr(module, "__all__", ()):
            inner = vars(module).get(attribute)
            if isinstance(inner, ModuleType) and found.get(inner.__name__) is inner:
                found[f"{name}.{attribute}"] = inner
    return dict(sorted(found.items()))


def _entries(packages: Iterable[str]) -> tuple[list[_Entry], dict[str, str]]:
    """Every object under its best name, and for every name it also goes by, that best name."""
    best: dict[int, _Entry] = {}
    names: list[tuple[str, int]] = []

    def offer(entry: _Entry) -> None:
        names.append((entry.name, id(entry.obj)))
        held = best.get(id(entry.obj))
        if held is None or entry.rank < held.rank:
            best[id(entry.obj)] = entry

    # scipy rewrites docstrings of numpy when it is imported: numpy is read after it, always.
    loaded = {package: _modules(package) for package in ("scipy", *packages)}
    for package in packages:
        for name, module in loaded[package].items():
            for entry in _members(name, module, package=package, modules=loaded[package]):
                offer(entry)
    for entry in [e for e in best.values() if e.kind == "class"]:
        for method in _methods(entry):
            offer(method)
    return list(best.values()), {name: best[key].name for name, key in names}


def _members(
    name: str, module: ModuleType, *, package: str, modules: dict[str, ModuleType]
) -> Iterator[_Entry]:
    """A module itself and the public objects in it."""
    held = vars(module)
    depth = name.count(".") + (name != "builtins")
    parent, _, last = name.rpartition(".")
    if parent not in modules or vars(modules[parent]).get(last) is module:
        yield _Entry((depth, len(name), name), name, "module", name, package, module)
    exported = held.get("__all__")
    for attribute in sorted(map(str, exported if exported is not None else held)):
        obj = held[attribute] if attribute in held else _made_when_asked(module, attribute)
        full = f"{name}.{attribute}"
        if attribute.startswith("_") or isinstance(obj, ModuleType) or _HOOKS.fullmatch(full):
            continue
        kind = _kind(obj, package)
        # An instance only answers with the module of its class.
        defined = isinstance(obj, type) or inspect.isroutine(obj)
        home = str(getattr(obj, "__module__", None) or "") if defined else ""
        if not kind or (home and not _is_within(home, package)):
            continue
        if exported is None and home and not _is_local(home, name) and name != "builtins":
            continue
        renamed = getattr(obj, "__name__", attribute) != attribute
        rank = (depth, renamed, home != name, len(full), full)
        yield _Entry(rank, full, kind, name, package, obj)


def _made_when_asked(module: ModuleType, attribute: str) -> object:
    """A name that a module loads late; None where asking warns, as deprecated names do."""
    with warnings.catch_warnings(action="error"), contextlib.suppress(Exception):
        return getattr(module, attribute)
    return None


def _is_local(home: str, name: str) -> bool:
    """Whether what was defined in `home` is the own work of a module that exports everything."""
    beside, _, last = home.rpartition(".")
    hidden_beside = last.startswith("_") and beside == name.rpartition(".")[0]
    return home == name or home.startswith(f"{name}.") or hidden_beside


def _is_within(home: str, package: str) -> bool:
    root = home.partition(".")[0]
    return root in sys.stdlib_module_names if package == "stdlib" else root == package


def _kind(obj: object, package: str) -> str:
    if isinstance(obj, type):
        return "class"
    if inspect.isroutine(obj):
        return "function"
    # Instances that stand for functions: ufuncs, distributions, index makers.
    cls = type(obj)
    if not (_is_within(cls.__module__, package) or cls.__name__ == "ufunc"):
        return ""
    hidden = any(part.startswith("_") for part in f"{cls.__module__}.{cls.__name__}".split("."))
    own = cls.__name__ == "ufunc" or "__doc__" in getattr(obj, "__dict__", ())
    if not own and not (hidden and (package != "stdlib" or obj.__doc__ != cls.__doc__)):
        return ""
    return "function" if len(str(obj.__doc__)) >= _MIN_METHOD_CHARS else ""


def _methods(cls: _Entry) -> Iterator[_Entry]:
    """The public methods of a class, also those that it has from classes without a public name."""
    seen: set[str] = set()
    for owner in cls.obj.__mro__:
        if not _is_within(owner.__module__, cls.package):
            continue
        for attribute, value in sorted(vars(owner).items()):
            if attribute.startswith("_") or attribute in seen or isinstance(value, cached_property):
                continue
            seen.add(attribute)
            method = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
            if not inspect.isroutine(method) or method.__doc__ == type(method).__doc__:
                continue
            name = f"{cls.name}.{attribute}"
            renamed = getattr(method, "__name__", attribute) != attribute
            # Behind every module's member: a function that is also a method is a function.
            rank = (100, owner is not cls.obj, renamed, name.count("."), len(name), name)
            yield _Entry(rank, name, "method", cls.module, cls.package, method)


def _documents(entries: list[_Entry], aliases: dict[str, str]) -> list[Document]:
    """A document for each entry that says something; of equal texts, the most public one's."""
    first: dict[tuple[str, str], str] = {}
    stands_for: dict[str, str] = {}
    kept: list[tuple[_Entry, str, str, list[str]]] = []
    # Classes before functions before methods, which is also their order in the alphabet.
    for entry in sorted(entries, key=lambda e: (e.kind, e.name.count("."), e.name)):
        raw = getattr(entry.obj, "__doc__", None)
        doc, see_also = split_see_also(_settled(raw) if isinstance(raw, str) else "")
        title, text = split_summary(doc)
        # Many lines without a summary still say something; a lone signature does not.
        title = title or (entry.name if "\n" in text else "")
        least = _MIN_METHOD_CHARS if entry.kind == "method" else _MIN_CHARS
        if not title or len(doc) < least:
            continue
        stands_for[entry.name] = first.setdefault((title, text), entry.name)
        if stands_for[entry.name] == entry.name:
            kept.append((entry, title, text, see_also))
    known = {alias: stands_for[name] for alias, name in aliases.items() if name in stands_for}
    documents: list[Document] = []
    for entry, title, text, see_also in sorted(kept, key=lambda item: item[0].name):
        fields = {name: getattr(entry, name) for name in ("package", "kind", "module")}
        resolved = dict.fromkeys(_resolve(name, entry.name, known=known) for name in see_also)
        judged = [doc_id for doc_id in resolved if doc_id and doc_id != entry.name]
        if judged:
            fields[JUDGED_FIELD] = judged
        documents.append(Document(entry.name, title, text, fields, f"docstrings:{entry.name}"))
    return documents


def _settled(raw: str) -> str:
    """A cleaned docstring without what scipy makes up anew in each process."""
    drawn = _DRAWN.sub("array(...)", inspect.cleandoc(raw))
    return _UNORDERED.sub(lambda found: ", ".join(sorted(found.group().split(", "))), drawn)


def _resolve(name: str, scope: str, *, known: dict[str, str]) -> str:
    """The id that a name means in `scope`, looked up from the inside out; empty where unknown."""
    name = re.sub(r"^np\.", "numpy.", name)
    while scope:
        if found := _lookup(f"{scope}.{name}", known):
            return found
        scope = scope.rpartition(".")[0]
    return _lookup(name, known) or known.get(f"builtins.{name}", "")


def _lookup(name: str, known: dict[str, str]) -> str:
    if name in known:
        return known[name]
    # A class goes by several names, its methods were listed under one.
    owner, _, last = name.rpartition(".")
    return known.get(f"{known.get(owner, '')}.{last}", "")
