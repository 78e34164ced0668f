"""Programs of rules over changes that are in Spark frames, all there or still growing."""
