"""Opens the reports that kw_report_pages wrote in a real browser, and looks: browser_test.py CHROMIUM FOLDER

Every page: no word on its console, no request but for the file itself, no element or script that did not come from us,
and what it must show is seen. Prints a line for each check that fails; ends with 1 if any did.
"""

import pathlib
import sys

from browser import Browser

PLOTS = {"many": ["#speedups-plot", "#roofline-plot", "#roof-share-plot", "#share-plot", "#mean-plot", "#stages-plot"],
         "one": ["#speedups-plot", "#roofline-plot", "#roof-share-plot", "#share-plot", "#mean-plot", "#stages-plot"],
         "two": ["#changes-body .plot", "#speedups-plot", "#roofline-plot", "#roof-share-plot", "#share-plot", "#mean-plot", "#stages-plot"],
         "search": ["#speedups-plot", "#roofline-plot", "#roof-share-plot", "#share-plot", "#mean-plot", "#stages-plot"],
         "hostile": ["#speedups-plot", "#roofline-plot", "#share-plot", "#stages-plot"],
         "failures": ["#speedups-plot", "#stages-plot"],
         "empty": []}
MODEL_PLOTS = {"compression": ["#perplexity-plot", "#layers-plot", "#spectra-plot"], "training": ["#loss-plot", "#reward-plot", "#accepted-plot"]}

failures = []


def check(truth, page, words):
    if not truth:
        failures.append(f"{page}: {words}")
        print("FAILED:", failures[-1])


def table(page):
    """The rows of the table of tasks, as texts."""
    return page.evaluate("[...document.querySelectorAll('#table tbody tr')].map((row) => [...row.cells].map((cell) => cell.innerText))")


def column(page, head):
    heads = page.evaluate("[...document.querySelectorAll('#table thead th')].map((one) => one.innerText.trim())")
    return next(i for i, one in enumerate(heads) if one.startswith(head))


def plots_are_drawn(page, name):
    for selector in (PLOTS | MODEL_PLOTS)[name]:
        differing = page.look(selector)["differing"]
        check(differing > 0.004, name, f"{selector} is as good as empty: {differing:.2%} of its pixels differ from the background")
        marks = page.evaluate(f"document.querySelectorAll('{selector} .mark').length")
        check(marks > 0, name, f"{selector} has no marks")


def opens_quietly(browser, folder, name, own_scripts=11):
    page = browser.open(folder / f"{name}.html")
    page.wait_for("document.documentElement.dataset.ready === 'yes'")
    # Tasks' parts too, each with its source, its differences and its own plot.
    page.evaluate("for (const part of [...document.querySelectorAll('details.part')].slice(0, 8)) part.open = true")
    page.settle()
    page.evaluate("for (const one of document.querySelectorAll('details')) if (!one.matches('.part')) one.open = true")
    page.settle()
    check(page.complaints == [], name, f"the browser complains: {page.complaints[:3]}")
    address = (folder / f"{name}.html").resolve().as_uri()
    check(set(page.requests) == {address}, name, f"it asked for {set(page.requests) - {address}}")
    check(page.evaluate("window.executed") is None, name, "something in the data was executed")
    check(page.evaluate("performance.getEntriesByType('resource').length") == 0, name, "it loaded something")
    ours = page.evaluate("document.scripts.length")
    check(ours == own_scripts + 2, name, f"it has {ours} scripts, not the data, the library and {own_scripts} of ours")
    strangers = page.evaluate("document.querySelectorAll('img, iframe, object, embed, link, base, form:not(#filters), a:not([href^=\"#\"])').length")
    check(strangers == 0, name, f"{strangers} elements that nobody of us made")
    listeners = page.evaluate("[...document.querySelectorAll('*')].filter((one) => [...one.attributes].some((each) => each.name.startsWith('on'))).length")
    check(listeners == 0, name, "an attribute that would run a script")
    plots_are_drawn(page, name)
    return page


def policy_forbids_everything_else(page):
    """Even a script that got into the page would not run, and could not call anybody."""
    page.evaluate("(() => { const script = document.createElement('script'); script.textContent = 'window.executed = 1'; document.body.append(script); })()")
    check(page.evaluate("window.executed") is None, "one", "a foreign inline script runs")
    fetched = page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'answered', (error) => 'refused')")
    check(fetched == "refused", "one", "a connection is possible")
    check(any("Content Security Policy" in one for one in page.complaints), "one", f"the policy was not what refused: {page.complaints}")


