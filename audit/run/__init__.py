"""Plans and their execution."""

from audit.run.execute import collect, execute
from audit.run.outcome import Outcome
from audit.run.plan import Plan, Selection, Shard, Size, plan
from audit.run.progress import Progress

__all__ = ["Outcome", "Plan", "Progress", "Selection", "Shard", "Size", "collect", "execute", "plan"]
