"""Parts beside the core: each imports the core and no other part, and the core imports none.

``plumbline.model.parts`` says which there are, and finds those that are installed.
"""
