"""`python -m tidelog` is the command `tidelog`."""

from tidelog.cli import main

raise SystemExit(main())
