"""Print forms: what a document says on paper, and how it looks on each kind of it.

``model`` has the elements of a form, ``forms`` makes them from documents and totals, ``text`` renders them as plain
text of any width. Whatever else renders a form (a printer, a picture, a page) takes the same elements.
"""
