"""Asks upstream's own kconfgen (esp-idf-kconfig 2.x) for the settings of several builds, and why wishes were not met.

Called with the path of a job, a JSON file:
  environment  what ESP-IDF's CMake files set for kconfgen, by name
  kconfig      the top Kconfig file
  rename       a file of old names, or null
  builds       for each: defaults (defconfig files, a later one wins), config (an sdkconfig, or null),
               asked (names of symbols to explain), output (where its answer goes)

kconfgen's own main() does the work; this adds one output format to it.
"""

import json
import os
import sys

import kconfgen.core as kconfgen
import kconfiglib.core as kconfiglib


def words(expression):
    """An expression as Kconfig writes it, with the full names of symbols."""

    def name(item):
        if isinstance(item, kconfiglib.Symbol) and not item.is_constant:
            return "CONFIG_" + item.name
        return kconfiglib.standard_sc_expr_str(item)

    return kconfiglib.expr_str(expression, name)


def conditions(expression):
    """The parts of an expression that are joined by &&."""
    if isinstance(expression, tuple) and expression[0] is kconfiglib.AND:
        return conditions(expression[1]) + conditions(expression[2])
    return [expression]


def unmet(expression):
    """The conditions that are not met, each with the values of the symbols in it."""
    found = []
    for condition in conditions(expression):
        if kconfiglib.expr_value(condition):
            continue
        items = sorted(
            (item for item in kconfiglib.expr_items(condition) if isinstance(item, kconfiglib.Symbol)),
            key=lambda item: item.name,
        )
        values = {"CONFIG_" + item.name: item.str_value for item in items if not item.is_constant}
        found.append({"condition": words(condition), "values": values})
    return found


def selectors(symbol):
    """The symbols that force it on."""
    found = []
    for term in kconfiglib.split_expr(symbol.rev_dep, kconfiglib.OR):
        if kconfiglib.expr_value(term):
            first = conditions(term)[0]
            if isinstance(first, kconfiglib.Symbol) and not first.is_constant:
                found.append("CONFIG_" + first.name)
    return found


def reasons(symbol):
    """What decides over a symbol besides the defconfig lines."""
    selection = symbol.choice.selection if symbol.choice else None
    prompts = [node.prompt[1] for node in symbol.nodes if node.prompt]
    # A prompt's condition holds the dependencies too; what is left over is its own.
    hidden = [] if any(kconfiglib.expr_value(prompt) for prompt in prompts) else [unmet(prompt) for prompt in prompts]
    ranges = [
        [low.str_value, high.str_value] for low, high, when in symbol.ranges if kconfiglib.expr_value(when)
    ]
    return {
        "defined": bool(symbol.nodes),
        "places": ["%s:%d" % (node.filename, node.linenr) for node in symbol.nodes],
        "prompt": bool(prompts),
        "unmet": unmet(symbol.direct_dep) or (hidden[0] if hidden else []),
        "chosen": "CONFIG_" + selection.name if selection and selection is not symbol else None,
        "selected_by": selectors(symbol),
        "range": ranges[0] if ranges else None,
    }


asked = []


def answer(_, config, filename):
    """The output format: every symbol that sdkconfig has, and the reasons for those that were asked for."""
    values = {}
    for symbol in config.unique_defined_syms:
        text = symbol.config_string
        if text:
            # As a defconfig file writes it.
            values["CONFIG_" + symbol.name] = "n" if text.startswith("# ") else text.split("=", 1)[1].rstrip("\n")
    explained = {}
    for name in asked:
        symbol = config.syms.get(name[len("CONFIG_") :])
        if symbol is not None and symbol.nodes:
            explained[name] = reasons(symbol)
    with open(filename, "w", encoding="utf-8") as file:
        json.dump({"values": values, "asked": explained}, file)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        job = json.load(file)
    os.environ.update(job["environment"])
    kconfgen.OUTPUT_FORMATS["answer"] = answer
    for build in job["builds"]:
        asked[:] = build["asked"]
        sys.argv = ["kconfgen", "--list-separator=semicolon", "--kconfig", job["kconfig"]]
        if job["rename"]:
            sys.argv += ["--sdkconfig-rename", job["rename"]]
        if build["config"]:
            sys.argv += ["--config", build["config"]]
        for defaults in build["defaults"]:
            sys.argv += ["--defaults", defaults]
        sys.argv += ["--output", "answer", build["output"]]
        kconfgen.main()


if __name__ == "__main__":
    main()
