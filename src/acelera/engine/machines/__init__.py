"""What runs a plan over events: by tables, by registers, value by value."""
