"""What PID 1, the kernel, the shell and orchestrators say of a start that failed; a table of data, as `failures`."""

from __future__ import annotations

from specconsole.load.failure import Failure, Rank, row

SYSTEM: tuple[Failure, ...] = (
    row("host_oom", "The host ran out of memory", r"(?:Out of memory|oom-kill|Memory cgroup out of memory).*?Killed process (?P<pid>\d+) \((?P<program_word>[^)]*)\)(?:.*?anon-rss:(?P<rss_kib>\d+)kB)?", "The kernel's OOM killer ended {program} (pid {pid}).",
        ("Free memory on the host, or raise MemoryMax= of the unit.", "Lower --swap-space or --cpu-offload-gb; prefetching loaders need the checkpoint's size in memory.")),
    row("host_oom", "The host ran out of memory", r"of this unit has been killed by the OOM killer|Failed with result 'oom-kill'|systemd-oomd killed|Reason: +OOMKilled|\"OOMKilled\": true", "It went over its memory, and a process of the unit or container was ended for it.", ("Free memory on the host, or raise MemoryMax= of the unit.", "Lower --swap-space or --cpu-offload-gb; prefetching loaders need the checkpoint's size in memory.")),
    row("gpu_fault", "The NVSwitch had a fault", r"nvidia-nvswitch\d+: SXid \(PCI:(?P<pci_word>[^)]*)\): (?P<sxid>\d+), Fatal", "The driver reports the fatal SXid {sxid} of the switch at {pci}: every start over several GPUs of this host is suspect.", ("Drain the node, restart nvidia-fabricmanager, or reboot.", "If it comes back, have the board looked at.")),
    row("gpu_error", "The GPU stopped a program", r"NVRM: Xid \((?:PCI:)?(?P<pci_word>[^)]*)\): (?P<xid>13|31|43|45)\b", "The driver reports Xid {xid} on {pci}, most often the program's own fault.", "Read what its process printed before; start it with CUDA_LAUNCH_BLOCKING=1 to see which kernel it is.", rank=Rank.WRAPPER),
    row("gpu_fault", "The GPU had a fault", r"NVRM: Xid \(PCI:(?P<pci_word>[^)]*)\): (?P<xid>\d+)", "The driver reports Xid {xid} on {pci}.", "Reset the GPU or reboot the node before the next start; if it comes back, have the card looked at."),
    row("stop_timeout", "It did not end in time", r"State '(?:stop|final)-\w+' timed out|Stopping timed out", "It was told to stop and did not, so that systemd killed it after TimeoutStopSec=.", ("Look for a process in state D or R in the driver before the next start.", "Raise TimeoutStopSec=, if requests were being drained.")),
    row("watchdog", "systemd's watchdog ended it", r"Watchdog timeout \(limit|Failed with result 'watchdog'", "WatchdogSec= is set, and vLLM never answers it.", "Remove WatchdogSec= from the unit."),
    row("start_timeout", "systemd's time limit ended the start", r"start(?:-post|-pre)? operation timed out|Failed with result 'timeout'", "TimeoutStartSec= is shorter than the load takes: the limit, no fault of vLLM, ended it.", ("Set TimeoutStartSec=infinity.", "vLLM never tells systemd that it is ready: Type=exec, not Type=notify."), "TimeoutStartSec=infinity"),
    row("start_limit", "systemd refuses to start it again", r"Start request repeated too quickly|Failed with result 'start-limit-hit'", "Too many starts failed in a short time; the cause is in the starts before.", ("Mend the cause, then: systemctl reset-failed.", "Set StartLimitIntervalSec= to several times a load.")),
    row("leftover_process", "A process of the last run is still there", r"Found left-over process (?P<pid>\d+) \((?P<program_word>[^)]*)\)", "{program} (pid {pid}) did not end with the last run; it still holds its memory.", ("Do not wait for this start: stop it, end pid {pid}, and start again.", "If the process does not die (state D or R in the driver), only a reboot helps."), phase="config", facts={"swap_safe": False, "predicts": "gpu_memory_held"}, rank=Rank.WRAPPER),
    row("crashed", "The main process crashed", r"Main process exited, code=dumped, status=(?P<signal>\d+)/(?P<word_word>\w+)", "It was ended by signal {signal} ({word}).", "Look at its core with coredumpctl, and at dmesg for an Xid.", rank=Rank.WRAPPER),
    row("killed", "It was killed", r"Main process exited, code=killed, status=(?P<signal>\d+)/(?P<word_word>KILL|SEGV|BUS|ABRT|FPE|ILL)", "It was ended by signal {signal} ({word}).", "Look at dmesg and at who is logged in: no line of its own says why.", rank=Rank.WRAPPER),
    row("killed", "It was killed", r"^(?:\S{1,80}: line \d+: +\d+ )?Killed(?: {2,}\S.*)?$", "The shell says Killed: somebody sent SIGKILL, most often the kernel when the host's memory is full.", "Look at dmesg for \"Killed process\", and at the memory limit of the unit or container (MemoryMax=).", rank=Rank.WRAPPER),
    row("crashed", "The main process crashed", r"^(?:\S{1,80}: line \d+: +\d+ )?(?P<word_word>Segmentation fault|Aborted|Illegal instruction|Floating point exception) +\(core dumped\)", "The shell says: {word}.", "Look at its core with coredumpctl, and at dmesg for an Xid.", rank=Rank.WRAPPER),
    row("bad_unit", "A file of the environment is not there", r"Failed to load environment files: (?P<why_word>.+)", "EnvironmentFile= cannot be read: {why}.", "Correct EnvironmentFile= in the unit, or begin it with - where the file may be missing."),
    row("dependency", "A unit that it needs did not start", r"Dependency failed for|failed with result 'dependency'", "It was not even tried.", "Look which one failed (systemctl --failed; Requires= and BindsTo= of the unit), mend that and start it again."),
    row("unknown_error", "It ended with an error", r"Main process exited, code=exited, status=(?!1(?:30|43)\b|2[0-4]\d\b)(?P<exit_status>[1-9]\d*)", "It ended with status {exit_status}, and no line here says why.", "Read more of its log before this line, or start it by hand.", rank=Rank.WRAPPER),
    row("bad_unit", "systemd could not run the command", r"status=(?P<exit_status>2[0-4]\d)/(?P<step_word>[A-Z_]+)", "systemd failed at the step {step} ({exit_status}).", "Look at what the unit's file says of it: the path in ExecStart=, WorkingDirectory=, User=."),
)  # fmt: skip
"""What PID 1 and the kernel say."""

