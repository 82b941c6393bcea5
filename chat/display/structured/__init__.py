"""Structured content: headings, tables, lists and more, that an agent sends as JSON (CANVAS 52-65).

`model` checks the JSON, `html` draws it, `fallback` says it in markdown and text. Pure.
"""
