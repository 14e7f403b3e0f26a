"""Detection of layout faults, without false alarms."""

from __future__ import annotations

import pytest

from tests.console.browser import IN_A_BROWSER, Browsing
from tests.console.looks import faults_of

pytestmark = IN_A_BROWSER

BOX = "width: 200px; height: 120px; overflow: hidden"
FAULTS = {
    "lies upon": '<p>one</p><p style="position: relative; top: -36px">two</p>',
    "cut above or below": f'<div style="{BOX}; height: 30px"><p style="margin-top: 20px">half</p></div>',
    "cut without a sign": f'<div style="{BOX}; white-space: nowrap">{"a long line " * 9}</div>',
    "scrolls sideways": f'<div style="{BOX}; overflow: auto; white-space: nowrap">{"a long line " * 9}</div>',
    "is no circle": '<i style="display: block; width: 20px; height: 12px; border-radius: 50%"></i>',
}
SOUND = [
    "<p>one</p><p>two</p>",
    f'<div style="{BOX}; white-space: nowrap; text-overflow: ellipsis">{"a long line " * 9}</div>',
    f'<div style="{BOX}; overflow: hidden auto">{"<p>a line</p>" * 9}</div>',
    '<i style="display: block; width: 20px; height: 20px; border-radius: 50%"></i>',
]


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_of_the_layout_is_found(fault: str, browser: Browsing) -> None:
    assert any(one.startswith(fault) for one in await _faults_of(FAULTS[fault], browser))


@pytest.mark.parametrize("body", SOUND)
async def test_a_sound_layout_has_no_faults(body: str, browser: Browsing) -> None:
    assert await _faults_of(body, browser) == []


async def _faults_of(body: str, browser: Browsing) -> list[str]:
    async with browser() as chromium:
        page = await chromium.new_page()
        await page.set_content(f"<!doctype html>{body}")
        return await faults_of(page)
