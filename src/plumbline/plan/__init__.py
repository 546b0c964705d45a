"""Third stage: topology and policy become which node measures what, with which terms, and when.

``rounds`` pairs hosts and needs Python alone, because nodes use it too; ``policy`` is the document,
``assignments`` applies it to a site.
"""
