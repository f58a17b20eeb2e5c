"""Behind ``dmtwisted crashlab``: the real service killed at named places, and all books held against each other."""
