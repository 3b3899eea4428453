"""From a loaded spec to a program: lines become nodes, blocks become bodies, every value gets its type.

A block is elaborated once for each distinct (block, arguments, input types), like a jit cache.  After an error a line's
outputs have no type, what depends on them is passed over, and the walk goes on, so that one run reports every
independent error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from netcalc import ops
from netcalc.diagnostics import Diagnostic, NetcalcError, Related, did_you_mean
from netcalc.dims import assumptions
from netcalc.ir import Body, Program, Value, join
from netcalc.opdef import Context
from netcalc.spec.calls import elaborate_call
from netcalc.spec.evaluate import evaluate, evaluate_expression
from netcalc.spec.inputs import resolve_value
from netcalc.spec.library import Block, Loaded, find_block, shipped_blocks
from netcalc.spec.lines import Line, read_line
from netcalc.spec.operations import elaborate_operation
from netcalc.spec.program_io import checkpoint_sources, program_inputs, program_outputs
from netcalc.spec.repeats import elaborate_repeat
from netcalc.spec.scope import BodyBuilder, Frame, Named, Poisoned, Scope, TooLargeError
from netcalc.spec.settings import Settings, resolve_settings
from netcalc.spec.source import Cursor
from netcalc.tensor_type import TensorType

__all__ = ["elaborate"]

_T = TypeVar("_T")

MAX_LINES = 50_000


def elaborate(
    loaded: Loaded,
    settings: Mapping[str, Any] | None = None,
    *,
    symbolic: Collection[str] = (),
    training: bool = False,
) -> Program:
    """The program of a spec at the given dims and vars; NetcalcError with everything that is wrong.

    ``symbolic`` names dims that stay symbols; ``training`` elaborates the training mode of each operation.
    """
    return Elaborator(loaded, resolve_settings(loaded, settings or {}, symbolic), training).program()


class Elaborator:
    """One elaboration: the diagnostics found so far, the bodies made so far, and where the walk is."""

    def __init__(self, loaded: Loaded, settings: Settings, training: bool) -> None:
        self.loaded = loaded
        self.settings = settings
        self.ctx = Context(training=training, dtype=loaded.document.dtype)
        self.problems: list[Diagnostic] = []
        self.memo: dict[Any, Body] = {}
        self.chain: list[Related] = []
        self.home = loaded
        self.freeze = False
        self.walked = 0
        self.main = BodyBuilder(loaded.document.name or "main")

    # -- the whole ----------------------------------------------------------------------------------

    def program(self) -> Program:
        """The whole program; NetcalcError with every problem found."""
        document, cursor = self.loaded.document, self.loaded.cursor
        with assumptions() as assumed:
            frame = Frame(self.main)
            specs = list(program_inputs(self, frame))
            self.main.inputs = [frame.names[spec.name].first for spec in specs]
            if not document.layers:
                raise NetcalcError(Diagnostic("E105", "the spec has no layers", cursor.span))
            current = self.main.inputs[0] if self.main.inputs else None
            if current is not None:
                frame.names["in"] = Named.single(current, current.span)
            current = self.lines(cursor["layers"], frame, current)
            outputs = program_outputs(self, frame, current)
            checkpoint = dict(checkpoint_sources(self, document.checkpoint, cursor, frame))
        if self.problems:
            raise NetcalcError(self.problems)
        values = tuple(outputs.values())
        main = Body(document.name or "main", tuple(self.main.inputs), tuple(self.main.nodes), values, checkpoint)
        return Program(
            name=document.name or self.loaded.label,
            main=main,
            inputs=tuple(specs),
            output_names=tuple(outputs),
            training=self.ctx.training,
            dtype=document.dtype,
            init=tuple(document.init.items()),
            about=document.about,
            source=document.source,
            dims={name: self.settings[name] for name in self.settings.dims},
            vars={name: self.settings[name] for name in self.settings.vars},
            assumptions=tuple(assumed),
        )

    # -- errors -------------------------------------------------------------------------------------

    def report(self, error: NetcalcError, bindings: Mapping[str, str]) -> None:
        """Keeps what an error says, with the chain that led here and the arguments in force where it has none."""
        chain = tuple(self.chain)
        self.problems += (
            d._replace(chain=d.chain or chain, bindings=d.bindings or bindings) for d in error.diagnostics
        )

    def guarded(self, work: Callable[..., _T], *args: Any) -> _T | None:
        """The result of ``work``, or None with its error reported."""
        try:
            return work(*args)
        except NetcalcError as error:
            self.report(error, {})
        except Poisoned:
            pass
        return None

    @contextmanager
    def inside(self, text: str, cursor: Cursor, home: Loaded) -> Iterator[None]:
        """Errors inside carry ``text`` in their chain; blocks are looked up in ``home``."""
        outer, self.home = self.home, home
        self.chain.append(Related(text, cursor.key_span))
        try:
            yield
        finally:
            self.chain.pop()
            self.home = outer

    # -- lines --------------------------------------------------------------------------------------

    def lines(self, cursor: Cursor, frame: Frame, current: Value | None) -> Value | None:
        """Elaborates a list of lines, each fed by the one before; returns the last value."""
        for item in cursor.elements():
            if isinstance(item.data, dict) and isinstance(item.data.get("name"), str):
                frame.later.setdefault(item.data["name"], item["name"].span)
        for item in cursor.elements():
            self.spend(1, item)
            try:
                current = self.line(item, frame, current)
            except TooLargeError:
                raise
            except NetcalcError as error:
                self.report(error, _bindings(frame))
                current = self.poison(item, frame)
            except Poisoned:
                current = self.poison(item, frame)
        return current

    def spend(self, lines: int, cursor: Cursor) -> None:
        """Keeps an account of the lines walked; TooLargeError where they are more than any network needs."""
        self.walked += lines
        if self.walked > MAX_LINES:
            message = f"the spec comes to over {MAX_LINES:,} lines that cannot be folded"
            hint = "iterations fold where the repeat has a name and they do not differ by its index"
            raise TooLargeError(Diagnostic("E003", message, cursor.span, chain=tuple(self.chain), hint=hint))

    def poison(self, item: Cursor, frame: Frame) -> Value:
        """A value of no type in the place of a line with an error, under the names that the line would have defined."""
        value = Value(None, "an earlier error", item.span)
        name = item.data.get("name") if isinstance(item.data, dict) else None
        labels = item.data.get("as") if isinstance(item.data, dict) else None
        for label in [name, *(labels if isinstance(labels, list) else [labels])]:
            if isinstance(label, str):
                frame.names[label] = Named.single(value, item.span)
        return value

    def line(self, cursor: Cursor, frame: Frame, current: Value | None) -> Value | None:
        """Elaborates one line; returns the value that the next is fed."""
        line = read_line(cursor, self.targets)
        if "share" in line.modifiers and "repeat" not in line.modifiers:
            hint = "to use the weights of an earlier line, say `tie:`"
            raise NetcalcError(
                Diagnostic("E107", "share: goes with repeat", line.modifiers["share"].key_span, hint=hint)
            )
        if line.modifier("repeat") is not None:
            return elaborate_repeat(self, line, frame, current)
        if not self.holds(line, frame):
            return self.left_out(line, frame, current)
        return self.once(line, frame, current)

    def left_out(self, line: Line, frame: Frame, current: Value | None) -> Value | None:
        """Names for a line whose ``when`` does not hold: those that no line before has stand for its input.

        What takes no input is absent.
        """
        declared = ops.find(line.target)
        source = line.modifier("from")
        passed = current
        if declared is not None and not declared.inputs:
            passed = None
        elif source is not None and isinstance(source.data, str):
            passed = resolve_value(source.data, source, frame, current)
        labels = line.modifier("as")
        words = [labels.data] if labels is not None and isinstance(labels.data, str) else labels and labels.data
        for name in (self.given_name(line, frame), *(words if isinstance(words, list) else ())):
            if name is not None:
                frame.names.setdefault(str(name), Named.single(passed, line.cursor.span))
        return current

    def holds(self, line: Line, frame: Frame) -> bool:
        """Whether the line's ``when`` allows it."""
        when = line.modifier("when")
        if when is None:
            return True
        result = evaluate_expression(when, *self.scope(frame))
        return result is not None and bool(result)

    def scope(self, frame: Frame) -> tuple[Scope, Scope]:
        """The scope twice over: to look names up in, and to suggest names from."""
        own = self.home is self.loaded
        scope = Scope(frame, self.settings if own else {})
        return scope, scope

    def given_name(self, line: Line, frame: Frame) -> str | None:
        """The line's own name, evaluated; NetcalcError (E104) where it can be none."""
        cursor = line.modifier("name")
        if cursor is None:
            return None
        name = evaluate(cursor, *self.scope(frame))
        parts = str(name).split(".")
        plain = isinstance(name, (str, int, float)) and not isinstance(name, bool)
        if not plain or not all(p.replace("_", "a").replace("-", "a").isalnum() for p in parts):
            shown = name if isinstance(name, TensorType) else repr(name)
            raise NetcalcError(
                Diagnostic(
                    "E104", f"name: should be made of letters, digits, '_', '-' and '.', not {shown}", cursor.span
                )
            )
        return str(name)

    def resolved(self, line: Line, frame: Frame) -> Line:
        """The line with ``${…}`` in its operation's place replaced by what that stands for.

        That is a name, or a mapping from the name to arguments, which those of the line override.
        """
        if "${" not in line.target:
            return line
        place = line.args or line.cursor
        value = evaluate(Cursor(line.target, line.cursor.path, line.cursor.spans), *self.scope(frame))
        target, given = next(iter(value.items())) if isinstance(value, dict) and len(value) == 1 else (value, None)
        if not isinstance(target, str):
            message = f"{line.target} should be an operation or block, by name or with arguments, not {value!r}"
            raise NetcalcError(Diagnostic("E104", message, place.key_span))
        own = line.args.data if line.args is not None else None
        merged = {**given, **own} if isinstance(given, dict) and isinstance(own, dict) else own or given
        args = None if merged is None else Cursor(merged, place.path, place.spans)
        return line._replace(target=target, args=args)

    @contextmanager
    def freezing(self, line: Line, frame: Frame) -> Iterator[None]:
        """Parameters made inside are frozen where the line or one around it says so."""
        freeze, outer = line.modifier("freeze"), self.freeze
        self.freeze = outer or (freeze is not None and bool(evaluate_expression(freeze, *self.scope(frame))))
        try:
            yield
        finally:
            self.freeze = outer

    def once(self, line: Line, frame: Frame, current: Value | None) -> Value | None:
        """Elaborates one iteration of a line: a sequence, an operation or a block."""
        line = self.resolved(line, frame)
        with self.freezing(line, frame):
            if line.target == "sequence":
                return self.sequence(line, frame, current)
            declared = ops.find(line.target)
            if declared is not None:
                return elaborate_operation(self, line, declared, frame, current)
            return elaborate_call(self, line, self.block(line.target, line), frame, current)

    def block(self, target: str, line: Line) -> Block:
        """The block of that name; NetcalcError (E102) where there is none."""
        # what a shipped block is given as an argument may be a block of the spec's own
        block = find_block(target, self.home) or find_block(target, self.loaded)
        if block is None:
            span = (line.args or line.cursor).key_span
            raise NetcalcError(
                Diagnostic(
                    "E102", f"unknown operation or block {target!r}", span, hint=did_you_mean(target, self.targets())
                )
            )
        return block

    def targets(self) -> list[str]:
        """Whatever a line may name here."""
        return [*ops.names(), *self.home.blocks, *shipped_blocks(), "sequence"]

    def define(self, line: Line, frame: Frame, named: Named) -> None:
        """Puts the line's name, and those of ``as``, in sight of the lines that follow."""
        name = self.given_name(line, frame)
        if name is not None:
            frame.names[name] = named
        labels = line.modifier("as")
        if labels is None:
            return
        words = [labels.data] if isinstance(labels.data, str) else labels.data
        if not isinstance(words, list) or len(words) > len(named.outputs):
            count = len(named.outputs)
            raise NetcalcError(
                Diagnostic(
                    "E303",
                    f"as: should be at most {count} {'name' if count == 1 else 'names'}, one an output",
                    labels.span,
                )
            )
        twice = next((word for i, word in enumerate(words) if word in words[:i]), None)
        if twice is not None:
            raise NetcalcError(Diagnostic("E106", f"as: the name {twice!r} is given twice", labels.span))
        for word, value in zip(words, named.outputs.values(), strict=False):
            frame.names[str(word)] = Named.single(value, labels.span)

    def claim(self, path: str, line: Line, frame: Frame) -> str:
        """Takes a path in the body; two lines may not have the same."""
        taken = frame.builder.paths
        if path in taken:
            first = taken[path]
            related = (Related(f"{path!r} is first used here", first),) if first else ()
            span = (line.modifier("name") or line.cursor).span
            raise NetcalcError(Diagnostic("E106", f"the name {path!r} is used twice", span, related))
        taken[path] = line.cursor.span
        return path

    # -- sequences ----------------------------------------------------------------------------------

    def sequence(self, line: Line, frame: Frame, current: Value | None) -> Value | None:
        """Elaborates a nested list of lines; a named one makes a level of paths."""
        if line.args is None or not isinstance(line.args.data, list):
            raise NetcalcError(Diagnostic("E107", "sequence: should be a list of lines", line.cursor.span))
        source = line.modifier("from")
        if source is not None:
            current = resolve_value(str(source.data), source, frame, current)
        name = self.given_name(line, frame)
        if name is None:  # an unnamed sequence stands in its parent's place
            result = self.lines(line.args, frame, current)
            self.define(line, frame, Named.single(result, line.cursor.span))
            return result
        path = self.claim(join(frame.prefix, name), line, frame)
        inner = Frame(frame.builder, path, numbered=True, parent=frame)
        result = self.lines(line.args, inner, current)
        self.define(line, frame, Named.single(result, line.cursor.span))
        for local, named in inner.names.items():
            frame.names[f"{name}.{local}"] = named
        return result


def _bindings(frame: Frame) -> dict[str, str]:
    """The arguments and loop variables in force, as text, innermost first."""
    found: dict[str, str] = {}
    here: Frame | None = frame
    while here is not None:
        for name, value in here.variables.items():
            found.setdefault(name, str(value).lower() if isinstance(value, bool) else str(value))
        here = here.parent or here.builder.outer
    return found
