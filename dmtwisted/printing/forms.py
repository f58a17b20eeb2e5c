def receipt_form(document, fiscal_number, copy=False):
    return [document.kind]


def report_form(title, *a, **k):
    return [title]


def summary_form(*a, **k):
    return ["S"]


def service_form(*a, **k):
    return ["5"]


def check_barcode(kind, data):
    pass
