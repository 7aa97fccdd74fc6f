# SPDX-License-Identifier: Apache-2.0
"""Opens the page of `ipuctl report` in a browser: page_test.py PAGE EMPTY_PAGE. Prints TAP.

PAGE is that of `report-sample 1000`, EMPTY_PAGE that of `report-sample 0`. SHOTS=DIR also writes screenshots there.
"""
import os
import sys
import tempfile
import time
import traceback

from browser import Browser

WIDTHS = (360, 414, 768, 1024, 1280, 1920)
LEASES = 1000

# Returns the texts whose contrast with what is behind them is less than 4.5, or 3 where they are large.
CONTRAST = """(() => {
  const parse = (text) => {
    const part = text.match(/[0-9.]+/g).map(Number);
    return {r: part[0], g: part[1], b: part[2], a: part.length > 3 ? part[3] : 1};
  };
  const light = (colour) => {
    const linear = [colour.r, colour.g, colour.b].map((c) => {
      const part = c / 255;
      return part <= 0.03928 ? part / 12.92 : Math.pow((part + 0.055) / 1.055, 2.4);
    });
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.a === 1) return colour;
    }
    return parse(matchMedia('(prefers-color-scheme: dark)').matches ? 'rgb(0,0,0)' : 'rgb(255,255,255)');
  };
  const poor = new Set();
  let seen = 0;
  for (const element of document.querySelectorAll('body *')) {
    const own = Array.from(element.childNodes).some((node) => node.nodeType === 3 && node.data.trim() !== '');
    if (!own || element.matches('script, style, .unseen') || element.getClientRects().length === 0) continue;
    const style = getComputedStyle(element);
    const ink = light(parse(element.namespaceURI.endsWith('svg') ? style.fill : style.color));
    const page = light(behind(element));
    const ratio = (Math.max(ink, page) + 0.05) / (Math.min(ink, page) + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    ++seen;
    if (ratio < (large ? 3 : 4.5))
      poor.add(`${element.tagName}.${element.getAttribute('class')}: ${ratio.toFixed(2)}`);
  }
  return {seen, poor: Array.from(poor)};
})()"""

# The label or the text of what has the focus.
FOCUSED = """(() => {
  const at = document.activeElement;
  return at.getAttribute('aria-label') || at.id || at.textContent.trim();
})()"""


def equal(actual, expected, what=""):
    assert actual == expected, f"{what}: {actual!r} instead of {expected!r}"


def loads_nothing(browser, page, empty):
    for file in (page, empty):
        for width in (360, 1920):
            for scheme in ("light", "dark"):
                browser.open(file, width, scheme)
                equal(browser.requests(), ["file://" + file], "requests")
                equal(browser.complaints(), [], "the console")


def sees_what_a_page_loads(browser, page, _):
    """The test above would see a page that loads or runs what the policy forbids."""
    with open(page, encoding="utf-8") as file:
        html = file.read()
    for wrong in ("<img src='http://127.0.0.1:9/x'>", "<p style='color: red'>x</p>", "<script>alert(1)</script>"):
        with tempfile.NamedTemporaryFile("w", suffix=".html", encoding="utf-8") as other:
            other.write(html.replace("</main>", wrong + "</main>"))
            other.flush()
            os.chmod(other.name, 0o644)
            browser.open(other.name, 1920)
            assert browser.complaints(), f"nobody complains of {wrong}"
            equal(browser.unblocked(), [], "requests that left")


def does_not_scroll_sideways(browser, page, empty):
    for file in (page, empty):
        for width in WIDTHS:
            browser.open(file, width)
            browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            equal(browser.run("innerWidth"), width)
            wide = browser.run("document.documentElement.scrollWidth")
            assert wide <= width, f"{wide} pixels on a screen of {width}"
            # What is wider than the screen is in a box that scrolls.
            cut = browser.run("""Array.from(document.querySelectorAll('main *')).filter((one) =>
                !one.closest('.box, svg, .unseen') && one.getBoundingClientRect().right > innerWidth + 1)
                .map((one) => one.outerHTML.slice(0, 80))""")
            equal(cut, [], f"beyond the edge at {width}")


def shows_all_leases_and_hostile_names(browser, page, _):
    browser.open(page, 1920)
    equal(browser.run("document.querySelector('#holdings').tBodies[0].rows.length"), LEASES + 1)
    equal(browser.run("document.querySelectorAll('.map .ipu').length"), 1024 + 8)
    equal(browser.run("document.title"), "IPUs: who uses what")
    text = browser.run("document.querySelector('main').textContent")
    for name in ("<script>document.title='taken'</script>", "\"' onmouseover='alert(1)' x=\"",
                 "<img src=http://127.0.0.1:9/x onerror=alert(1)>", "W" * 200, "job- gpj.exe"):
        assert name in text, f"{name} is not shown"
    assert "\u202e" not in browser.run("document.documentElement.outerHTML"), "a name turns the text"
    equal(browser.run("document.querySelectorAll('main img, main script, [onmouseover]').length"), 0)
    assert "There is no map of this pool: the controller did not answer within 2s" in text


