"""Every command, once: bindings, footer, help, palette, documentation and remapping are made of this table.

Ids are what users remap by, so one is never renamed or used again for something else.
"""

from __future__ import annotations

from specconsole.ui.command import Command, Place

COMMANDS: tuple[Command, ...] = (
    Command("app.help", "question_mark,f1", "help", "Explain the keys and the pane in focus", "help", footer=0),
    Command("app.quit", "q", "quit", "Leave the console; nothing of ours stays on the host", "quit", footer=0),
    Command("app.palette", "colon,ctrl+p", "commands", "Find a command by its name", "command_palette", footer=2),
    Command("app.theme", "t", "theme", "Next theme; it is remembered", "next_theme", footer=3),
    Command("link.retry", "r", "try again", "Ask a host that was lost or has refused us once more", "retry", footer=0),
    Command("screen.dashboard", "1", "dashboard", "Show the dashboard", "show('dashboard')", footer=5),
    Command("screen.bench", "3", "benchmark", "Show the last benchmark of this session", "show('bench')", footer=5),
    Command(
        "screen.doctor",
        "6",
        "doctor",
        "What the console can and cannot do on this host, and why",
        "show('doctor')",
        footer=5,
    ),
    Command(
        "bench.start",
        "b",
        "benchmark",
        "Measure the unit that runs: TPOT, tokens per step, acceptance",
        "app.bench",
        Place.DASHBOARD,
        footer=1,
        mutating=True,
    ),
    Command(
        "bench.again",
        "b",
        "again",
        "Measure the unit that runs once more",
        "app.bench",
        Place.BENCH,
        footer=1,
        mutating=True,
    ),
    Command(
        "bench.stop", "x", "end run", "End the run; what was measured is kept", "app.bench_stop", Place.BENCH, footer=1
    ),
    Command(
        "doctor.again",
        "r",
        "look again",
        "Look at the host again",
        "app.examine_again",
        Place.DOCTOR,
        footer=1,
        shadows="link.retry",
    ),
    Command("sheet.back", "escape", "back", "Back to where you came from", "app.back", Place.SHEET, footer=1),
    Command("sheet.copy", "y", "copy", "Copy what the page holds", "screen.copy_sheet", Place.SHEET, footer=3),
    Command("sheet.down", "j,down", "", "One line down", "lines(1)", Place.SHEET),
    Command("sheet.up", "k,up", "", "One line up", "lines(-1)", Place.SHEET),
    Command("sheet.page_down", "pagedown,space", "", "One page down", "pages(1)", Place.SHEET),
    Command("sheet.page_up", "pageup", "", "One page up", "pages(-1)", Place.SHEET),
    Command("sheet.end", "G,end", "", "To the end", "edge(1)", Place.SHEET),
    Command("sheet.top", "g,home", "", "To the beginning", "edge(-1)", Place.SHEET),
    Command("pane.next", "tab", "panes", "Focus the next pane", "app.focus_next", Place.DASHBOARD, footer=2),
    Command("pane.previous", "shift+tab", "", "Focus the previous pane", "app.focus_previous", Place.DASHBOARD),
    Command("pane.copy", "y", "copy", "Copy the text of the pane in focus", "copy_pane", Place.DASHBOARD, footer=4),
    Command(
        "probe.faster", "plus", "rate", "Sample the host faster, up to 10 Hz", "app.rate(1)", Place.DASHBOARD, footer=4
    ),
    Command("probe.slower", "minus", "", "Sample the host slower, down to 0.2 Hz", "app.rate(-1)", Place.DASHBOARD),
    Command("units.down", "j,down", "", "Select the next unit; its log is shown", "select(1)", Place.UNITS),
    Command("units.up", "k,up", "", "Select the previous unit; its log is shown", "select(-1)", Place.UNITS),
    Command(
        "gpus.open", "enter", "open", "All of the selected GPU: curves, processes, errors", "open", Place.GPUS, footer=1
    ),
    Command("gpus.down", "j,down", "", "Select the GPU below", "select(0, 1)", Place.GPUS),
    Command("gpus.up", "k,up", "", "Select the GPU above", "select(0, -1)", Place.GPUS),
    Command("gpus.right", "l,right", "", "Select the GPU to the right", "select(1, 0)", Place.GPUS),
    Command("gpus.left", "h,left", "", "Select the GPU to the left", "select(-1, 0)", Place.GPUS),
    Command(
        "engine.open",
        "enter",
        "open",
        "All of the engine: curves, latencies, acceptance by position",
        "app.engine",
        Place.ENGINE,
        footer=1,
    ),
    Command("gpu.next", "l,right", "next", "The next GPU", "app.other_gpu(1)", Place.GPU, footer=1),
    Command("gpu.previous", "h,left", "previous", "The GPU before it", "app.other_gpu(-1)", Place.GPU, footer=1),
    Command(
        "log.follow", "G,end", "follow", "Show the end of the log and follow it", "log_end", Place.DASHBOARD, footer=1
    ),
    Command("log.top", "g,home", "", "Show the oldest line that is held", "log_top", Place.DASHBOARD),
    Command("log.pause", "space", "pause", "Stop following the log, or go on", "log_pause", Place.DASHBOARD, footer=1),
    Command("log.error", "e", "error", "Go to the next error in the log", "log_error(1)", Place.DASHBOARD, footer=1),
    Command("log.error_back", "E", "", "Go to the previous error in the log", "log_error(-1)", Place.DASHBOARD),
    Command("log.down", "j,down", "", "One line down", "scroll(1)", Place.LOG),
    Command("log.up", "k,up", "", "One line up", "scroll(-1)", Place.LOG),
    Command("log.page_down", "pagedown", "", "One page down", "page(1)", Place.LOG),
    Command("log.page_up", "pageup", "", "One page up", "page(-1)", Place.LOG),
    Command("log.right", "l,right", "", "See more of long lines", "aside(1)", Place.LOG),
    Command("log.left", "h,left", "", "Back to the start of lines", "aside(-1)", Place.LOG),
)
