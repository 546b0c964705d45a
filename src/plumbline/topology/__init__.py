"""First stage: the document that describes a site becomes components, chains and paths.

``ranges`` writes many names as one, ``strict`` refuses what a document should not say, ``document``
is what a person types, ``graph`` links the parts, ``routes`` walks them.
"""
