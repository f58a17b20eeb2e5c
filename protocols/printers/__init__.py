"""Receipt printers: their languages, their status, what each model can do."""
