import type { Conversation, Tool, ToolChoice, Turn } from '../answer';
import { isObject, listOf, numberOf, objectOf, textOf, type JsonObject } from '../json';
import { isReasoningModel } from '../settings';
import type { PromptWeight } from '../tokens';
import { reasonsByDefault, vendorModel } from '../vendors';

/** Parses a Responses body that passed the strict check, with the conversation it refers to. */
export function readResponses(body: JsonObject, items: readonly JsonObject[]): Conversation {
  const model = textOf(body['model']);
  const weight: PromptWeight = { characters: textOf(body['instructions']).length, images: 0 };
  const turns = readInput(items, weight);
  const tools = [...listOf(body['tools']), ...items.flatMap(addedTools)];
  if (tools.length > 0) weight.characters += JSON.stringify(tools).length;
  const outputLimit = numberOf(body['max_output_tokens']);
  const format = objectOf(objectOf(body['text'])['format']);
  return {
    model,
    turns,
    weight,
    tools: tools.flatMap((tool) => readTool(objectOf(tool))),
    choice: readChoice(body['tool_choice']),
    parallel: body['parallel_tool_calls'] !== false,
    ...(outputLimit === undefined ? {} : { outputLimit }),
    stops: [],
    ...(format['type'] === 'json_schema' ? { format: format['schema'] ?? {} } : {}),
    ...(format['type'] === 'json_object' ? { format: {} } : {}),
    thinks:
      isReasoningModel(model) ||
      reasonsByDefault(vendorModel(model), objectOf(body['reasoning'])['effort'], body),
  };
}

const addedTools = ({ type, tools }: JsonObject): readonly unknown[] =>
  type === 'additional_tools' ? listOf(tools) : [];

function readInput(items: readonly JsonObject[], weight: PromptWeight): Turn[] {
  const turns: Turn[] = [];
  let results: string[] | undefined;
  for (const item of items) {
    switch (item['type'] ?? 'message') {
      case 'message': {
        const text = readContent(item['content'], weight);
        results = undefined;
        if (item['role'] === 'user') turns.push({ text, results: [] });
        break;
      }
      case 'function_call':
        results = undefined;
        weight.characters += textOf(item['name']).length + textOf(item['arguments']).length;
        break;
      case 'function_call_output':
        if (results === undefined) turns.push({ text: '', results: (results = []) });
        results.push(readContent(item['output'], weight));
        break;
    }
  }
  return turns;
}

function readContent(content: unknown, weight: PromptWeight): string {
  const texts: string[] = [];
  if (typeof content === 'string') texts.push(content);
  for (const part of listOf(content).map(objectOf)) {
    if (part['type'] === 'input_image') weight.images++;
    else texts.push(textOf(part['text']));
  }
  const text = texts.join('\n');
  weight.characters += text.length;
  return text;
}

function readTool(tool: JsonObject): Tool[] {
  if (tool['type'] === 'namespace') {
    const namespace = textOf(tool['name']);
    return listOf(tool['tools']).flatMap((inner) =>
      readTool(objectOf(inner)).map((innerTool) => ({ ...innerTool, namespace })),
    );
  }
  return tool['type'] === 'function'
    ? [{ name: textOf(tool['name']), schema: tool['parameters'] ?? {} }]
    : [];
}

function readChoice(choice: unknown): ToolChoice {
  if (choice === 'none') return { mode: 'none' };
  if (choice === 'required') return { mode: 'any' };
  return isObject(choice) ? { mode: 'named', name: textOf(choice['name']) } : { mode: 'auto' };
}
