"""`python -m tests.corpus.answer FILE… --json`: the product's report in the words of the corpus of public cases."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from specconsole.explain.document import document
from specconsole.explain.files import explain
from tests.corpus import words


def answer(names: list[str]) -> dict[str, Any]:
    """Explain files and translate."""
    with ExitStack() as stack:
        report = explain((Path(name).name, stack.enter_context(Path(name).open("rb"))) for name in names)
    return words.translate(document(report))


def main() -> int:
    names = [word for word in sys.argv[1:] if not word.startswith("--")]
    print(json.dumps(answer(names), ensure_ascii=False, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
