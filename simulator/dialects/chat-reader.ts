import type { Conversation, Tool, ToolChoice, Turn } from '../answer';
import { isObject, listOf, numberOf, objectOf, textOf, type JsonObject } from '../json';
import { isReasoningModel } from '../settings';
import type { PromptWeight } from '../tokens';
import { reasonsByDefault, vendorModel } from '../vendors';

/** Parses a Chat Completions body that passed the strict check. */
export function readChat(body: JsonObject): Conversation {
  const model = textOf(body['model']);
  const weight: PromptWeight = { characters: 0, images: 0 };
  const turns = readTurns(listOf(body['messages']), weight);
  const tools = listOf(body['tools']);
  if (tools.length > 0) weight.characters += JSON.stringify(tools).length;
  const outputLimit = numberOf(body['max_completion_tokens']) ?? numberOf(body['max_tokens']);
  return {
    model,
    turns,
    weight,
    tools: tools.flatMap(readTool),
    choice: readChoice(body['tool_choice']),
    parallel: body['parallel_tool_calls'] !== false,
    ...(outputLimit === undefined ? {} : { outputLimit }),
    stops: typeof body['stop'] === 'string' ? [body['stop']] : listOf(body['stop']).map(textOf),
    ...readFormat(objectOf(body['response_format'])),
    thinks: isReasoningModel(model) || reasonsByDefault(vendorModel(model), body['reasoning_effort'], body),
  };
}

function readTurns(messages: readonly unknown[], weight: PromptWeight): Turn[] {
  const turns: Turn[] = [];
  let results: string[] | undefined;
  for (const message of messages.map(objectOf)) {
    const text = readContent(message['content'], weight);
    weight.characters += text.length;
    for (const call of listOf(message['tool_calls']).map((entry) => objectOf(objectOf(entry)['function']))) {
      weight.characters += textOf(call['name']).length + textOf(call['arguments']).length;
    }
    if (message['role'] === 'tool') {
      if (results === undefined) turns.push({ text: '', results: (results = []) });
      results.push(text);
      continue;
    }
    results = undefined;
    if (message['role'] === 'user') turns.push({ text, results: [] });
  }
  return turns;
}

function readContent(content: unknown, weight: PromptWeight): string {
  if (typeof content === 'string') return content;
  const texts: string[] = [];
  for (const part of listOf(content).map(objectOf)) {
    if (part['type'] === 'text') texts.push(textOf(part['text']));
    else if (part['type'] === 'image_url') weight.images++;
  }
  return texts.join('\n');
}

function readTool(value: unknown): Tool[] {
  const declared = objectOf(objectOf(value)['function']);
  return typeof declared['name'] === 'string'
    ? [{ name: declared['name'], schema: declared['parameters'] ?? {} }]
    : [];
}

function readChoice(choice: unknown): ToolChoice {
  if (choice === 'none') return { mode: 'none' };
  if (choice === 'required') return { mode: 'any' };
  if (isObject(choice)) return { mode: 'named', name: textOf(objectOf(choice['function'])['name']) };
  return { mode: 'auto' };
}

function readFormat(format: JsonObject): { format?: unknown } {
  if (format['type'] === 'json_schema') return { format: objectOf(format['json_schema'])['schema'] ?? {} };
  return format['type'] === 'json_object' ? { format: {} } : {};
}
