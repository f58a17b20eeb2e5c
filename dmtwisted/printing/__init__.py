"""How a form looks on each kind of paper: text, picture, PDF and printer render the same elements."""
