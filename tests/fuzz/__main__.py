"""Run cases for as long as is wished: `python -m tests.fuzz --help`."""

from tests.fuzz.campaign import main

main()
