"""Results by name: a task's name and a system's name lead to rows, suites, studies and the leaderboard."""
