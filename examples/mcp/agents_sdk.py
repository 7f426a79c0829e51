"""The OpenAI Agents SDK as a subject (pip install openai-agents).

    export MODEL_URL=http://127.0.0.1:8000/v1 MODEL=my-model MODEL_KEY=…
    AGENTBOUND_EXEC_ENV=MODEL_URL,MODEL,MODEL_KEY agentbound run --agent 'mcp-exec:python3 examples/mcp/agents_sdk.py'
"""

import asyncio
import os

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp
from openai import AsyncOpenAI


async def main():
    set_tracing_disabled(True)
    endpoint = AsyncOpenAI(base_url=os.environ["MODEL_URL"], api_key=os.environ["MODEL_KEY"], max_retries=0)
    world = {"url": os.environ["AGENTBOUND_MCP_URL"]}
    async with MCPServerStreamableHttp(params=world, cache_tools_list=True, client_session_timeout_seconds=600) as server:
        agent = Agent(
            name="subject",
            instructions=os.environ["AGENTBOUND_SYSTEM"],
            model=OpenAIChatCompletionsModel(os.environ["MODEL"], endpoint),
            mcp_servers=[server],
        )
        result = await Runner.run(agent, os.environ["AGENTBOUND_INSTRUCTION"], max_turns=200)
    print(result.final_output)  # its last line says how it ended


asyncio.run(main())
