"""Published methods that replays compare with; the product does not offer them."""
