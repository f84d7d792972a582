"""Calls with the same answer every time, for each server: tool, arguments."""

from pathlib import Path

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def repeatable(server: str, folder: Path) -> list[tuple[str, dict]]:
    files = folder / "files"
    everything = [
        ("echo", {"message": 'quotes " back\\slash \u2028 ünïcödé 🦀 \u0000'}),
        ("get-sum", {"a": 0.1, "b": 0.2}),
        ("get-sum", {"a": 1e21, "b": -0.0}),
        ("get-sum", {"a": "no number"}),
        ("get-tiny-image", {}),
        ("get-annotated-message", {"messageType": "error", "includeImage": True}),
        ("get-structured-content", {"location": "Chicago"}),
        ("get-structured-content", {"location": "Atlantis"}),
        ("get-resource-links", {"count": 10}),
    ]
    time = [
        ("convert_time", {"source_timezone": "Asia/Kolkata", "time": "16:30", "target_timezone": "Asia/Tokyo"}),
        ("get_current_time", {"timezone": "Nowhere/At_All"}),
    ]
    return {
        "everything": everything,
        "web": everything,
        "pipe": everything,
        "http": everything,
        "sse": everything,
        "files": [
            ("read_text_file", {"path": str(files / "hello.txt")}),
            ("read_text_file", {"path": "/etc/hostname"}),
            ("read_media_file", {"path": str(files / "dot.png")}),
            ("read_media_file", {"path": str(files / "hello.txt")}),
            ("list_directory", {"path": str(files)}),
            ("directory_tree", {"path": str(files)}),
        ],
        "memory": [
            ("read_graph", {}),
            ("search_nodes", {"query": "Ada"}),
            ("open_nodes", {"names": ["Ada Lovelace", "nobody"]}),
        ],
        "time": time,
        "modern-pipe": time,
        "modern-http": [("greet", {"name": "ünïcödé 🦀 \u2028 \" \\"}), ("greet", {}), ("greet", {"name": ""})],
    }[server]
