"""What all languages of rules share: events in and out, sessions, Spark, pictures and pages, engines to run them."""
