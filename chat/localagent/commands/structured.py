"""`@demo <kind>` for each of the nine kinds of structured blocks, and all of them in one answer."""

from __future__ import annotations

from chat.localagent.wire import Json

ROWS = 60
CITIES = ("Oslo", "Lima", "Accra", "Hanoi", "Quito", "Turin")
TONES = {"open": "info", "done": "success", "late": "warning", "lost": "error"}
PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M/wHwAEBgIApD5fRAAAAABJRU5ErkJggg=="
)
RECORDS: list[Json] = [
    {
        "number": number,
        "city": CITIES[number % len(CITIES)],
        "miles": number * 37 % 101,
        "state": list(TONES)[number % len(TONES)],
    }
    for number in range(1, ROWS + 1)
]
BLOCKS: dict[str, list[Json]] = {
    "heading": [
        {"kind": "heading", "text": f"A heading of level {level}", "level": level}
        for level in (1, 2, 3)
    ],
    "paragraph": [
        {"kind": "text", "text": "Words in *markdown* with a [link](https://example.com/)."},
        {"kind": "text", "text": "Words *as they are*.\nA second line.", "format": "text"},
    ],
    "table": [
        {
            "kind": "table",
            "caption": "Parcels on their way",
            "columns": [
                {"id": "number", "header": "#", "type": "link"},
                {"id": "city", "header": "City"},
                {"id": "miles", "header": "Miles", "type": "number"},
                {"id": "state", "header": "State", "type": "badge"},
                {"id": "code", "header": "Code", "type": "code", "sortable": False},
            ],
            "rows": [
                [
                    {
                        "text": f"#{record['number']}",
                        "href": f"https://example.com/{record['number']}",
                    },
                    record["city"],
                    record["miles"],
                    {"text": record["state"], "badge": TONES[record["state"]]},
                    f"P-{record['number'] * 7919 % 1000:03}",
                ]
                for record in RECORDS
            ],
            "filterable": True,
            "pageSize": 10,
        }
    ],
    "list": [
        {
            "kind": "list",
            "items": [
                {
                    "text": "An entry",
                    "href": "https://example.com/",
                    "subtitle": "What it is about",
                    "badges": ["success", {"text": "new", "tone": "info"}],
                },
                {"text": "Another entry"},
            ],
        },
        {"kind": "list", "ordered": True, "items": [{"text": "first"}, {"text": "second"}]},
    ],
    "keyvalue": [
        {
            "kind": "keyValue",
            "pairs": [
                {"label": "Owner", "value": "Ada"},
                {"label": "Site", "value": {"text": "example", "href": "https://example.com/"}},
                {"label": "State", "value": {"text": "ready", "badge": "success"}},
            ],
        }
    ],
    "card": [
        {
            "kind": "card",
            "title": "A card",
            "subtitle": "With a line below",
            "href": "https://example.com/",
            "fields": [{"label": "Weight", "value": 2}, {"label": "Colour", "value": "green"}],
        }
    ],
    "image": [
        {
            "kind": "image",
            "src": PIXEL,
            "alt": "A dot",
            "caption": "One pixel, enlarged",
            "width": 96,
            "height": 96,
        }
    ],
    "code": [{"kind": "code", "code": "print('hello')", "language": "python"}],
    "divider": [
        {"kind": "text", "text": "Above"},
        {"kind": "divider"},
        {"kind": "text", "text": "Below"},
    ],
}
"""By the kind of demonstration. `text` is another one, so that the block of text is `paragraph`."""


def structured(*blocks: Json, **fields: Json) -> dict[str, Json]:
    """Structured content; `fields` are more of its envelope, such as `rawData`."""
    return {"type": "structured", "blocks": list(blocks), **fields}


DEMOS: dict[str, Json] = {
    **{kind: structured(*blocks) for kind, blocks in BLOCKS.items()},
    "table": structured(*BLOCKS["table"], rawData=RECORDS),
    "blocks": structured(
        *(block for blocks in BLOCKS.values() for block in blocks), rawData=RECORDS
    ),
}
"""What `@demo` shows for a kind; `blocks` is all nine in one."""
