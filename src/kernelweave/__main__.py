"""`python -m kernelweave`."""

from kernelweave.cli import main

if __name__ == "__main__":
    main()
