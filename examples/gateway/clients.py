"""A tool loop with the official OpenAI and Anthropic clients, behind the gateway or not.

    python clients.py PROTOCOL BASE_URL [stream]

It asks with one tool, runs the calls of each turn, sends everything back, and goes on
until there is none. It prints what it made of it, as one line of JSON. The key is in
GATEWAY_CLIENT_KEY; nothing here knows of the gateway but the base URL.
"""

import json
import os
import sys

from anthropic import Anthropic
from openai import OpenAI

TASK = "Compare A and B."
MODEL = "test-model"
SCHEMA = {"type": "object", "properties": {"id": {"type": "string"}}}
KEY = os.environ["GATEWAY_CLIENT_KEY"]


def read(arguments: str) -> str:
    return json.dumps({"read": "record of " + json.loads(arguments)["id"]}, separators=(",", ":"))


def chat(base: str, stream: bool):
    client = OpenAI(base_url=base, api_key=KEY, max_retries=0)
    messages = [{"role": "user", "content": TASK}]
    asks = {"model": MODEL, "tools": [{"type": "function", "function": {"name": "read", "parameters": SCHEMA}}]}
    while True:
        if stream:
            with client.chat.completions.stream(messages=messages, stream_options={"include_usage": True}, **asks) as s:
                text = "".join(e.delta for e in s if e.type == "content.delta")
                message = s.get_final_completion().choices[0].message
            assert text == (message.content or ""), (text, message.content)
        else:
            message = client.chat.completions.create(messages=messages, **asks).choices[0].message
        calls = message.tool_calls or []
        yield message.content or "", [(c.id, c.function.arguments) for c in calls]
        said = {"role": "assistant", "content": message.content}
        if calls:
            said["tool_calls"] = [{"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}} for c in calls]
        messages.append(said)
        messages += [{"role": "tool", "tool_call_id": c.id, "content": read(c.function.arguments)} for c in calls]


def responses(base: str, stream: bool):
    client = OpenAI(base_url=base, api_key=KEY, max_retries=0)
    items = [{"role": "user", "content": TASK}]
    asks = {"model": MODEL, "store": False, "include": ["reasoning.encrypted_content"], "tools": [{"type": "function", "name": "read", "parameters": SCHEMA, "strict": False}]}
    while True:
        if stream:
            with client.responses.stream(input=items, **asks) as s:
                text = "".join(e.delta for e in s if e.type == "response.output_text.delta")
                response = s.get_final_response()
            assert text == response.output_text, (text, response.output_text)
        else:
            response = client.responses.create(input=items, **asks)
        calls = [i for i in response.output if i.type == "function_call"]
        yield response.output_text, [(c.call_id, c.arguments) for c in calls]
        for item in response.output:
            back = item.model_dump(exclude_none=True, exclude={"parsed_arguments"})
            for part in back.get("content", []):
                part.pop("parsed", None)
            items.append(back)
        items += [{"type": "function_call_output", "call_id": c.call_id, "output": read(c.arguments)} for c in calls]


def messages(base: str, stream: bool):
    client = Anthropic(base_url=base, api_key=KEY, max_retries=0)
    said = [{"role": "user", "content": [{"type": "text", "text": TASK}]}]
    asks = {"model": MODEL, "max_tokens": 100, "tools": [{"name": "read", "input_schema": SCHEMA}]}
    known = {"text": {"type", "text"}, "tool_use": {"type", "id", "name", "input"}, "thinking": {"type", "thinking", "signature"}}
    while True:
        if stream:
            with client.messages.stream(messages=said, **asks) as s:
                text = "".join(s.text_stream)
                message = s.get_final_message()
            assert text == "".join(b.text for b in message.content if b.type == "text"), (text, message)
        else:
            message = client.messages.create(messages=said, **asks)
        calls = [b for b in message.content if b.type == "tool_use"]
        yield "".join(b.text for b in message.content if b.type == "text"), [(c.id, json.dumps(c.input, separators=(",", ":"))) for c in calls]
        said.append({"role": "assistant", "content": [b.model_dump(include=known[b.type]) for b in message.content]})
        said.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": c.id, "content": [{"type": "text", "text": read(json.dumps(c.input))}]} for c in calls]})


def main() -> None:
    protocol, base, stream = sys.argv[1], sys.argv[2], sys.argv[3:] == ["stream"]
    turns = []
    for text, calls in {"chat": chat, "responses": responses, "messages": messages}[protocol](base, stream):
        turns.append((text, calls))
        if not calls or len(turns) > 3:
            break
    print(json.dumps({"Text": turns[0][0], "Calls": [f"{i} {a}" for i, a in turns[0][1]], "Final": turns[-1][0]}, ensure_ascii=False))


main()
