"""`check`: findings about playbooks and prompts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from config import Settings
from daemon.actions.registry import ActionRegistry
from daemon.app.check import OwnerCode, check_texts, find_owner_code, has_known_owner
from daemon.app.discovery import PROCESSES, all_actions, find_owner_actions
from daemon.memory import WorkingMemory
from daemon.process import MentalProcess, Placeholders, Turn
from daemon.prompts.prompt_catalogue import PLAYBOOK_FOLDER
from daemon.settings.home import project_root
from daemon.settings.mcp_servers import ToolServerSettings, ToolServersFile
from tests.actions.test_registry import action
from tests.app.test_commands import run
from tests.texts import copied

ACTIONS = ("Think", "Research", "SearchMemory", "ReadThread", "Remember", "AskPerson", "Schedule", "Escalate")
REGISTRY = ActionRegistry([*map(action, ACTIONS), action("Respond", terminal=True)])

Told = Callable[[], tuple[int, list[str]]]


@pytest.fixture
def words(tmp_path: Path) -> Path:
    return copied(tmp_path)


@pytest.fixture
def told(words: Path, capsys: pytest.CaptureFixture[str]) -> Told:
    def checked() -> tuple[int, list[str]]:
        status = check_texts(words, OwnerCode(registry=REGISTRY, processes=PROCESSES))
        return status, capsys.readouterr().out.splitlines()

    return checked


def write(words: Path, name: str, *lines: str, goal: str = "Mend it.") -> None:
    text = "\n".join(("---", f"goal: {goal}", f"when: {name} is wanted.", *lines, "---", "Be kind."))
    (words / PLAYBOOK_FOLDER / f"{name}.md").write_text(text, encoding="utf-8")


def test_a_server_that_a_playbook_names_and_mcp_json_lacks_is_said(
    words: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(words, "mending", 'actions: [Respond, githup.*, "*.*", "git*.read", time.now]')
    servers = {name: ToolServerSettings(name=name, command="any") for name in ("github", "time")}
    code = OwnerCode(registry=REGISTRY, processes=PROCESSES, servers=ToolServersFile(servers=servers))
    assert check_texts(words, code) == 0
    doubts = [line for line in capsys.readouterr().out.splitlines() if line.startswith("! playbooks/mending")]
    assert len(doubts) == 1
    assert doubts[0].endswith("mcp.json has no server githup, so none of its tools is offered; is it github?")


def test_all_is_well(told: Told) -> None:
    status, lines = told()
    assert (status, [line[0] for line in lines]) == (0, ["✓", "✓", "✓", "✓"])
    assert lines[0].endswith("texts can be used")
    assert lines[1].startswith("✓ playbooks/deliberation    Research, ")
    assert lines[2].startswith("✓ playbooks/expert          Think, Research, ")
    assert lines[3].endswith("Escalate, → closing")


@pytest.mark.parametrize(
    ("front", "said"),
    [
        (["actions: [Think]"], "it has no way to end: offer Respond, or write a transition"),
        (
            ["actions: [Respnod]", "transitions: {closing: done}"],
            "there is no action Respnod; is it Respond?",
        ),
        (["actions: [Respond, Xyz]"], "there is no action Xyz; there are AskPerson, Escalate, "),
        (["actions: [Respond]", "transitions: {clsing: done}"], "there is no process clsing; is it closing?"),
        (["actions: [Respond]", "then: nowhere"], "there is no process nowhere; there are allowing, ask"),
        (["actions: [Respond]", "limits: {loops: 0}"], "`limits.loops` cannot be used: it should be greater"),
        (["actions: [Respond, Respond]"], "the action Respond stands there twice: take one away"),
        (["actions: [Respond]", "transitions: {mending: broken}"], "it has a transition to itself"),
        (["actions: [Respond]", "actions: [Think]"], "it says `actions` twice: take one away"),
    ],
)
def test_what_leads_nowhere_is_said(words: Path, told: Told, front: list[str], said: str) -> None:
    write(words, "mending", *front)
    status, lines = told()
    [wrong] = [line for line in lines if line[0] == "✗"]
    assert status == 1
    assert wrong.startswith("✗ playbooks/mending ")
    assert said in wrong


@pytest.mark.parametrize("ending", ["actions: [Respond]", "actions: [Think, Escalate]"])
def test_it_ends_by_an_action_or_by_handing_it_on(words: Path, told: Told, ending: str) -> None:
    write(words, "mending", ending)
    assert told()[0] == 0


@pytest.mark.parametrize("name", ["conversation", "greeting", "closing"])
def test_a_process_of_fixed_steps_takes_no_playbook(words: Path, told: Told, name: str) -> None:
    write(words, name, "actions: [Respond]")
    status, lines = told()
    assert status == 1
    assert any(f"{name} has fixed steps and takes no playbook" in line for line in lines)


def test_a_name_that_differs_by_capitals_alone_is_refused(words: Path, told: Told) -> None:
    write(words, "Expert", "actions: [Respond]")
    status, lines = told()
    assert status == 1
    assert any("playbooks/Expert" in line and "use a-z" in line for line in lines)


def test_playbooks_that_hand_it_to_each_other_are_named(words: Path, told: Told) -> None:
    write(words, "one", "actions: [Respond]", "transitions: {two: stuck}")
    write(words, "two", "actions: [Respond]", "transitions: {three: stuck}")
    write(words, "three", "actions: [Respond]", "transitions: {one: stuck, closing: done}")
    status, lines = told()
    [wrong] = [line for line in lines if line[0] == "✗"]
    assert status == 1
    assert "for ever; take one transition away" in wrong
    circle = wrong.split(maxsplit=2)[2].partition(":")[0].split(" → ")
    assert circle[0] == circle[-1]
    assert "one → two → three → one → two" in " → ".join([*circle, *circle[1:]])


def test_to_escalate_is_to_go_over_to_the_expert(words: Path, told: Told) -> None:
    write(words, "expert", "actions: [Respond]", "transitions: {problem_solving: simple, mending: broken}")
    write(words, "mending", "actions: [Respond, Escalate]")
    status, lines = told()
    wrong = [line for line in lines if line[0] == "✗"]
    assert status == 1
    assert len(wrong) == 2
    assert any("mending" in line and "expert" in line for line in wrong)
    assert any("problem_solving" in line and "expert" in line for line in wrong)


def test_the_expert_cannot_escalate_to_itself(words: Path, told: Told) -> None:
    write(words, "expert", "actions: [Respond, Escalate]")
    status, lines = told()
    assert status == 1
    assert any("expert → expert: " in line for line in lines)


def test_a_broken_prompt_and_a_missing_playbook_are_said(words: Path, told: Told) -> None:
    (words / "prompts" / "person.md").write_text("You owe $nmaes.\n")
    (words / "prompts" / "time.md").unlink()
    (words / PLAYBOOK_FOLDER / "expert.md").unlink()
    (words / PLAYBOOK_FOLDER / ".#expert.md").write_text("an editor's lock")
    status, lines = told()
    wrong = {line.split()[1]: line for line in lines if line[0] == "✗"}
    assert (status, {*wrong}) == (1, {"prompts/person", "prompts/time", "playbooks/expert"})
    assert "it uses $nmaes; it may use: " in wrong["prompts/person"]
    assert wrong["prompts/time"].endswith("it is not there: put it back")


def test_when_one_goes_to_a_process_is_the_owners_to_say(words: Path, told: Told) -> None:
    when = words / "prompts" / "when"
    when.mkdir()
    (when / "closing.md").write_text("$name is to say goodbye.\n")
    assert told()[0] == 0
    (when / "closing.md").write_text("$nmae is to say goodbye.\n")
    (when / "clsing.md").write_text("never\n")
    status, lines = told()
    wrong = {line.split()[1]: line for line in lines if line[0] == "✗"}
    assert (status, {*wrong}) == (1, {"prompts/when/closing", "prompts/when/clsing"})
    assert "it uses $nmae; it may use: $name" in wrong["prompts/when/closing"]
    assert wrong["prompts/when/clsing"].endswith("nobody reads it: is it prompts/when/closing?")


def test_a_tool_server_that_a_playbook_names_in_vain_is_said_and_no_fault(
    words: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(words, "mending", "actions: [gitub.*, github.get_issue, '*.*', Respond]")
    code = OwnerCode(registry=REGISTRY, processes=PROCESSES)
    github = ToolServersFile(servers={"github": ToolServerSettings(name="github", url="https://x.example")})
    for servers, hints in ((github, ["is it github?"]), (ToolServersFile(), ["name it in mcp.json"] * 2)):
        assert check_texts(words, dataclasses.replace(code, servers=servers)) == 0
        said = [
            line for line in capsys.readouterr().out.splitlines() if line.startswith("! playbooks/mending")
        ]
        assert [line.partition("; ")[2] for line in said] == hints
        assert "no tool server that can be started is called gitub" in said[0]


async def _nothing(turn: Turn) -> WorkingMemory:
    """Do nothing."""
    return turn.memory


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"leads_to": ("dreaming",)}, "nothing leads to it: say in its file when one goes there"),
        ({"leads_to": ("clsing",), "when": "they yawn."}, "there is no process clsing; is it closing?"),
        (
            {"texts": {"prompts/dreaming": Placeholders()}, "when": "they yawn."},
            "it is not there, and processes/dreaming needs it: write it",
        ),
        ({"when": "they yawn."}, ""),
        ({"called": "it is night"}, ""),
    ],
)
def test_what_a_process_lacks_is_said(
    words: Path, capsys: pytest.CaptureFixture[str], how: dict[str, Any], said: str
) -> None:
    dreaming = MentalProcess(name="dreaming", run=_nothing, **how)
    code = OwnerCode(registry=REGISTRY, processes={**PROCESSES, "dreaming": dreaming})
    status = check_texts(words, code)
    wrong = [line for line in capsys.readouterr().out.splitlines() if line[0] == "✗"]
    assert (status, [said in line for line in wrong]) == ((1, [True]) if said else (0, []))


def test_a_process_that_is_taken_away_leaves_nothing_behind_unsaid(
    words: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rest = {name: process for name, process in PROCESSES.items() if name != "closing"}
    assert check_texts(words, OwnerCode(registry=REGISTRY, processes=rest)) == 1
    wrong = {line.split()[1]: line for line in capsys.readouterr().out.splitlines() if line[0] == "✗"}
    assert {*wrong} == {"prompts/closing", "playbooks/problem_solving", "playbooks/expert"}
    assert "there is no process closing" in wrong["playbooks/expert"]


def test_processes_that_only_lead_to_each_other_are_never_entered(
    words: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dreaming = MentalProcess(name="dreaming", run=_nothing, leads_to=("waking",))
    waking = MentalProcess(name="waking", run=_nothing, leads_to=("dreaming", "conversation"))
    circle = {"dreaming": dreaming, "waking": waking}
    assert check_texts(words, OwnerCode(registry=REGISTRY, processes={**PROCESSES, **circle})) == 1
    wrong = [line.split()[1] for line in capsys.readouterr().out.splitlines() if line[0] == "✗"]
    assert wrong == ["processes/dreaming", "processes/waking"]


def test_a_playbook_that_nothing_leads_to_is_named(words: Path, told: Told) -> None:
    write(words, "mending", "actions: [Respond]")
    file = words / PLAYBOOK_FOLDER / "mending.md"
    file.write_text(file.read_text().replace("when: mending is wanted.\n", ""))
    status, lines = told()
    [wrong] = [line for line in lines if line[0] == "✗"]
    assert (status, wrong.split()[1]) == (1, "playbooks/mending")
    assert wrong.endswith("nothing leads to it: write `when: …` into its front matter, or take the file away")


def test_what_leads_to_a_playbook_that_cannot_be_used_is_not_said_to_lead_nowhere(
    words: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(words, "lessons", "actions: [Respond]", "gaol: Teach.")
    [wrong] = [
        line for line in own(words, capsys, LOOKING.format(how="(playbooks=['lessons'])")) if line[0] == "✗"
    ]
    assert wrong.startswith("✗ playbooks/lessons ")
    assert "`gaol` is not known here" in wrong


@pytest.mark.parametrize(
    ("key", "owner", "has"), [("", "", True), ("sk-ant-x", "", False), ("sk-ant-x", "U0ALICE", True)]
)
def test_where_the_model_is_a_script_somebody_owns_the_soul(key: str, owner: str, has: bool) -> None:
    settings = Settings.from_env({"ANTHROPIC_API_KEY": key, "OWNER_USER_IDS": owner})
    assert has_known_owner(settings) is has


def test_what_is_not_described_is_named(words: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def silent(turn: Turn) -> WorkingMemory:
        return turn.memory

    dreaming = MentalProcess(name="dreaming", run=silent, when="they yawn.")
    registry = ActionRegistry(
        [*REGISTRY.named.values(), dataclasses.replace(action("Look"), description=" ")]
    )
    assert (
        check_texts(words, OwnerCode(registry=registry, processes={**PROCESSES, "dreaming": dreaming})) == 1
    )
    wrong = [line for line in capsys.readouterr().out.splitlines() if line[0] == "✗"]
    assert [line.split(maxsplit=2)[1:] for line in wrong] == [
        ["Look", "it is not described: write a sentence by which the model chooses it"],
        ["processes/dreaming", "it is not described: give its function a docstring"],
    ]


SHAPES = {
    "def look(service: str):\n    'Look.'": "it does not wait: write `async def`",
    "async def look(service: str):\n    ...": "it is not described: give it a docstring",
    "async def look(service):\n    'Look.'": "its argument `service` has no type: write `service: str`",
    "async def look(*services: str):\n    'Look.'": "it takes `*services: str`: write each argument",
    "async def look(turn: str):\n    'Look.'": "`turn` is what the daemon gives it: write `turn: daemon.",
    "async def look(copy: str):\n    'Look.'": "no argument can be named `copy`: give it another name",
    "async def look(when: 'Day'):\n    'Look.'": "its types cannot be read (name 'Day' is not defined)",
    "async def look(job: type(print)):\n    'Look.'": "no model can write a builtin_function_or_method",
    "async def Think():\n    'Look.'": "there is another action of this name: give its function another",
    "async def look() -> list[str]:\n    'Look.'": "it returns a list[str], and only a text is kept: write",
    "async def look() -> str | int:\n    'Look.'": "it returns a str | int, and only a text is kept",
    "async def look(run: ActionContext) -> int:\n    'Look.'": "it returns a int, and a run takes a text,",
    "async def _():\n    'Look.'": " is no name for an action: use a-z, A-Z and 0-9, a letter first",
}


@pytest.mark.parametrize(("text", "said"), SHAPES.items())
def test_a_function_that_can_be_no_action_is_told_why(
    words: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    imported = "from daemon.actions.action import ActionContext\nfrom daemon.actions.function import action"
    lines = own(words, capsys, f"{imported}\n\n\n@action\n{text}\n")
    [wrong] = [line for line in lines if line[0] == "✗"]
    assert said in wrong


def own(words: Path, capsys: pytest.CaptureFixture[str], text: str, *, owned: bool = True) -> list[str]:
    """Return the findings about this one file in the owner's actions/."""
    (words / "actions").mkdir()
    (words / "actions" / "looking.py").write_text(text)
    check_texts(words, find_owner_code(words, owned=owned))
    return capsys.readouterr().out.splitlines()


