"""nexo messages in JSON over HTTPS, as Adyen's terminals take them in the local network (docs/reference/nexo.md).

Each request is one POST to ``https://terminal:8443/nexo``; its answer is the body of the response, however long the
customer takes::

    {"SaleToPOIRequest":  {"MessageHeader": {… "MessageCategory": "Payment", "ServiceID": "a1"},
                           "PaymentRequest": {…}}}
    {"SaleToPOIResponse": {"MessageHeader": {… "MessageCategory": "Payment", "ServiceID": "a1"},
                           "PaymentResponse": {"Response": {"Result": "Success"}, …}}}

`messages` has the messages, `sealing` their encryption, `terminal` the till's end, `notice` the messages
that terminals send on their own, `notices` the server that receives them.
"""
