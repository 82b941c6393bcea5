"""Structured content: headings, tables, lists and more, that an agent sends as JSON (CANVAS 52-65).

`reading` checks the JSON and makes it the values of `model`; `html` draws them, and `fallback` says
them in markdown and text. Pure.
"""