def sorts_and_filters(page):
    names = [row[0] for row in table(page)]
    check(len(names) == 190, "many", f"{len(names)} rows, not 190")
    check(names == sorted(names, key=str.lower), "many", "the table does not begin sorted by name")
    speed = column(page, "speed-up")
    medians = lambda: [float(row[speed].split("×")[0]) for row in table(page) if "×" in row[speed]]
    page.click(f"#table button[data-column='{speed}']")
    check(medians() == sorted(medians(), reverse=True) and len(medians()) > 100, "many", "a click on speed-up does not sort by it, fastest first")
    check("×" not in table(page)[-1][speed], "many", "tasks without a speed-up do not come last")
    check(page.evaluate(f"document.querySelectorAll('#table th')[{speed}].getAttribute('aria-sort')") == "descending", "many", "the sorted column is not told to screen readers")
    page.press("Enter")  # the head that was clicked has the focus
    check(medians() == sorted(medians()), "many", "Enter on the head does not turn the order around")
    check("×" not in table(page)[-1][speed], "many", "tasks without a speed-up do not come last in the other order")

    page.evaluate("document.activeElement.blur()")
    page.press("/")
    check(page.evaluate("document.activeElement.id") == "find", "many", "/ does not go to the field that finds")
    page.type("softmax")
    found = table(page)
    check(0 < len(found) < 20 and all("softmax" in row[0].lower() for row in found), "many", f"finding softmax leaves {[row[0] for row in found]}")
    check(page.evaluate("[...document.querySelectorAll('details.part')].filter((part) => !part.hidden).length") == len(found), "many", "the parts do not follow the filter")
    check("of 190" in page.evaluate("document.getElementById('count').innerText"), "many", "the count is not told")
    page.evaluate("(() => { const find = document.getElementById('find'); find.value = ''; find.dispatchEvent(new Event('input', {bubbles: true})); })()")
    page.evaluate("(() => { const one = document.getElementById('category'); one.value = [...one.options].find((each) => each.text === 'Pooling').value; one.dispatchEvent(new Event('input', {bubbles: true})); })()")
    kinds = {row[column(page, "category")] for row in table(page)}
    check(kinds == {"Pooling"}, "many", f"the category Pooling leaves {kinds}")
    page.evaluate("(() => { for (const id of ['category', 'outcome']) document.getElementById(id).value = id === 'outcome' ? 'failed' : ''; document.getElementById('filters').dispatchEvent(new Event('input')); })()")
    outcomes = {row[column(page, "outcome")] for row in table(page)}
    check(outcomes and all(one.startswith("none got past") for one in outcomes), "many", f"the outcome 'no right kernel' leaves {outcomes}")
    page.evaluate("(() => { document.getElementById('outcome').value = ''; document.getElementById('filters').dispatchEvent(new Event('input')); })()")
    check(len(table(page)) == 190, "many", "the filter cannot be taken off")


def works_by_keyboard(page):
    # One stop for each plot, arrows inside, Enter opens.
    page.evaluate("document.querySelector('#speedups-plot svg[tabindex]').focus()")
    page.press("ArrowDown")
    page.press("ArrowDown")
    words = page.evaluate("document.getElementById('tip').hidden ? '' : document.getElementById('tip').innerText")
    check("as fast as" in words, "many", f"the arrow keys tell nothing of a bar: {words!r}")
    page.press("Enter")
    page.settle()
    opened = page.evaluate("(() => { const part = document.activeElement.closest('details.part'); return part && part.open ? part.querySelector('strong').innerText : ''; })()")
    check(opened and words.startswith(opened), "many", f"Enter on {words!r} opens {opened!r}")
    check(page.evaluate("document.activeElement.closest('details.part').querySelector('pre.code .k') !== null"), "many", "the source is not highlighted")
    page.press("Enter")
    check(not page.evaluate("document.activeElement.closest('details.part').open"), "many", "Enter does not close a task's part")
    # From the top, Tab alone reaches the controls.
    page.evaluate("document.querySelector('.bar a').focus()")
    reached = set()
    for _ in range(30):
        page.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.closest('[id]').id"))
    for wanted in ("theme", "rival", "find", "speedups-plot", "roofline-plot", "course"):
        check(wanted in reached, "many", f"Tab does not reach {wanted}")


