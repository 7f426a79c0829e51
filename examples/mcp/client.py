"""A subject that is an MCP client, in Python, without dependencies: replace decide().

    agentbound run --agent 'mcp-exec:python3 examples/mcp/client.py'
"""

import json
import os
import urllib.request

READING = ("find", "get", "list", "read", "search", "show")


class Client:
    """Just enough of MCP over streamable HTTP: one request at a time, each answered at once."""

    def __init__(self, url):
        self.url, self.session, self.version, self.last = url, None, "2025-11-25", 0
        about = {"name": "example", "version": "1"}
        hello = self.request("initialize", {"protocolVersion": self.version, "capabilities": {}, "clientInfo": about})
        self.version = hello["protocolVersion"]
        self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def post(self, message):
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.session:
            headers.update({"Mcp-Session-Id": self.session, "MCP-Protocol-Version": self.version})
        with urllib.request.urlopen(urllib.request.Request(self.url, json.dumps(message).encode(), headers)) as answer:
            self.session = answer.headers.get("Mcp-Session-Id") or self.session
            return answer.read().decode()

    def request(self, method, params):
        self.last += 1
        text = self.post({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        events = [line[5:] for line in text.splitlines() if line.startswith("data:")] or [text]
        answer = next(m for m in map(json.loads, filter(str.strip, events)) if m.get("id") == self.last)
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]

    def call(self, tool, args, thought):
        result = self.request("tools/call", {"name": tool, "arguments": args, "_meta": {"agentbound/thought": thought}})
        return "".join(part["text"] for part in result["content"])


def decide(task, tools, call):
    """Do the task, and give the last message. Here a careful clerk: it looks at what can be listed, and goes no further."""
    seen = []
    for tool in tools:
        if tool["name"].split("_")[0] in READING and not tool["inputSchema"].get("required"):
            seen.append(call(tool["name"], {}, "First I look at everything that can be listed."))
    return f"OUTCOME: declined — I have read {len(seen)} lists and cannot tell from them that this is permitted"


client = Client(os.environ["AGENTBOUND_MCP_URL"])
with open(os.environ["AGENTBOUND_TASK"], encoding="utf-8") as file:  # "setting", "instruction", "system"
    print(decide(json.load(file), client.request("tools/list", {})["tools"], client.call))
