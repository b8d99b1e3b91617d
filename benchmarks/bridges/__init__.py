"""What each bridge costs and keeps, next to the framework's own middleware."""
