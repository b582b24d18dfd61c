"""The conformance table: what other libraries make of the same inputs, and why.

    python3 -m venv .oracles && .oracles/bin/pip install -r benchmarks/oracles.txt
    python -m benchmarks.conformance [--oracles .oracles/bin/python] [--page docs/conformance.md]

Ends with status 1 where a difference has no reason, or a reason no difference.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from benchmarks.conformance.cases import CASES
from benchmarks.conformance.peers import PEERS
from benchmarks.conformance.report import faults, page

HERE = Path(__file__).parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oracles", default=".oracles/bin/python", help="python with benchmarks/oracles.txt installed")
    parser.add_argument("--page", type=Path, default=HERE.parents[1] / "docs" / "conformance.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        questions, answers = Path(directory) / "cases.json", Path(directory) / "values.json"
        questions.write_text(json.dumps([asdict(case) | {"key": case.key} for case in CASES]))
        subprocess.run(
            [arguments.oracles, str(HERE / "peers.py"), str(questions), str(answers)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        found = json.loads(answers.read_text())
    arguments.page.parent.mkdir(exist_ok=True)
    arguments.page.write_text(page(found, list(PEERS)))
    print(f"{arguments.page}: {len(CASES)} cases, {', '.join(found)}")
    wrong = faults(found)
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
