"""``python3 -m plumbline.cli`` is the command ``plumbline``."""

import sys

from plumbline.cli import main

sys.exit(main())
