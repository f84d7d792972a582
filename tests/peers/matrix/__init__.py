"""The matrix: clients of every revision, over every transport, at servers of every SDK, feature by feature."""
