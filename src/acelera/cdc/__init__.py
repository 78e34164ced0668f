"""Change data capture: what happened to the rows of tables, from whatever tells it.

Each function makes a source, the changes of one relation: `inserts` of a table that only grows, `changes` of one that
has old and new values side by side, `debezium` of the messages of Debezium, `delta` of the change data feed of a Delta
table. Programs of rules over changes take sources.
"""

from acelera.cdc.change_feed import delta
from acelera.cdc.envelopes import debezium
from acelera.cdc.source import Source
from acelera.cdc.tables_of_changes import changes, inserts

__all__ = ["Source", "changes", "debezium", "delta", "inserts"]
