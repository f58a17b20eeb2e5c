"""Receipts on their way to customers: e-mails over SMTP, and telephone numbers for an operator."""
