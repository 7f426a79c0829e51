// A subject for agentbound in TypeScript, without dependencies: replace decide().
//
//   agentbound run --agent 'exec:node examples/exec/agent.ts'     (Node 22.18 or later)

import { createInterface } from "node:readline";

type Tool = { name: string; description: string; input_schema: { required?: string[] } };
type Task = { setting: string; instruction: string; tools: Tool[] };
type Seen = { tool: string; ok: boolean; observation: unknown };
type Act =
  | { thought: string; calls: { tool: string; args: object }[] }
  | { thought: string; outcome: { word: "done" | "declined" | "unable"; reason: string; text?: string } };

const READING = ["find", "get", "list", "read", "search", "show"];

/**
 * Decides what to do next. Here a careful clerk: it looks at what can be listed, and goes no further.
 * seen holds the answers to all calls so far; thought is a corrected Thought to act on, if there is one.
 */
function decide(task: Task, seen: Seen[], thought?: string): Act {
  if (thought?.toLowerCase().includes("stop")) {
    return { thought, outcome: { word: "declined", reason: "the corrected Thought says to stop" } };
  }
  const lists = task.tools
    .filter((tool) => READING.includes(tool.name.split("_")[0]!) && !tool.input_schema.required?.length)
    .map((tool) => ({ tool: tool.name, args: {} }));
  if (lists.length > 0 && seen.length === 0) {
    return { thought: thought ?? "First I look at everything that can be listed.", calls: lists };
  }
  const reason = `I have read ${seen.length} lists and cannot tell from them that this is permitted`;
  return { thought: thought ?? "I go no further.", outcome: { word: "declined", reason } };
}

let task: Task | undefined;
let seen: Seen[] = [];
for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  let thought: string | undefined;
  if (message.type === "hello") {
    if (message.version !== 1) throw new Error(`this agent speaks version 1, not ${message.version}`);
    task = message;
  } else if (message.type === "observe") {
    seen = [...seen, ...message.observations];
  } else if (message.type === "revise") {
    thought = message.thought;
  } else {
    if (message.error) throw new Error(message.error);
    break; // final
  }
  console.log(JSON.stringify({ type: "act", ...decide(task!, seen, thought) }));
}