EXIT_STATUS: dict[int, str] = {
    200: "the folder in WorkingDirectory= is not there",
    203: "the program in ExecStart= is not there or may not be run",
    205: "a limit (Limit…=) could not be set",
    209: "standard output could not be opened (StandardOutput=)",
    216: "the group in Group= is not there",
    217: "the user in User= is not there",
    218: "capabilities could not be set",
    219: "the control group could not be set up",
    226: "a name space could not be set up (a path in ReadWritePaths= or BindPaths= is not there)",
    243: "credentials could not be loaded",
}
"""systemd's own exit statuses, before the program runs."""

RESULTS: dict[str, tuple[str, str, str, str]] = {
    "oom-kill": ("host_oom", "The host ran out of memory", "The kernel's OOM killer ended a process of the unit.", "Free memory on the host, or raise MemoryMax= of the unit."),
    "timeout": ("start_timeout", "systemd's time limit ended the start", "A time limit of systemd ended it (TimeoutStartSec= or TimeoutStopSec=).", "Set TimeoutStartSec=infinity."),
    "watchdog": ("watchdog", "systemd's watchdog ended it", "WatchdogSec= is set, and vLLM never answers it.", "Remove WatchdogSec= from the unit."),
    "protocol": ("wrong_type", "The unit's Type= does not fit", "systemd waited for a message that vLLM never sends.", "Set Type=exec."),
    "start-limit-hit": ("start_limit", "systemd refuses to start it again", "Too many starts failed in a short time; the cause is in the starts before.", "Mend the cause, then: systemctl reset-failed."),
    "resources": ("resources", "systemd could not set it up", "systemd could not prepare what the unit needs.", "Look at systemctl status of the unit."),
    "exec-condition": ("exec_condition", "Its ExecCondition= said no", "systemd did not start it since ExecCondition= failed.", "Look at what ExecCondition= asks for."),
    "core-dump": ("crashed", "It crashed", "The main process dumped core.", "Look at it with coredumpctl, and at dmesg for an Xid."),
    "signal": ("killed", "It was killed", "A signal ended the main process.", "Look at dmesg and at who is logged in: no line of its own says why."),
    "exit-code": ("unknown_error", "It ended with an error", "The log holds no line that says why.", "Start it by hand with VLLM_LOGGING_LEVEL=DEBUG."),
    "success": ("exited", "It ended by itself", "It exited with 0, though nobody asked it to stop.", "Look at the lines before its end; Restart=always would start it again, on-failure does not."),
}  # fmt: skip
"""systemd's Result where the log tells nothing: name, title, what happened, what to do."""
