"""What a notebook calls: the chapter, its tables and figures, its widgets."""
