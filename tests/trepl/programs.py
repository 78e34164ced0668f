"""The examples of paper 004 as they are printed, and the ten programs of the contract, section 8."""

EXAMPLES = {
    "1": r"""
Begin Module OwnsMod
monitor update(owns);
BigBuy:
  update(owns(X), X.Name = 'Jones',
        X.new_Shares - X.old_Shares > 1000 )
  -> write("Big Buy of %s from Jones at time %s\n",
        X.ID, asctime( X.Timestamp ) ).
End Module.
""",
    "2": r"""
Begin Module MyModule
monitor update(stock_tick) as st,
      ins(owns), upd(owns);
derived ibm_tick(ID, Price);

IBM_StockTicks:
  st(X, X.ID = 'IBM')
  -> ibm_tick(X.ID, X.Price);
End Module.
""",
    "3": r"""
monitor update(owns)
BoughtBack:
  [ update(owns(X), X.new_Shares < X.old_Shares),
    update(owns(Y), Y.Name = X.Name, Y.ID = X.ID,
           Y.new_Shares - Y.old_Shares >
           X.old_Shares - X.new_Shares)
  ]
-> write("Customer %s back on %s\n", Y.Name, Y.ID)
""",
    "4": r"""
monitor update(stock_closing) as st_cl
StarRule:
  ( st_cl(X, X.new_Price > 1.2 * X.old_Price),
    * st_cl(Y, Y.ID = X.ID, Y.Price >= X.new_Price)
  )
-> write(Y.ID, Y.Price)
""",
    "5": r"""
monitor update(stock_closing) as st_cl;
derived star(FirstPrice, ID, Price);
StarRule1:
( st_cl(X, X.new_Price > 1.2 * X.old_Price),
  st_cl(Y, Y.ID = X.ID, Y.Price >= X.new_Price)
)
-> star(X.new_Price, Y.ID, Y.Price);

StarRule2:
( star(X),
  st_cl(Y, Y.ID = X.ID, Y.Price >= X.FirstPrice)
)
-> star(X.FirstPrice, Y.ID, Y.Price);

HeadRule:
star(Z)
-> write(Z.ID, Z.Price);
""",
    "5 with Count": r"""
monitor update(stock_closing) as st_cl;
derived star(FirstPrice, ID, Price, Count);
StarRule1:
( st_cl(X, X.new_Price > 1.2 * X.old_Price),
  st_cl(Y, Y.ID = X.ID, Y.Price >= X.new_Price)
)
-> star(X.new_Price, Y.ID, Y.Price, 1);

StarRule2:
( star(X),
  st_cl(Y, Y.ID = X.ID, Y.Price > X.FirstPrice)
)
-> star(X.FirstPrice, Y.ID, Y.Price, X.Count+1);

HeadRule:
star(Z)
-> write(Z.ID, Z.Price, Z.Count).
""",
    "6": r"""
monitor update(stock_closing) as st_cl
New_Max_So_Far:
( st_cl(X, X.ID = 'IBM',
  X.new_Price > 1.2 * X.old_Price),
  * st_cl(Y, Y.ID = 'IBM', Y.Price >= X.new_Price),
  Y.Price = Max(Y.Price)
)
-> write(Y.ID, Y.Price).
""",
    "7": r"""
monitor update(stock_closing) as st_cl
Good_Phase:
( * st_cl(X, X.ID = First(X.ID),
      X.Price > Last(X.Price)),
  st_cl(Y, Y.ID = X.ID, Y.Price < X.Price,
        Count(X.ID) >= 30 )
)
-> write("Good Phase for %s, from %s to %s\n",
        X.ID, First(X.Day), X.Day).
""",
    "8": r"""
Moving_Avg:
( any,
  * stock_closing(X, X.ID = 'IBM', Count(X) <= 5),
    Count(X) = 5
)
-> write(X.Name, X.Day, Avg(X.Price)).
""",
    "9": r"""
monitor stock_tick
MonthlyAvg:
( stock_tick(X),
  * stock_tick(Y, Y.ID = X.ID,
                Y.Month = X.Month + 1),
  stock_tick(Z, Z.ID = X.ID,
                Z.Month = Y.Month + 1)
)
-> write("Average Price for %s in %s/%s = %d\n",
        X.ID, Y.Month, Y.Year, Avg(Y.Price) ).
""",
    "10": r"""
Begin Module IBMTicks
monitor ibm_tick;
derived chg_count(IC,DC);

InitRule:
  first(ibm_tick)
  -> chg_count(0, 0);

Increase:
( chg_count(X),
  ibm_tick(Y, Y.new_Price > Y.old_Price )
-> chg_count(X.IC+1, X.DC);

Decrease:
( chg_count(X),
  ibm_tick(Y, Y.new_Price < Y.old_Price )
-> chg_count(X.IC, X.DC+1);

Report:
  chg_count(X, X.IC >= 2 * X.DC )
  -> write("Twice as many Incr. as Decr. for IBM",
          X.IC, X.DC, X.Timestamp).

End Module.
""",
}
"""By their numbers; only 13, which has no head, is not a program."""

