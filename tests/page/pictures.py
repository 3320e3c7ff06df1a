"""What screenshots must have in them."""

from PIL import Image


def near(colour, wanted, by=24):
    return all(abs(a - b) <= by for a, b in zip(colour[:3], wanted))


def rgb(text):
    """Of #rrggbb, #rgb or rgb(r, g, b)."""
    if text.startswith("#"):
        digits = text[1:] if len(text) == 7 else "".join(c * 2 for c in text[1:])
        return tuple(int(digits[n : n + 2], 16) for n in (0, 2, 4))
    return tuple(int(float(n)) for n in text[text.index("(") + 1 : text.index(")")].split(",")[:3])


def check(path, width, ground, bar=None):
    """A picture of that width, on that ground, not blank; `bar`: box and colour of the lease's bar."""
    picture = Image.open(path).convert("RGB")
    assert picture.width == width, f"{path} is {picture.width} wide, not {width}"
    assert picture.height >= 400, f"{path} is {picture.height} high"
    colours = picture.getcolors(1 << 24)
    assert len(colours) > 100, f"{path} has {len(colours)} colours"
    share = sum(n for n, c in colours if near(c, ground, 4)) / (picture.width * picture.height)
    assert 0.05 < share < 0.98, f"{path}: {share:.0%} of it is bare ground"
    if bar:
        (x, y, w, h), wanted = bar
        part = picture.crop((int(x) + 4, int(y) + 4, int(x + w) - 4, int(y + h) - 4))
        seen = sum(n for n, c in part.getcolors(1 << 24) if near(c, wanted))
        assert seen > 0.9 * part.width * part.height, f"{path}: the bar has not the colour {wanted}"
    return sum(sum(c) * n for n, c in colours) / (3 * picture.width * picture.height)
