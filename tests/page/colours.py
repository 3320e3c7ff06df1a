"""Contrast of text, from the variables of the style sheet and from what is painted."""

from pictures import rgb

# https://www.w3.org/TR/WCAG22/#contrast-minimum
LEAST = 4.5

# Text and what it stands on, as page.css has them.
PAIRS = [
    *((ink, ground) for ink in ("ink", "soft", "accent") for ground in ("ground", "card")),
    *((kind, "card") for kind in ("warn", "bad")),
    *((kind, f"{kind}-soft") for kind in ("good", "warn", "bad")),
    *(("ink", soft) for soft in ("good-soft", "warn-soft", "accent-soft", "line")),
]

# Every text that is seen, its colour, and the first ground below it that is painted.
PAINTED = """() => {
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode()); ) {
    const at = node.parentElement, style = getComputedStyle(at);
    if (!node.data.trim() || at.closest("svg, noscript") || !at.checkVisibility()) continue;
    let below = at;
    while (below && /, 0\\)$|^transparent$/.test(getComputedStyle(below).backgroundColor)) below = below.parentElement;
    found.push([node.data.trim(), style.color, getComputedStyle(below ?? document.documentElement).backgroundColor]);
  }
  return found;
}"""
VARIABLE = "(name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim()"


def luminance(colour):
    parts = [c / 255 for c in colour]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one, two):
    light, dark = sorted((luminance(one), luminance(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def check(page, where):
    low = []
    for text, ground in PAIRS:
        ratio = contrast(rgb(page.evaluate(VARIABLE, text)), rgb(page.evaluate(VARIABLE, ground)))
        if ratio < LEAST:
            low.append(f"--{text} on --{ground}: {ratio:.2f}")
    painted = page.evaluate(PAINTED)
    assert len(painted) > 40, f"{where}: {len(painted)} texts are seen"
    for text, colour, ground in painted:
        ratio = contrast(rgb(colour), rgb(ground))
        if ratio < LEAST:
            low.append(f"{text!r}, {colour} on {ground}: {ratio:.2f}")
    assert not low, f"{where}: contrast below {LEAST}:\n  " + "\n  ".join(low)
