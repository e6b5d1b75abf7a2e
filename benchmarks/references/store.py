"""Puts the results of learners into the package: ``piase bench learners FOLDER --store``.

`learners.json` holds, for each id, curves and episodes of every seed of the best pass. For each id
in a suite that the fast learner trained, one policy ships, that of the median seed, without its
critic, and in half precision if it plays no worse that way. If the model that already ships gets
more on the held-out seeds, that model stays.
"""

from __future__ import annotations

import copy
import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import orjson
import torch

from piase_gym.benchmarks.evaluation.evaluate import evaluate
from piase_gym.benchmarks.evaluation.suites import (
    TABLE,
    Row,
    Setting,
    Suite,
    expand,
    ids_of,
)
from piase_gym.benchmarks.references.learned import FILE, stored_learners
from piase_gym.benchmarks.references.learners import best_runs, collect, median_run, setting_of
from piase_gym.benchmarks.references.measure import write_references
from piase_gym.benchmarks.references.models import ModelFolder, packed, shipped_models
from piase_gym.benchmarks.references.references import FILE as REFERENCES
from piase_gym.benchmarks.references.references import References, read_references
from piase_gym.core.files import write_whole

LARGEST = 5_000_000
"""The largest number of bytes that all shipped models may have together."""
WORSE = 0.02
"""How much less often a policy may win in half precision, and how much less it may get, as a share
of what it gets."""
SPLITS = ("dev", "held_out")
MODEL = "ppo"
"""The name of the models' policy."""


def store_learners(folder: Path, rows: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    """Store what a folder of trainings holds; yield what became of each model.

    References that were played with a replaced model are removed; ``piase bench references
    --missing`` plays them again. A model that does not fit into `LARGEST` with the others does not
    ship; the results of its runs are stored all the same.
    """
    here = Path(__file__).parent
    found = {**stored_learners(), **collect(folder, rows)}
    lines = b",\n".join(
        orjson.dumps(name) + b": " + orjson.dumps(found[name], option=orjson.OPT_SORT_KEYS)
        for name in sorted(found)
    )
    write_whole(here / FILE, b"{\n" + lines + b"\n}\n")
    models, in_suites = shipped_models()[MODEL], {task for row in TABLE for task in ids_of(row)}
    references = copy.deepcopy(dict(read_references(here / REFERENCES)))
    for name, own in rows.items():
        runs = [run for run in best_runs(folder, name) if run["algo"] == "batch_ppo"]
        if runs and own[0].task in in_suites:
            run = median_run(runs)
            shipped = _ship(Path(run["folder"]) / run["policy"], models, own, references)
            if shipped.startswith("replaced"):
                for setting in (s for row in own for part in SPLITS for s in expand(row, part)):
                    _forget(references, setting)
            yield f"{name}: {shipped}"
    size = sum(path.stat().st_size for path in models.folder.glob("*.[zp]*"))
    write_references(here / REFERENCES, references)
    yield f"{size:,} bytes of models; play the new ones with: piase bench references --missing"


def _forget(references: References, setting: Setting) -> None:
    """Remove what was played with the model of a setting: by it, or by others alongside it."""
    if setting.partner == MODEL:
        references["settings"].pop(setting.label, None)
    elif setting.label in references["settings"]:
        references["settings"][setting.label]["policies"].pop(MODEL, None)


def _ship(policy: Path, models: ModelFolder, rows: Sequence[Row], references: References) -> str:
    """Put a policy into the folder of models if it is the best there is; return what was done."""
    setting = setting_of(rows[0])
    small = policy.with_name("small.pt")
    write_whole(small, slim(policy))
    players = {"whole": str(policy), "small": str(small)}
    options: dict[str, Any] = {"episodes": 50, "split": "held_out", "references": {}}
    results = evaluate(players, Suite(name="ship", rows=tuple(rows[:1])), **options)
    label = results.settings[0]
    value = {name: fmean(r.value or 0.0 for r in results.of(label, name)) for name in players}
    won = {name: fmean(r.won for r in results.of(label, name)) for name in players}
    old = models.path(setting)
    entry = references["settings"].get(label, {}).get("policies", {}).get(MODEL)
    if old.is_file() and entry is not None:
        value["old"], won["old"] = fmean(entry["values"][:50]), entry["success"] or 0.0
    if won["small"] < won["whole"] - WORSE or (
        value["small"] < value["whole"] - WORSE * abs(value["whole"])
    ):
        write_whole(small, slim(policy, half=False))
        value["small"], won["small"] = value["whole"], won["whole"]
    if "old" in won and (value["old"], won["old"]) > (value["small"], won["small"]):
        return f"the model that ships is as good ({value['old']:.3g}, here {value['small']:.3g})"
    content = small.read_bytes()
    others = sum(path.stat().st_size for path in models.folder.glob("*.[zp]*") if path != old)
    if others + len(content) > LARGEST:
        return f"too large to ship: {len(content):,} bytes, and {LARGEST - others:,} are left"
    if old.is_file():
        old.unlink()
    write_whole(models.folder / f"{setting.name}.pt", content)
    return f"replaced: {value['small']:.3g} after {value.get('old', float('nan')):.3g}"


def slim(policy: Path, half: bool = True) -> bytes:
    """Return a policy file without critics and whatever else only training needs.

    The same numbers give the same bytes, which `torch.load` reads.
    """
    found = torch.load(policy, map_location="cpu", weights_only=True)
    policies = []
    for state in found["policies"]:
        unused = ("critic.", "central.", "encoder.first")
        kept = {k: v for k, v in state.items() if not k.startswith(unused)}
        if "encoder.rows" in kept:
            count = int(kept["encoder.rows"].max()) + 1
            kept["encoder.table"] = kept["encoder.table"][:count].clone()
            kept["encoder.rows"] = kept["encoder.rows"].to(torch.int16)
        policies.append(
            {k: v.half() if half and v.is_floating_point() else v for k, v in kept.items()}
        )
    content = io.BytesIO()
    torch.save({"card": found["card"], "policies": policies}, content)
    with zipfile.ZipFile(content) as archive:
        return packed({name: archive.read(name) for name in archive.namelist()})