def rival_changes_everything(page):
    before = page.evaluate("document.getElementById('headline').innerText")
    page.evaluate("(() => { const rival = document.getElementById('rival'); rival.value = [...rival.options].find((one) => one.text === 'plain').value; rival.dispatchEvent(new Event('change')); })()")
    after = page.evaluate("document.getElementById('headline').innerText")
    check("against plain" in after and before != after, "many", "choosing a rival changes nothing")
    drawn = page.evaluate("document.querySelector('#speedups-plot svg[tabindex]').getAttribute('aria-label')")
    check("plain" in drawn, "many", "the bars do not follow the rival")


def themes(browser, folder):
    def background(page):
        return page.look()["colour"]

    page = browser.open(folder / "one.html", dark=True)
    page.wait_for("document.documentElement.dataset.ready === 'yes'")
    check(max(background(page)) < 60, "one", f"a dark system gets a page of colour {background(page)}")
    page.evaluate("document.activeElement.blur()")
    page.press("t")  # dark
    page.press("t")  # light
    check(min(background(page)) > 200, "one", "the switch does not make it light")
    check(page.look("#speedups-plot")["colours"] > 5, "one", "the plot is gone in the light theme")
    page.press("t")  # the system's
    page.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    check(page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)", "one", "dark in print")
    check(page.evaluate("getComputedStyle(document.querySelector('.bar')).display") == "none", "one", "the bar is printed")
    page.close()


def fits_a_phone(browser, folder):
    for name in ("many", "two", "hostile"):
        page = browser.open(folder / f"{name}.html", width=390, height=840, mobile=True)
        page.wait_for("document.documentElement.dataset.ready === 'yes'")
        page.evaluate("document.querySelector('details.part').open = true")
        page.settle()
        wide = page.evaluate("document.documentElement.scrollWidth")
        check(wide <= 390, name, f"on a phone of 390 points the page is {wide} wide")
        page.close()


def shows_what_it_must(pages):
    text = lambda page: page.evaluate("document.body.innerText")
    check("No task" in text(pages["empty"]) and "No candidate" in text(pages["empty"]), "empty", "an empty run does not say that it is")
    one = text(pages["one"])
    for words in ("arXiv 2603.11935", "another setting", "MoKA", "What it computes", "TILE", "95 % interval"):
        check(words in one, "one", f"nothing says {words!r}")
    failed = text(pages["failures"])
    for words in ("build", "hidden", "precision", "not judged", "open", "cannot be read", "none got past"):
        check(words in failed, "failures", f"nothing says {words!r}")
    check(pages["failures"].evaluate("document.querySelectorAll('#reasons tbody tr').length") >= 8, "failures", "reasons are missing")
    many = pages["many"]
    check(many.evaluate("document.querySelectorAll('#speedups-plot g.row').length") == 190, "many", "not every task has a row")
    bars = many.evaluate("document.querySelectorAll('#speedups-plot rect.bar').length")
    check(bars == many.evaluate("document.querySelectorAll('#speedups-plot path.interval').length") and bars > 150, "many", f"{bars} bars, and not as many intervals")
    check(many.evaluate("document.querySelectorAll('#roofline-plot path.point').length") > 100, "many", "kernels are missing on the roofline")
    check(many.evaluate("document.querySelectorAll('#roofline-plot line.roof').length") == 4, "many", "roofs are missing")
    check(many.evaluate("document.querySelectorAll('.line-of li').length") > 10, "many", "no ancestors")
    check(many.evaluate("document.querySelectorAll('.difference .add').length") > 10, "many", "no differences from ancestors")
    two = pages["two"]
    check(two.evaluate("getComputedStyle(document.getElementById('changes')).display") != "none", "two", "changes are hidden")
    check("within the noise" in text(two) or "better" in text(two), "two", "no change is told")
    check(many.evaluate("getComputedStyle(document.getElementById('changes')).display") == "none", "many", "changes of a single run are shown")
    hostile = text(pages["hostile"])
    for words in ("</script><script>window.executed=1</script>", "onerror=\"window.executed=2\"", "javascript:window.executed=4", "{{data}}"):
        check(words in hostile, "hostile", f"{words!r} is not shown as the text it is")


