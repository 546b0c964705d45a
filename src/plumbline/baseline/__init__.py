"""What a component has given: records become statistics, a person compares and accepts them.

``statistics`` describes rates, ``capture`` chooses the records, ``document`` is what is kept,
``compare`` sets old beside new, ``acceptance`` takes candidates over.
"""
