"""`python -m kernelweave.cli`."""

from kernelweave.cli import main

if __name__ == "__main__":
    main()