LOOKING = """
from daemon.actions.function import action
from daemon.process import Placeholders


@action{how}
async def look_up(service: str) -> str:
    '''Look it up.'''
    return "nothing"
"""


@pytest.mark.parametrize(
    ("how", "owned", "said"),
    [
        ("(playbooks=['expert'])", True, ""),
        ("", True, "no playbook offers it: write LookUp into the `actions` of one"),
        (
            "(playbooks='expert')",
            True,
            '`playbooks` is a text where a list belongs: write `playbooks=["expert"]`',
        ),
        ("(playbooks=['expret'])", True, "there is no playbook expret; is it expert?"),
        (
            "(playbooks=['expert'], texts={'prompts/looking': Placeholders()})",
            True,
            "it is not there, and LookUp needs it: write it",
        ),
        ("(playbooks=['expert'], approval=True)", True, ""),
        ("(playbooks=['expert'], approval=True)", False, "nobody can agree to LookUp: set OWNER_USER_IDS"),
    ],
)
def test_an_action_of_the_owners_has_to_be_offered_and_agreed_to_by_somebody(
    words: Path, capsys: pytest.CaptureFixture[str], how: str, owned: bool, said: str
) -> None:
    lines = own(words, capsys, LOOKING.format(how=how), owned=owned)
    wrong = [line for line in lines if line[0] == "✗"]
    assert [said in line for line in wrong] == ([True] if said else [])
    if not wrong:
        assert any("playbooks/expert" in line and "Respond, LookUp, → closing" in line for line in lines)


