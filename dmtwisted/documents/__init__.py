"""What a fiscal document is and how it looks on paper. Registers make documents, printing renders them."""
