#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stands in for $BROWSER: opens the URL at the scripted provider and follows it down to the program's loopback page."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from provider import walk

sys.exit(0 if walk(sys.argv[1], ca_file=os.environ.get("VERSOLA_TEST_CA")).status == 200 else 1)
