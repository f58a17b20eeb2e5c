"""Draws dmtwisted.ico, a receipt on a blue square: ``python packaging/windows/icon.py FILE``; needs Pillow."""

from __future__ import annotations

import sys

from PIL import Image, ImageDraw

SIDE = 256


def draw() -> Image.Image:
    """The icon, large."""
    image = Image.new("RGBA", (SIDE, SIDE))
    pen = ImageDraw.Draw(image)
    pen.rounded_rectangle((8, 8, 248, 248), 44, "#1d4ed8")
    teeth = [(x, 212 if n % 2 else 196) for n, x in enumerate(range(68, 189, 20))]
    pen.polygon([(68, 44), (188, 44), *reversed(teeth)], "white")
    for top, right in ((72, 168), (100, 168), (128, 132)):
        pen.rectangle((88, top, right, top + 12), "#1d4ed8")
    pen.rectangle((88, 156, 168, 174), "#facc15")
    return image


if __name__ == "__main__":
    draw().save(sys.argv[1], sizes=[(side, side) for side in (16, 32, 48, 256)])
