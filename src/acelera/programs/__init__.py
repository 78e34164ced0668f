"""Programs: rules that make events of events, whatever language they are written in."""