@pytest.mark.parametrize("text", ["def", "import nowhere", "LOOK = 1"])
def test_a_file_that_holds_no_action_is_named(
    words: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (words / "prompts" / "looking.md").write_text("Look.")  # it may belong to this file
    [wrong] = [line for line in own(words, capsys, text) if line[0] == "✗"]
    assert wrong.startswith("✗ actions/looking ")
    assert wrong.endswith("take it away")


def test_a_folder_that_is_none_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_texts(tmp_path / "none", OwnerCode(registry=REGISTRY, processes=PROCESSES)) == 1
    assert "is none: name the one that holds soul.md" in capsys.readouterr().out


def test_the_command_finds_the_texts_well_and_needs_nothing_but_files(words: Path) -> None:
    status, said, wrong = run("check", str(words))
    assert (status, wrong) == (0, ""), said


def test_the_page_about_actions_is_what_the_command_prints() -> None:
    status, said, wrong = run("actions")
    assert (status, wrong, said) == (
        0,
        "",
        all_actions(find_owner_actions(project_root()).actions).as_markdown(),
    )
    page = (project_root() / "docs" / "ACTIONS.md").read_text(encoding="utf-8")
    assert all_actions().as_markdown() == page, (
        "run `python -m daemon actions > docs/ACTIONS.md`, without your own"
    )
