"""Files as people share them, and as attackers would; and what an answer cites of them."""
