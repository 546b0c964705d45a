"""Conditions: the software, firmware and settings of a node, and how they changed.

``condition`` is one of them; ``software``, ``settings``, ``disks``, ``adapters`` and ``lustre``
read them, ``bill`` asks all of these.  ``ledger`` holds the last bill and the dated changes of a
node; ``grouped`` and ``differences`` look at the ledgers of many nodes.  A node is seen as the
collectors of symptoms see it (plumbline.symptoms.system), so nothing here touches the world.
"""
