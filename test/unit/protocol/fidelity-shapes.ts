import { type DialectName } from '../../../src/protocol';
import { type Json } from './transcripts';

/** Smallest request of each dialect; a probe adds a feature to it. */
export const hello = { role: 'user', content: 'Hi' };
export const bases: Readonly<Record<DialectName, Json>> = {
  chat: { model: 'm', messages: [hello] },
  messages: { model: 'm', max_tokens: 4000, messages: [hello] },
  responses: { model: 'm', input: [hello] },
};

export interface Probe {
  readonly feature: string;
  /** Fields of the feature per dialect; a dialect without the feature is omitted. */
  readonly fields: Readonly<Partial<Record<DialectName, Json>>>;
  /** Whether the feature describes the default behaviour, so the target request need not change. */
  readonly fulfilled?: boolean;
}

export const pixel = 'iVBORw0KGgo=';
export const pdf = 'JVBERi0=';
export const schema = {
  type: 'object',
  properties: { a: { type: 'string' } },
  required: ['a'],
  additionalProperties: false,
};
export const looseSchema = { ...schema, additionalProperties: true };

const chatUser = (part: Json): Json => ({ messages: [{ role: 'user', content: [part] }] });
const responsesUser = (part: Json): Json => ({ input: [{ role: 'user', content: [part] }] });
export const everyUser = (
  chat: Json | undefined,
  messages: Json | undefined,
  responses: Json | undefined,
): Probe['fields'] => ({
  ...(chat && { chat: chatUser(chat) }),
  ...(messages && { messages: chatUser(messages) }),
  ...(responses && { responses: responsesUser(responses) }),
});

const chatTool = { type: 'function', function: { name: 'look', parameters: schema } };
export const messagesTool = { name: 'look', input_schema: schema };
export const responsesTool = { type: 'function', name: 'look', parameters: schema, strict: false };
export const tools = {
  chat: { tools: [chatTool] },
  messages: { tools: [messagesTool] },
  responses: { tools: [responsesTool] },
};
export const withTools = (extra: Partial<Record<DialectName, Json>>): Probe['fields'] =>
  Object.fromEntries(
    Object.entries(extra).map(([dialect, fields]) => [
      dialect,
      { ...tools[dialect as DialectName], ...fields },
    ]),
  );
export const everywhere = (chat: Json, messages: Json, responses: Json): Probe['fields'] => ({
  chat,
  messages,
  responses,
});
export const openai = (fields: Json): Probe['fields'] => ({ chat: fields, responses: fields });
export const messages = (fields: Json): Probe['fields'] => ({ messages: fields });
export const responses = (fields: Json): Probe['fields'] => ({ responses: fields });
export const chat = (fields: Json): Probe['fields'] => ({ chat: fields });

export const chatRound = (result: Json): Json => ({
  messages: [
    hello,
    {
      role: 'assistant',
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'a', ...result },
  ],
});
export const messagesRound = (result: Json, before: Json[] = []): Json => ({
  messages: [
    hello,
    { role: 'assistant', content: [...before, { type: 'tool_use', id: 'a', name: 'look', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', ...result }] },
  ],
});
export const responsesRound = (output: unknown, before: Json[] = []): Json => ({
  input: [
    hello,
    ...before,
    { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' },
    { type: 'function_call_output', call_id: 'a', output },
  ],
});
export const messagesPicture = {
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: pixel },
};
export const responsesPicture = { type: 'input_image', image_url: `data:image/png;base64,${pixel}` };
export const customTool = { name: 'patch', description: 'Applies a patch.' };
export const uploadedFile = { type: 'file', file_id: 'file_1' };
