"""The texts of a page that no reader sees: the attribute `hidden`, styles, the rules of the page's own style sheets."""
