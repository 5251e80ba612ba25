"""The parts of charts: styles, scales, and names beside the lines that they name.

kcup's programs are in colour and drawn last, all others in grey. The colours are from Okabe and Ito's palette, which
readers with any kind of colour vision can tell apart.
"""

import math

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from matplotlib.transforms import ScaledTranslation

COLOURS = {"kcup-rust": "#D55E00", "kcup-go": "#0072B2", "floor": "black"}
GREY, FAINT = "#767676", "#dddddd"
MARKERS = ["s", "^", "D", "v", "P", "X", "<", ">", "h", "*"]
# In inches: between the middles of two names, and from the axes to a name.
NAME_GAP, NAME_DISTANCE = 0.146, 0.11
STYLE = {
    "font.size": 9,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "figure.facecolor": "white",
    # The same data gives the same file.
    "svg.hashsalt": "kcup",
}
PLAIN = FuncFormatter(lambda value, _: f"{value:,.10g}")


def is_ours(contender):
    return contender.startswith("kcup-")


def ink(contender):
    return COLOURS.get(contender, GREY)


def weight(contender):
    return "bold" if is_ours(contender) else "normal"


def stroke(contender, index=0):
    """How a contender's line is drawn; the index chooses a marker for contenders without a colour."""
    ours = is_ours(contender)
    return {
        "color": ink(contender),
        "linewidth": 2.4 if ours else 1.1,
        "marker": "o" if ours else MARKERS[index % len(MARKERS)],
        "markersize": 6 if ours else 4,
        "zorder": 5 if ours else 3,
    }


def grid(count, width, height, columns, **options):
    """A figure of panels, each of this size in inches."""
    columns = min(count, columns)
    rows = math.ceil(count / columns)
    size = (width * columns, height * rows)
    figure, axes = pyplot.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained", **options)
    for unused in axes.flat[count:]:
        unused.set_visible(False)
    return figure, list(axes.flat[:count])


def headline(figure, text):
    figure.suptitle(text, x=0.01, ha="left", fontsize=10.5)


def ticks_at(axis, places):
    axis.set_ticks(places)
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(PLAIN)


def scale_heights(axes, heights):
    """A scale from 0, or a logarithmic one if the heights are too far apart."""
    if min(heights) > 0 and max(heights) / min(heights) > 20:
        scale_by_ratio(axes)
    else:
        scale_from_0(axes)


def scale_by_ratio(axes):
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())
    draw_grid(axes)


def scale_from_0(axes, top=None):
    axes.set_ylim(0, top)
    draw_grid(axes)


def draw_grid(axes):
    axes.yaxis.set_major_formatter(PLAIN)
    axes.grid(axis="y", color=FAINT, linewidth=0.7)


def mark_limit(axes, limit):
    if limit is not None:
        axes.axhline(limit, color="black", linewidth=1, linestyle=(0, (4, 3)))
        place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
        axes.annotate("limit", (0, limit), (3, 3), fontsize=8, **place)


def name_rows(axes, names):
    """Contenders as the names of rows, the first at the top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    for text in axes.get_yticklabels():
        text.set(color=ink(text.get_text()), weight=weight(text.get_text()))


def write_value(axes, place, text, contender):
    """A number to the right of the mark that it describes."""
    look = {"color": ink(contender), "weight": weight(contender), "fontsize": 8, "va": "center"}
    axes.annotate(text, place, (5, 0), textcoords="offset points", **look)


def name_ends(axes, ends):
    """Writes each line's name to the right of the axes, at the height of its end, apart from other names."""
    axes.figure.canvas.draw()  # before this, positions are not known
    heights = {name: axes.transData.transform(end)[1] / axes.figure.dpi for name, end in ends.items()}
    names = sorted(ends, key=lambda name: (heights[name], name))
    places = spread_out([heights[name] for name in names], NAME_GAP)
    for name, place in zip(names, places, strict=True):
        write_name(axes, name, ends[name], place - heights[name])


def write_name(axes, name, end, above):
    """A name beside the axes, this many inches above its line's end, and connected to it by a thin line."""
    beside = axes.get_yaxis_transform(which="grid")
    shift = ScaledTranslation(NAME_DISTANCE, above, axes.figure.dpi_scale_trans)
    contender = name.partition(" ")[0]
    axes.annotate(
        name,
        end,
        (1, end[1]),
        textcoords=beside + shift,
        annotation_clip=False,
        va="center",
        fontsize=8.5,
        color=ink(contender),
        weight=weight(contender),
        arrowprops={"arrowstyle": "-", "color": FAINT, "linewidth": 0.7, "shrinkA": 1, "shrinkB": 4},
    )


def spread_out(heights, gap):
    """Sorted heights, moved to be at least a gap apart. Those that are too close form a group around its mean."""
    groups = []
    for height in heights:
        groups.append([height])
        while len(groups) > 1 and lowest(groups[-1], gap) < lowest(groups[-2], gap) + gap * len(groups[-2]):
            upper = groups.pop()
            groups[-1] += upper
    return [lowest(group, gap) + index * gap for group in groups for index in range(len(group))]


def lowest(group, gap):
    """The place of the first member of a group that is spread out around its mean."""
    return sum(group) / len(group) - (len(group) - 1) * gap / 2
