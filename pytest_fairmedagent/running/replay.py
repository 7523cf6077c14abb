"""What `recorded/PATH` stands for: a run of a store, or a record file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from pytest_fairmedagent.domain import Trajectory, Trial
from pytest_fairmedagent.errors import StoreError
from pytest_fairmedagent.files.recordings import RecordFile
from pytest_fairmedagent.running.archive import Archive, store_file


class RunRecording:
    """One run of a store, read whole: by its number, or the newest that was finished.

    `since` is when the oldest of its trajectories was finished, in seconds since the epoch.
    """

    def __init__(self, path: Path, number: int | None = None) -> None:
        with Archive(path) as archive:
            run = archive.run(number, finished=True)
            self._trials = archive.trials(run)
        self.path = f"{path}#{run.id}"
        self._configuration = run.fields
        times = [t.finished for t in self._trials.values() if t.finished is not None]
        self.since = min(times, default=None)

    def of(self, agent: Callable[[], Mapping[str, object]]) -> RunRecording:
        """Return the run itself: a run of a store is of one agent."""
        return self

    def configuration(self) -> Mapping[str, object]:
        """Return the configuration in which the run was drawn."""
        return self._configuration

    def trajectory(self, trial: Trial) -> Trajectory:
        """Return a stored trajectory. Raises StoreError for one that is not there.

        One that was lost to the infrastructure is there: the run was judged with it missing.
        """
        found = self._trials.get(trial)
        if found is not None and found.trajectory is not None:
            return found.trajectory
        there = [t for t, stored in self._trials.items() if stored.trajectory is not None]
        vignettes = sorted({t.vignette for t in there})
        conditions = sorted({t.condition for t in there})
        state = "no trajectory" if found is None else "an unfinished trajectory"
        raise StoreError(
            f"{self.path}: holds {state} of {trial.vignette}, {trial.condition}, replicate "
            f"{trial.replicate + 1}.\n  It has {len(there)} trajectories of {len(vignettes)} "
            f"vignettes under {', '.join(conditions) or 'no condition'}. A recorded run is never "
            "completed with calls: select what is there with --fairmed-vignettes, --fairmed-swaps "
            "and --fairmed-replicates, or name another run as PATH#N (fairmed show lists them)."
        )


def open_recording(name: str, base: Path) -> RunRecording | RecordFile:
    """Return the recording that `recorded/NAME` means; a relative path starts at `base`.

    NAME is a record file, or the folder or file of a store, with `#N` behind it for a run other
    than the newest finished one.
    """
    path, number = base / name, None
    head, mark, tail = name.rpartition("#")
    if mark and tail.isascii() and tail.isdigit() and not path.exists():
        path, number = base / head, int(tail)
    if not path.exists():
        raise StoreError(
            f"{path}: does not exist, expected a record file (JSON or JSON Lines), or a store: a "
            "folder with runs.sqlite.\n  `--fairmed-report NAME.json` writes a record; runs are "
            "stored in .fairmed unless --fairmed-store names another place."
        )
    if path.is_dir() or store_file(path) is not None:
        return RunRecording(path, number)
    if number is not None:
        raise StoreError(
            f"{path}: is no store, so it has no run {number}.\n  Name a record file without '#'."
        )
    return RecordFile(path)