def goes_by_keyboard(browser, page, _):
    browser.open(page, 1920)
    browser.press("Tab")
    equal(browser.run("document.activeElement.className"), "skip")
    assert browser.run("document.activeElement.getBoundingClientRect().left >= 0"), "the link to skip is unseen"
    browser.press("Enter")
    equal(browser.run("document.activeElement.id"), "main")
    browser.press("Tab")
    assert browser.run(FOCUSED).startswith("IPU 0: Held, "), browser.run(FOCUSED)
    assert browser.run("getComputedStyle(document.activeElement).outlineStyle") == "solid", "the focus is unseen"
    equal(browser.run("document.getElementById('map-line-0').textContent"), browser.run(FOCUSED))
    for key, number in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("ArrowLeft", 0), ("ArrowLeft", 0),
                        ("End", 1023), ("ArrowRight", 1023), ("Home", 0)):
        browser.press(key)
        assert browser.run(FOCUSED).startswith(f"IPU {number}: "), f"{key}: {browser.run(FOCUSED)}"
    browser.press("ArrowDown")
    below = int(browser.run(FOCUSED).split(":")[0][4:])
    assert below >= 4, below
    browser.press("ArrowUp")
    assert browser.run(FOCUSED).startswith("IPU 0: ")
    # The map is one stop. Its table is the next one.
    browser.press("Tab")
    equal(browser.run(FOCUSED), "Map as a table")
    browser.press("Enter")
    assert browser.run("document.activeElement.parentElement.open"), "the table does not open"
    browser.press("Tab")
    assert browser.run("document.activeElement.matches('.box')"), "the table does not scroll by keyboard"
    for _ in range(20):
        browser.press("Tab")
        if browser.run("document.activeElement.id") == "holdings-filter":
            break
    equal(browser.run("document.activeElement.id"), "holdings-filter")
    browser.type("TRAIN-77")
    equal(browser.run("document.querySelector('output').textContent"), f"11 of {LEASES + 1}")
    equal(browser.run("Array.from(document.querySelector('#holdings').tBodies[0].rows).filter((row) => !row.hidden)"
                      ".length"), 11)


def stops_are_in_the_order_of_the_page(browser, page, _):
    browser.open(page, 360)
    last = -1.0
    for _ in range(60):
        browser.press("Tab")
        if browser.run("document.activeElement === document.body"):
            return
        top = browser.run("document.activeElement.matches('.skip') ? 0 : "
                          "document.activeElement.getBoundingClientRect().top + scrollY")
        assert top >= last - 40, f"{browser.run(FOCUSED)[:60]}: back from {last} to {top}"
        last = top
    raise AssertionError("more than 60 stops")


def speaks_to_a_screen_reader(browser, page, _):
    browser.open(page, 1920)
    nodes = [one for one in browser.call("Accessibility.getFullAXTree")["nodes"] if not one.get("ignored")]
    roles = {}
    for one in nodes:
        roles.setdefault(one["role"]["value"], []).append(one.get("name", {}).get("value", ""))
    for role in ("banner", "navigation", "main", "contentinfo"):
        equal(len(roles.get(role, [])), 1, role)
    equal(roles["navigation"], ["Parts of the page"])
    assert "Map of the IPUs" in roles["region"], roles["region"]
    assert "Who has what now" in roles["region"], roles["region"]
    assert "Containers and reservations that have IPUs" in roles["table"], roles["table"]
    assert "" not in roles["table"] + roles["region"] + roles["searchbox"], "something has no name"
    drawings = [name for name in roles["image"] if not name.startswith("IPU ")]
    assert any("25 to 30 percent" in name for name in drawings) and "" not in drawings, drawings
    equal(len([name for name in roles["image"] if name.startswith("IPU ")]), 1032)
    levels = browser.run("Array.from(document.querySelectorAll('h1, h2, h3, h4')).map((one) => Number(one.tagName[1]))")
    equal(levels[0], 1)
    assert all(to <= at + 1 for at, to in zip(levels, levels[1:])), levels
    equal(levels.count(1), 1)
    equal(browser.run("document.querySelectorAll('table:not(:has(caption)), th:not([scope])').length"), 0)


def can_be_read(browser, page, empty):
    for file in (page, empty):
        for scheme in ("light", "dark"):
            browser.open(file, 1280, scheme)
            browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            found = browser.run(CONTRAST)
            assert found["seen"] > 40, found["seen"]
            equal(found["poor"], [], f"contrast, {scheme}")


def is_small_enough(browser, page, _):
    begin = time.monotonic()
    browser.open(page, 1920)
    took = time.monotonic() - begin
    assert took < 20, f"{took} s to open"
    assert os.path.getsize(page) < 2_000_000, os.path.getsize(page)


TESTS = (loads_nothing, sees_what_a_page_loads, does_not_scroll_sideways, shows_all_leases_and_hostile_names,
         goes_by_keyboard, stops_are_in_the_order_of_the_page, speaks_to_a_screen_reader, can_be_read, is_small_enough)


def take_shots(browser, page, empty, folder):
    for name, file in (("page", page), ("empty", empty)):
        for width in (360, 1920):
            for scheme in ("light", "dark"):
                browser.open(file, width, scheme)
                browser.shot(f"{folder}/{name}-{width}-{scheme}.png")


def main():
    page, empty = sys.argv[1:]
    failed = False
    print(f"1..{len(TESTS)}")
    with Browser() as browser:
        for number, test in enumerate(TESTS, 1):
            begin = time.monotonic()
            try:
                test(browser, page, empty)
                result, why = "ok", ""
            except (AssertionError, RuntimeError):
                failed = True
                result, why = "not ok", traceback.format_exc()
            name = test.__name__.replace("_", " ")
            print(f"{result} {number} the page {name} in {(time.monotonic() - begin) * 1000:.0f}ms")
            print("".join("# " + line + "\n" for line in why.splitlines()[-12:]), end="", flush=True)
        if os.environ.get("SHOTS"):
            take_shots(browser, page, empty, os.environ["SHOTS"])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
