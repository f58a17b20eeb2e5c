"""ECR17, the protocol of Italian bank terminals, over TCP or a serial line (terminals.md 8).

A frame is text between STX and ETX and one check byte. Acknowledgements are three bytes; what the terminal shows to
its customer comes as a bare line of 20 characters that nobody acknowledges::

    request   02  1234567 8 0 P ...  03  20      STX, payload, ETX, check byte
    taken     06                     03  79      ACK; 15 03 6a is NAK: send it again
    progress  01  "IN CORSO" + 12 spaces  04     SOH, 20 characters, EOT
    answer    02  1234567 8 0 E 00 ...  03  5c   acknowledged by the till, otherwise the terminal repeats it

The check byte is 7F XOR the payload; four variants differ in whether STX and ETX are counted too (`Lrc`).

Every payload begins with the terminal's number (8), ``0`` and a letter that names the message. Positions in the
comments below count from 1, as the reference does.
"""
