"""What a policy would do: a fleet with known faults, measured and judged day by day.

``fleet`` is what the plan has the nodes measure, ``capacity`` what that should give with and
without faults, ``noise`` and ``weather`` what is added to it, ``measuring`` and ``memory`` turn it
into series, ``course`` lets the days pass and has them judged, ``score`` counts alarms.
"""
