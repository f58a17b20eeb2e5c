"""What a fiscal document is, its number and its form for paper. Registers make documents, printing renders forms."""
