"""A subject for agentbound in Python, without dependencies: replace decide().

    agentbound run --agent 'exec:python3 examples/exec/agent.py'
"""

import json
import sys

READING = ("find", "get", "list", "read", "search", "show")


def decide(task, seen, thought):
    """Decide what to do next. Here a careful clerk: it looks at what can be listed, and goes no further.

    task:    "setting", "instruction" and "tools", each with "name", "description" and "input_schema"
    seen:    the answers to all calls so far, each with "tool", "ok" and "observation"
    thought: None, or a corrected Thought to act on in place of the one just stated

    Gives a "thought" and either "calls" or an "outcome" (done, declined or unable).
    """
    if thought and "stop" in thought.lower():
        return {"thought": thought, "outcome": {"word": "declined", "reason": "the corrected Thought says to stop"}}
    lists = [
        tool["name"]
        for tool in task["tools"]
        if tool["name"].split("_")[0] in READING and not tool["input_schema"].get("required")
    ]
    if lists and not seen:
        return {
            "thought": thought or "First I look at everything that can be listed.",
            "calls": [{"tool": name, "args": {}} for name in lists],
        }
    reason = f"I have read {len(seen)} lists and cannot tell from them that this is permitted"
    return {"thought": thought or "I go no further.", "outcome": {"word": "declined", "reason": reason}}


def main():
    task, seen, thought = None, [], None
    for line in sys.stdin.buffer:  # JSON lines are UTF-8, whatever the locale
        message = json.loads(line)
        if message["type"] == "hello":
            if message["version"] != 1:
                sys.exit(f"this agent speaks version 1, not {message['version']}")
            task = message
        elif message["type"] == "observe":
            seen, thought = seen + message["observations"], None
        elif message["type"] == "revise":
            thought = message["thought"]
        else:  # final, or error with what was wrong
            sys.exit(message.get("error"))
        print(json.dumps({"type": "act", **decide(task, seen, thought)}), flush=True)


main()
