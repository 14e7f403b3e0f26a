"""Faulty parser processes, as a hostile file might make ours."""