def agrees_with_itself(pages):
    """What one part of a page says, the others say too."""
    search = pages["search"]
    end, headline, solved = search.evaluate("(() => { const run = data.runs[0]; return [courseOf(run).steps.pop(), run.figures, run.parts.filter((part) => part.best).length / run.parts.length]; })()")
    check(solved > 0.5 and abs(end["right"] - solved) < 1e-9, "search", f"{solved:.0%} of the tasks are solved, and the course of the search ends at {end['right']:.0%}")
    check(abs(end["fast"][0] - headline["fast"]["best"]["1"]) < 1e-9, "search", f"the course ends at {end['fast'][0]:.1%} over 1x, the headline says {headline['fast']['best']['1']:.1%}")
    check(end["candidates"] == headline["candidates"], "search", f"the course counts {end['candidates']} candidates, the headline {headline['candidates']}")
    ends = search.evaluate("lastRows(data.runs[0]).length")
    check(ends == headline["candidates"], "search", f"{ends} candidates ended somewhere, {headline['candidates']} were tried")
    text = search.evaluate("document.body.innerText")
    check("cannot be passed" not in text and "Winograd" in text, "search", "kernels above the roof are not explained")
    rows = lambda: search.evaluate("[...document.querySelectorAll('#headline tr.theirs')].filter((one) => one.checkVisibility()).length")
    folded = rows()
    search.click("#more-published")
    check(folded == 2 and rows() == search.evaluate("data.published.length"), "search", f"of the published rows {folded} and then {rows()} are seen")
    two = pages["two"]
    cards = two.evaluate("[...document.querySelectorAll('#cards h3')].map((one) => one.innerText)")
    check(cards == two.evaluate("data.runs.map((run) => run.name)"), "two", f"the tiles show {cards}")
    check(two.evaluate("data.runs.every((run) => document.getElementById('lead').innerText.includes(run.name))"), "two", "the first lines do not name every run")
    ends = two.evaluate("['Conv2d_standard_kernel_A', 'Conv2d_standard_kernel_B'].map((name) => shortenedName(name, 12))")
    check(len(set(ends)) == 2 and all(len(one) == 12 for one in ends), "two", f"names of a family look alike: {ends}")


def shows_published_categories(page):
    page.evaluate("(() => { const rival = document.getElementById('rival'); rival.value = [...rival.options].find((one) => one.text === 'mnn').value; rival.dispatchEvent(new Event('change')); })()")
    heads = page.evaluate("[...document.querySelectorAll('#categories th[scope=col]')].map((one) => one.innerText)")
    check(heads[-3:] == ["MoKA CSR", "MoKA FCR", "MoKA fast1"], "search", f"the categories end with {heads[-3:]}")
    check("91.7" in page.evaluate("document.querySelector('#categories').innerText"), "search", "MoKA's figures of Activation are missing")


def draws_trainings(page):
    lines = page.evaluate("['loss', 'reward', 'accepted'].map((name) => document.querySelectorAll(`#${name}-plot svg path[fill=none]`).length)")
    check(lines[0] >= 3 and min(lines[1:]) >= 1, "training", f"lines that are drawn: {lines}")
    check(page.evaluate("document.querySelectorAll('#texts article').length") == 2, "training", "not every sample is shown")
    check("300 of 1000" in page.evaluate("document.querySelector('#table').innerText"), "training", "the table lacks the steps")


def main(program, folder):
    with Browser(program) as browser:
        pages = {name: opens_quietly(browser, folder, name) for name in PLOTS}
        opens_quietly(browser, folder, "compression", own_scripts=5)
        draws_trainings(opens_quietly(browser, folder, "training", own_scripts=5))
        shows_what_it_must(pages)
        agrees_with_itself(pages)
        shows_published_categories(pages["search"])
        sorts_and_filters(pages["many"])
        works_by_keyboard(pages["many"])
        rival_changes_everything(pages["many"])
        check(pages["many"].complaints == [], "many", f"the browser complains: {pages['many'].complaints[:3]}")
        policy_forbids_everything_else(pages["one"])
        themes(browser, folder)
        fits_a_phone(browser, folder)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2])))
