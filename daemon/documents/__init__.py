"""Files as text with places: read, by a confined child where it takes a library, and cited. Knows no soul."""
