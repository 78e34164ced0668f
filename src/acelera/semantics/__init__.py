"""The meaning of a query, computed slowly and plainly from the papers' definitions: the judge of everything else."""

from acelera.semantics.queries import evaluate

__all__ = ["evaluate"]
