// A subject in TypeScript: the official MCP SDK's client, and a model behind an OpenAI-compatible endpoint.
//   export MODEL_URL=http://127.0.0.1:8000/v1 MODEL=my-model MODEL_KEY=…
//   AGENTBOUND_EXEC_ENV=MODEL_URL,MODEL,MODEL_KEY agentbound run --agent 'mcp-exec:node examples/mcp/agent.ts'

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

type ToolCall = { id: string; type: "function"; function: { name: string; arguments: string } };
type Message = { role: string; content: string | null; tool_calls?: ToolCall[]; tool_call_id?: string };

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

const world = new Client({ name: "example", version: "1" });
await world.connect(new StreamableHTTPClientTransport(new URL(setting("AGENTBOUND_MCP_URL"))));
const tools = (await world.listTools()).tools.map((t) => ({
  type: "function",
  function: { name: t.name, description: t.description, parameters: t.inputSchema },
}));

async function ask(messages: Message[]): Promise<Message> {
  const answer = await fetch(`${setting("MODEL_URL")}/chat/completions`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${setting("MODEL_KEY")}` },
    body: JSON.stringify({ model: setting("MODEL"), messages, tools }),
  });
  if (!answer.ok) throw new Error(`the model answers ${answer.status}: ${await answer.text()}`);
  const { choices } = (await answer.json()) as { choices: { message: Message }[] };
  return choices[0]!.message;
}

async function call(c: ToolCall, thought: string | null): Promise<Message> {
  let content: string;
  try {
    const args = JSON.parse(c.function.arguments || "{}") as Record<string, unknown>;
    const result = await world.callTool({ name: c.function.name, arguments: args, _meta: { "agentbound/thought": thought ?? "" } });
    content = (result.content as { text: string }[]).map((part) => part.text).join("");
  } catch (error) {
    content = `error: ${String(error)}`;
  }
  return { role: "tool", tool_call_id: c.id, content };
}

const messages: Message[] = [
  { role: "system", content: setting("AGENTBOUND_SYSTEM") },
  { role: "user", content: setting("AGENTBOUND_INSTRUCTION") },
];
let turn = await ask(messages);
while (turn.tool_calls?.length) {
  messages.push(turn);
  for (const c of turn.tool_calls) messages.push(await call(c, turn.content));
  turn = await ask(messages);
}
console.log(turn.content ?? ""); // its last line says how it ended
await world.close();
