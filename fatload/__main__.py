"""``python -m fatload``."""

from fatload.cli import main

if __name__ == "__main__":
    main(prog_name="fatload")
