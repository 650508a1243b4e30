"""The commands, one function each; `audit.cli` puts them together. What they need is imported when they are called."""
