"""Plans and their execution."""

from audit.run.execute import Outcome, collect, execute
from audit.run.plan import Plan, Selection, Shard, Size, plan

__all__ = ["Outcome", "Plan", "Selection", "Shard", "Size", "collect", "execute", "plan"]
