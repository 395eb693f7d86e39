import type { Conversation, Tool, ToolChoice, Turn } from '../answer';
import { listOf, numberOf, objectOf, textOf, type JsonObject } from '../json';
import type { PromptWeight } from '../tokens';

/** Parses the body of a generateContent request. */
export function readGemini(model: string, body: JsonObject): Conversation {
  const weight: PromptWeight = { characters: 0, images: 0 };
  readParts(objectOf(body['systemInstruction']), weight);
  const turns = listOf(body['contents'])
    .map(objectOf)
    .flatMap((content) => {
      const turn = readParts(content, weight);
      return content['role'] === 'model' ? [] : [turn];
    });
  const declared = listOf(body['tools']).flatMap((tool) => listOf(objectOf(tool)['functionDeclarations']));
  if (declared.length > 0) weight.characters += JSON.stringify(declared).length;
  const config = objectOf(body['generationConfig']);
  const outputLimit = numberOf(config['maxOutputTokens']);
  const format = config['responseJsonSchema'] ?? config['responseSchema'];
  return {
    model,
    turns,
    weight,
    tools: declared.map(objectOf).map(readTool),
    choice: readChoice(objectOf(objectOf(body['toolConfig'])['functionCallingConfig'])),
    parallel: true,
    ...(outputLimit === undefined ? {} : { outputLimit }),
    stops: listOf(config['stopSequences']).map(textOf),
    ...(config['responseMimeType'] === 'application/json' ? { format: format ?? {} } : {}),
    thinks: objectOf(config['thinkingConfig'])['thinkingBudget'] !== 0,
  };
}

function readParts(content: JsonObject, weight: PromptWeight): Turn {
  const texts: string[] = [];
  const results: string[] = [];
  for (const part of listOf(content['parts']).map(objectOf)) {
    if (typeof part['text'] === 'string') texts.push(part['text']);
    else if (part['functionResponse'] !== undefined)
      results.push(JSON.stringify(objectOf(part['functionResponse'])['response'] ?? {}));
    else if (part['functionCall'] !== undefined)
      weight.characters += JSON.stringify(part['functionCall']).length;
    else weight.images++;
  }
  const text = texts.join('\n');
  weight.characters += text.length + results.join('').length;
  return { text, results };
}

function readTool(declared: JsonObject): Tool {
  const schema = declared['parametersJsonSchema'] ?? declared['parameters'] ?? {};
  return { name: textOf(declared['name']), schema };
}

function readChoice({ mode, allowedFunctionNames: allowed }: JsonObject): ToolChoice {
  if (mode === 'NONE') return { mode: 'none' };
  if (mode !== 'ANY') return { mode: 'auto' };
  const [name] = listOf(allowed);
  return name === undefined ? { mode: 'any' } : { mode: 'named', name: textOf(name) };
}
