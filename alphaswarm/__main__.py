"""`python -m alphaswarm` is the command line."""

from alphaswarm.cli.main import main

if __name__ == "__main__":
    main()
