"""What a server that binds reasoning makes of the requests of every entry point."""
