"""Reading exports of promptfoo, and phrasing selections for it."""
