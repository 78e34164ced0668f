"""The relations of the examples of paper 004 and of the ten programs of the contract."""

import pyarrow as pa

from acelera.language.types import FLOAT, INT, STRING, Kind, Type
from acelera.trepl.resolved import Relation

TIMESTAMP = Type(Kind.TIMESTAMP, pa.timestamp("us"))

RELATIONS = {
    "stock_tick": Relation({"ID": STRING, "Price": FLOAT}),
    "stock_closing": Relation({"ID": STRING, "Price": FLOAT}),
    "owns": Relation({"Name": STRING, "ID": STRING, "Shares": INT}),
    "A": Relation({"k": INT}),
    "B": Relation({"k": INT}),
    "C": Relation({"k": INT}),
    "D": Relation({"k": INT}),
    "reading": Relation({"sensor": STRING, "value": FLOAT}),
    "stock": Relation({"id": STRING, "price": FLOAT}),
    "orders": Relation({"customer": STRING, "order_id": STRING}),
    "customer": Relation({"customer_id": STRING, "address": STRING}),
    "payment": Relation({"customer_id": STRING, "amount": FLOAT, "order_id": STRING}),
    "shipment": Relation({"order_id": STRING}),
    "account": Relation({"id": STRING, "balance": FLOAT}),
}
