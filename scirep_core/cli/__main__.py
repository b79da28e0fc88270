"""`python -m scirep_core.cli` is `scirep`."""

from scirep_core.cli import main

if __name__ == "__main__":
    main()
