"""The report: pictures of a whole site as plain files that open from disk.

Pure: what a site should give and what it gave go in, figures as data come out, then pages as text.
Each figure has its module; ``page`` puts them together.
"""
