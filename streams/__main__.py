"""`python -m streams`: the command `riffle`, where its script is not on the path."""

from streams.cli import main

if __name__ == "__main__":
    main()