TEN = {
    "running": r"""
-- 1. running: mean and count of each sensor so far
monitor reading partition by sensor; derived running(sensor, mean, n);
Running: * reading(X) -> running(X.sensor, Avg(X.value), Count(X));
""",
    "moving": r"""
-- 2. moving: mean of the last five readings
monitor reading partition by sensor; derived moving(sensor, mean);
Moving: (any, * reading(X, Count(X) <= 5), Count(X) = 5) -> moving(X.sensor, Avg(X.value));
""",
    "window in time": r"""
-- 3. window in time: W is the last reading outside the two hours
monitor reading partition by sensor;
TwoHours: (reading(W), * reading(X, X.Timestamp - First(X.Timestamp) <= INTERVAL 2 HOURS), X.Timestamp - W.Timestamp > INTERVAL 2 HOURS)
  -> write(X.sensor, Avg(X.value));
""",
    "grouped by day": r"""
-- 4. grouped by day; for months, months(Y.Timestamp) = months(First(Y.Timestamp))
monitor reading partition by sensor; derived daily(sensor, day, mean, high);
Daily: (* reading(Y, Y.Date = First(Y.Date)), reading(Z, Z.Date <> Y.Date)) -> daily(Y.sensor, Y.Date, Avg(Y.value), Max(Y.value));
""",
    "quantified": r"""
-- 5. quantified: at least ten prices, each above the one before, told when it ends
monitor update(stock) as tick partition by id;
Phase: (* tick(X, X.price > Last(X.price)), Count(X) >= 10, !tick(U, U.price > X.price)) -> write("%s rose from %s to %s", X.id, First(X.price), X.price);
""",
    "every n-th": r"""
-- 6. every n-th: each hundredth order of a customer
monitor insert(orders) as o partition by customer;
Hundredth: (* o(X), Count(X) % 100 = 0) -> sql("insert into vouchers(customer, nr) values (?, ?)", X.customer, Count(X));
""",
    "first n after": r"""
-- 7. first n after: three payments right after a change of address (any other update of the customer ends it)
monitor update(customer) as c, insert(payment) as p partition by customer_id;
AfterMove: (c(X, X.new_address <> X.old_address), * p(Y, Count(Y) <= 3)) -> write(Y.customer_id, Y.amount, Count(Y));
""",
    "absence": r"""
-- 8. absence: shipped, but not paid since the order
monitor ins(orders) as o, ins(payment) as p, ins(shipment) as s;
AtOnce: (o(X), s(Y, Y.order_id = X.order_id)) -> write("unpaid: %s", X.order_id);
Unpaid: (o(X), *!p(P, P.order_id = X.order_id), s(Y, Y.order_id = X.order_id)) -> write("unpaid: %s", X.order_id);
""",
    "one transaction": r"""
-- 9. one transaction (granularity="transaction"): a transfer that does not balance
monitor update(account) as a;
Unbalanced: (a(X, X.new_balance < X.old_balance) & a(Y, Y.new_balance > Y.old_balance), X.old_balance - X.new_balance <> Y.new_balance - Y.old_balance)
  -> insert into audit(giver, taker, at) values (X.id, Y.id, X.Timestamp);
""",
    "an aggregate of one's own by derived events": r"""
-- 10. an aggregate of one's own by derived events; another module tells of every tenth instant with an alarm
Begin Module Watch
monitor reading partition by sensor; derived score(sensor, hot, cold), alarm(sensor);
Init: first(reading(X)) -> score(X.sensor, 0, 0);
Hot:  (score(S), reading(X, X.value > 80)) -> score(X.sensor, S.hot + 1, S.cold);
Cold: (score(S), !reading(X, X.value > 80)) -> score(S.sensor, S.hot, S.cold + 1);
Tell: score(S, S.hot >= 3, S.hot >= 2 * S.cold) -> alarm(S.sensor);
End Module.
Begin Module Ops
monitor Watch.alarm;
Many: (* alarm(A), Count(A) % 10 = 0) -> write("%d instants, now %s", Count(A), A.sensor);
End Module.
""",
}
