"""Profiles and settings: what is right is read, and each mistake names file, line and the nearest right key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from specconsole import profile, resources, settings, toml
from specconsole.errors import ConfigError
from specconsole.profile import KeySource, Swaps, UnitProfile

FULL = """\
description = "two units"
hosts = ["gpu-*", "root@10.0.0.7"]

[units.baseline]
name = "vllm-a"
role = "baseline"

[units."n gram"]
name = "vllm-a-ngram.service"
manager = "user:llm"
port = 8010

[api_key]
command = ["pass", "show", "k"]

[expect]
model = "Kimi"
tensor_parallel = 8
tpot_ms = 13.6
tok_s = 74
load_minutes = [25, 90]

[bench]
prompts = "~/mine.jsonl"

[swap]
drain_s = 60
at_deadline = "give-up"
rollback = false
before = ["/usr/local/bin/lb", "drain"]
"""


def write(tmp_path: Path, text: str, name: str = "p.toml") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_every_key_is_read(tmp_path: Path) -> None:
    found = profile.load(write(tmp_path, FULL))
    assert found.name == "p"
    assert found.units == (
        UnitProfile("baseline", "vllm-a.service", "system", "baseline", None),
        UnitProfile("n gram", "vllm-a-ngram.service", "user:llm", None, 8010),
    )
    assert found.api_key == KeySource(command=("pass", "show", "k"))
    assert (found.expect.model, found.expect.tensor_parallel, found.expect.load_minutes) == ("Kimi", 8, (25, 90))
    assert (found.expect.tpot_ms, found.expect.tok_s) == (13.6, 74)
    assert (found.prompts, found.description) == ("~/mine.jsonl", "two units")
    assert found.unit("n gram") == found.units[1]
    assert found.unit("x") is None
    assert found.swap == Swaps(60, "give-up", False, ("/usr/local/bin/lb", "drain"))


def test_an_empty_file_is_a_profile_that_says_nothing(tmp_path: Path) -> None:
    found = profile.load(str(write(tmp_path, "")))
    assert (found.units, found.hosts, found.api_key, found.prompts) == ((), (), None, "default")


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("\nhost = ['a']", 2, 'Did you mean "hosts"?'),
        ("hosts = 'a'", 1, "a list of texts"),
        ("hosts = [1]", 1, "a list of texts"),
        ("[unit.a]\nname='x'", 1, 'Did you mean "units"?'),
        ("[units.a]\nnam = 'x'\nname='y'", 2, 'Did you mean "name"?'),
        ("[units.a]\nrole='baseline'", 1, 'needs a "name"'),
        ("[units.a]\nname='x'\n\nrole = 'basline'", 4, 'Did you mean "baseline"?'),
        ("[units.a]\nname='x'\nport = '8000'", 3, "a port"),
        ("[units.a]\nname='x'\nport = 70000", 3, "a port"),
        ("[units.a]\nname='x'\nport = true", 3, "a port"),
        ("[units.a]\nname='x'\nmanager = 'alice'", 3, "user:NAME"),
        ("[units.a]\nname='x'\nmanager = 'user:'", 3, "user:NAME"),
        ("[units.a]\nname=3", 2, "a text"),
        ("units = 3", 1, "a table"),
        ("[units]\na = 'vllm'", 2, "a table"),
        ("[units]\na = { name = 'x', prot = 1 }", 2, 'Did you mean "port"?'),
        ("[api_key]\n", 1, "either"),
        ("[api_key]\nenv = 'A'\ncommand = ['b']", 1, "either"),
        ("[api_key]\nvalue = 'sk-1'", 2, "Known are command, env."),
        ("expect.tpot_ms = -1", 1, "a number above 0"),
        ("[expect]\ntpot_ms = '13'", 2, "a number above 0"),
        ("[expect]\ntpot_ms = inf", 2, "milliseconds, a minute at most"),
        ("[expect]\ntpot_ms = 1e12", 2, "milliseconds, a minute at most"),
        ("[expect]\ntok_s = nan", 2, "a number above 0"),
        ("[expect]\ntok_s = inf", 2, "a number above 0"),
        ("[expect]\nload_minutes = [1, inf]", 2, "a week at most"),
        ("[expect]\ntpot_ms = 13.6\ntok_s = 200", 3, "that is 73.5 tokens a second"),
        ("[units.x]\nname = '../../etc/passwd'", 2, "the name of a service unit"),
        ("[units.x]\nname = 'a b;c'", 2, "the name of a service unit"),
        ("[units.x]\nname = 'a.timer'", 2, "the name of a service unit"),
        ("[units.x]\nname = 'a.service'\n[units.y]\nname = 'a'", 4, "[units.y] and [units.x] name the same unit"),
        ("[units.x]\nname = 'a'\nspeculative = {num_speculative_tokens = 0}", 3, "a whole number above 0"),
        ("[units.x]\nname = 'a'\nrole = 'baseline'\n[units.y]\nname = 'b'\nrole = 'baseline'", 6, "a profile has one"),
        ("[units.x]\nname = 'a'\nrole = 'baseline'\nspeculative = {method = 'ngram'}", 4, "what does not speculate"),
        ("[units.x]\nname = 'vllm-b'\n[units.vllm-b]\nname = 'a'", 3, "vllm-b would always mean that one"),
        ('[units."a.service"]\nname = "b"\n[units.y]\nname = "a"', 1, "a.service would always mean that one"),
        ("[expect]\nload_minutes = [90, 25]", 2, "two numbers"),
        ("[expect]\ntensor_parallel = 8.0", 2, "a whole number"),
        ("[bench]\nprompt = 'x'", 2, 'Did you mean "prompts"?'),
        ("[bench]\nrepeat = 2\nconcurrency = [1, 0]", 3, "whole numbers above 0"),
    ],
)
def test_each_mistake_names_file_line_and_what_would_be_right(tmp_path: Path, text: str, line: int, said: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as error:
        profile.load(path)
    assert f"{path}, line {line}:" in str(error.value)
    assert said in str(error.value)
    assert "sk-1" not in str(error.value)


def test_what_contradicts_nothing_is_taken(tmp_path: Path) -> None:
    text = "[units.a]\nname = 'a'\nrole = 'baseline'\n[units.b]\nname = 'a'\nmanager = 'user:llm'\nrole = 'variant'"
    assert [unit.label for unit in profile.load(write(tmp_path, text)).units] == ["a", "b"]
    with pytest.raises(ConfigError, match=r"is no TOML: .*twice.*line 3"):
        profile.load(write(tmp_path, "[units.a]\nname = 'a'\n[units.a]\nname = 'b'"))


def test_what_is_no_toml_or_no_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"is no TOML: .*line 1"):
        profile.load(write(tmp_path, "a = "))
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        profile.load(tmp_path / "none.toml")
    path = tmp_path / "latin.toml"
    path.write_bytes(b'description = "\xe4"')
    with pytest.raises(ConfigError, match="UTF-8"):
        profile.load(path)


@pytest.mark.parametrize("name", sorted(resources.find("profiles")))
def test_the_shipped_profiles_are_right_and_take_no_host_by_themselves(name: str) -> None:
    found = profile.named(name)
    assert found.name == name
    assert found.units
    assert found.hosts == ()


def test_the_deployment_that_ships() -> None:
    found = profile.named("kimi-k25-8x-rtx-pro-6000")
    assert [(unit.label, unit.role) for unit in found.units] == [
        ("baseline", "baseline"),
        ("ngram", "variant"),
        ("eagle3", "variant"),
    ]
    assert (found.expect.tpot_ms, found.expect.load_minutes) == (13.6, (25, 90))


def own_profile(home: Path, name: str, text: str) -> None:
    folder = home / ".config/specconsole/profiles"
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, text, f"{name}.toml")


def test_a_host_finds_its_profile_by_any_form_of_its_name(own_home: Path) -> None:
    assert profile.for_host("root@gpu-1") is None
    own_profile(own_home, "mine", 'hosts = ["gpu-?"]')
    for name in ("gpu-1", "root@gpu-1", "root@gpu-1:2222", "gpu-1:22"):
        found = profile.for_host(name)
        assert found is not None, name
        assert found.name == "mine"
    assert profile.for_host("gpu-10", "other") is None
    assert profile.for_host("alias", "gpu-3") is not None


def test_the_user_s_profile_hides_a_shipped_one_and_a_wrong_one_is_said(own_home: Path) -> None:
    own_profile(own_home, "minimal", 'description = "own"')
    assert profile.named("minimal").description == "own"
    own_profile(own_home, "other", "hots = []")
    with pytest.raises(ConfigError, match=r"other\.toml, line 1"):
        profile.for_host("gpu-1")
    with pytest.raises(ConfigError, match="Known are eagle3-8x-rtx-pro-6000, kimi-k25-8x-rtx-pro-6000, minimal, other"):
        profile.named("nope")


def test_settings_have_defaults_and_are_as_strict(own_home: Path, tmp_path: Path) -> None:
    assert settings.load() == settings.Settings()
    folder = own_home / ".config/specconsole"
    folder.mkdir(parents=True)
    write(folder, 'theme = "light"\nrate = 2\nmouse = false\n[keymap]\nswap = "ctrl+s"', "settings.toml")
    assert settings.load() == settings.Settings("light", 2.0, False, {"swap": "ctrl+s"})
    for text, said in (
        ("them = 'x'", 'line 1: "them" means nothing. Did you mean "theme"?'),
        ("rate = 50", "between 0.2 and 10"),
        ("mouse = 'no'", "true or false"),
        ("\n[keymap]\nswap = 3", "line 3"),
    ):
        with pytest.raises(ConfigError) as error:
            settings.load(write(tmp_path, text))
        assert said in str(error.value)


def test_a_line_is_found_in_every_way_to_write_a_key() -> None:
    text = '# a = 1\n"a" = 1\nb.c = 2\n[d]\n"e f" = 3\n[[g]]\nh=1\n[ i . j ]\n["k.l".\'m.n\']\n'
    lines = {
        ("a",): 2,
        ("b", "c"): 3,
        ("d",): 4,
        ("d", "e f"): 5,
        ("g", "h"): 7,
        ("i", "j"): 8,
        ("k.l", "m.n"): 9,
        ("k",): None,
    }
    assert {path: toml.line_of(text, path) for path in lines} == lines


def test_the_smallest_profile_shows_all_there_is_to_say(tmp_path: Path) -> None:
    shipped = resources.find("profiles")["minimal"].read_text()
    for word in (
        "description",
        "hosts",
        "api_key",
        "expect",
        "bench",
        "prompts",
        "name",
        "manager",
        "role",
        "port",
        "speculative",
    ):
        assert re.search(rf"^(# )?\[?{word}", shipped, re.MULTILINE), f"{word} is not shown"
    # With every comment that is a setting taken in, it is still a profile.
    whole = re.sub(r"^# (?=[\[a-z_.]+\]?( =|$))", "", shipped, flags=re.MULTILINE).replace('env = "VLLM_API_KEY"\n', "")
    (tmp_path / "whole.toml").write_text(whole)
    found = profile.load(tmp_path / "whole.toml")
    assert found.description
    assert found.hosts
    assert found.api_key
    assert found.expect.load_minutes
    assert found.prompts != "default"
    assert found.units[0].port
    assert found.units[1].speculative["method"] == "ngram"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('at_deadline = "stop"', "one of go, give-up"),
        ("drain_s = -1", "must be a number above 0"),
        ("drain_s = inf", "seconds, a week at most"),
        ("drain_s = 1e12", "seconds, a week at most"),
        ('before = ["lb", "drain"]', "path of a program on the host"),
        ("drain = 3", 'Did you mean "drain_s"'),
    ],
)
def test_what_is_wrong_about_swaps_is_said(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        profile.load(write(tmp_path, f"[swap]\n{line}\n"))


def test_a_profile_that_others_may_write_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(FULL)
    path.chmod(0o644)
    assert profile.load(path).description == "two units"
    path.chmod(0o646)
    with pytest.raises(ConfigError, match=r"may be written by other users.*chmod go-w"):
        profile.load(str(path))
