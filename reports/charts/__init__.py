"""Charts of a nightly page, as static SVG that follows the page's colours."""
