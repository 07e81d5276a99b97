"""A leaderboard: any methods on any data sets, under one protocol that uses no labels."""

from kernelweave.leaderboard.entrants import Entrant, default_entrants, find_entrant
from kernelweave.leaderboard.protocol import CONDITIONS, Protocol
from kernelweave.leaderboard.standings import Standing, Standings, standings
from kernelweave.leaderboard.trial_runs import run_benchmark

__all__ = [
    "CONDITIONS",
    "Entrant",
    "Protocol",
    "Standing",
    "Standings",
    "default_entrants",
    "find_entrant",
    "run_benchmark",
    "standings",
]
