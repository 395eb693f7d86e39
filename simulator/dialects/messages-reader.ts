import type { Conversation, Tool, ToolChoice, Turn } from '../answer';
import { isObject, listOf, numberOf, objectOf, textOf, type JsonObject } from '../json';
import type { PromptWeight } from '../tokens';
import { claudeThinking, vendorModel } from '../vendors';

/** Parses a Messages body that passed the strict check. */
export function readMessages(body: JsonObject): Conversation {
  const weight: PromptWeight = {
    characters: readContent(body['system'], { characters: 0, images: 0 }).text.length,
    images: 0,
  };
  const turns = readTurns(listOf(body['messages']), weight);
  const tools = listOf(body['tools']);
  if (tools.length > 0) weight.characters += JSON.stringify(tools).length;
  const choice = objectOf(body['tool_choice']);
  const outputLimit = numberOf(body['max_tokens']);
  const format = objectOf(objectOf(body['output_config'])['format'] ?? body['output_format']);
  return {
    model: textOf(body['model']),
    turns,
    weight,
    tools: tools.flatMap(readTool),
    choice: readChoice(choice),
    parallel: choice['disable_parallel_tool_use'] !== true,
    ...(outputLimit === undefined ? {} : { outputLimit }),
    stops: listOf(body['stop_sequences']).map(textOf),
    ...(format['type'] === 'json_schema' ? { format: format['schema'] ?? {} } : {}),
    thinks: thinks(body),
  };
}

function thinks(body: JsonObject): boolean {
  const model = vendorModel(textOf(body['model']));
  return model?.vendor === 'anthropic'
    ? claudeThinking(body, model).thinks
    : objectOf(body['thinking'])['type'] === 'enabled';
}

function readTurns(messages: readonly unknown[], weight: PromptWeight): Turn[] {
  const turns: Turn[] = [];
  for (const message of messages.map(objectOf)) {
    const turn = readContent(message['content'], weight);
    weight.characters += turn.text.length + turn.results.reduce((sum, result) => sum + result.length, 0);
    if (message['role'] === 'user') turns.push(turn);
  }
  return turns;
}

function readContent(content: unknown, weight: PromptWeight): Turn {
  if (typeof content === 'string') return { text: content, results: [] };
  const texts: string[] = [];
  const results: string[] = [];
  for (const block of listOf(content).map(objectOf)) {
    switch (block['type']) {
      case 'text':
        texts.push(textOf(block['text']));
        break;
      case 'image':
        weight.images++;
        break;
      case 'document':
        weight.characters += textOf(objectOf(block['source'])['data']).length;
        break;
      case 'tool_use':
        weight.characters += textOf(block['name']).length + JSON.stringify(block['input'] ?? {}).length;
        break;
      case 'tool_result':
        results.push(readContent(block['content'], weight).text);
        break;
    }
  }
  return { text: texts.join('\n'), results };
}

/** Tools that the supplier runs itself have no schema and are never called here. */
function readTool(value: unknown): Tool[] {
  const tool = objectOf(value);
  return isObject(tool['input_schema']) ? [{ name: textOf(tool['name']), schema: tool['input_schema'] }] : [];
}

function readChoice(choice: JsonObject): ToolChoice {
  switch (choice['type']) {
    case 'any':
      return { mode: 'any' };
    case 'none':
      return { mode: 'none' };
    case 'tool':
      return { mode: 'named', name: textOf(choice['name']) };
    default:
      return { mode: 'auto' };
  }
}
