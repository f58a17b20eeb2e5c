"""ECR17, the protocol of Italian bank terminals, over TCP or a serial line (docs/reference/ecr17.md).

A frame is text between STX and ETX and one check byte. Acknowledgements are three bytes; the text of
the terminal's display comes as a line of 20 characters that is not acknowledged::

    request   02  1234567 8 0 P ...  03  20      STX, payload, ETX, check byte
    taken     06                     03  79      ACK; 15 03 6a is NAK: send it again
    progress  01  "IN CORSO" + 12 spaces  04     SOH, 20 characters, EOT
    answer    02  1234567 8 0 E 00 ...  03  5c   acknowledged by the till, or the terminal repeats it

The check byte is 7F XOR the payload; four variants differ in whether they count STX and ETX too (`Lrc`).

Every payload begins with the terminal's number (8), ``0`` and a letter that names the message. Positions in the
comments below count from 1, as the reference does.
"""
