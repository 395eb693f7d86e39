import { knownFields, type OperationName } from '../../routing';
import type { JsonSchema } from '../../kernel';
import { operations } from '../operations/operation';

const text = (description: string): JsonSchema => ({ type: 'string', description });
const number = (minimum: number, maximum: number, description: string): JsonSchema => ({
  type: 'number',
  minimum,
  maximum,
  description,
});
const count = (description: string, minimum = 1): JsonSchema => ({ type: 'integer', minimum, description });
const flag = (description: string): JsonSchema => ({ type: 'boolean', description });
const list = (description: string, items: JsonSchema = {}): JsonSchema => ({
  type: 'array',
  items,
  description,
});
const object = (description: string): JsonSchema => ({ type: 'object', description });

const fieldSchemas: Readonly<Record<string, JsonSchema>> = {
  model: text('An id or alias of GET /v1/models.'),
  metadata: {
    type: 'object',
    description: 'Labels; session_id or sticky_key keep a session at one supplier.',
    properties: {
      session_id: { type: 'string' },
      sticky_key: { type: 'string' },
      user_id: { type: 'string' },
    },
  },
  user: text('The person at the other end.'),
  messages: list('The conversation.', {
    type: 'object',
    required: ['role'],
    properties: { role: { type: 'string' }, content: {} },
  }),
  stream: flag('Answer as server-sent events.'),
  stream_options: {
    type: 'object',
    description: 'Beside stream: true only.',
    properties: { include_usage: { type: 'boolean' } },
  },
  temperature: number(0, 2, 'How freely words are chosen.'),
  top_p: number(0, 1, 'Nucleus sampling.'),
  top_k: count('Only among so many words.', 0),
  max_tokens: count('The most tokens of the answer.'),
  max_completion_tokens: count('The most tokens of the answer, reasoning included.'),
  max_output_tokens: count('The most tokens of the answer, reasoning included.'),
  max_tool_calls: count('The most uses of tools that the supplier runs.'),
  n: { type: 'integer', minimum: 1, maximum: 128, description: 'How many answers; each is paid for.' },
  best_of: {
    type: 'integer',
    minimum: 1,
    maximum: 20,
    description: 'How many are made to choose from; all are paid for.',
  },
  frequency_penalty: number(-2, 2, 'Against repeating words.'),
  presence_penalty: number(-2, 2, 'Against repeating subjects.'),
  seed: { type: 'integer', description: 'For answers that can be repeated, as far as the supplier can.' },
  stop: {
    anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
    description: 'Where to stop.',
  },
  stop_sequences: list('Where to stop.', { type: 'string' }),
  tools: list('What the model may call.', { type: 'object' }),
  tool_choice: { description: 'Whether and which tool is to be called.' },
  parallel_tool_calls: flag('Whether several tools may be called at once.'),
  response_format: { description: 'The form of the answer; json_schema holds it to a schema.' },
  system: { description: 'Instructions before the conversation.' },
  instructions: text('Instructions before the conversation.'),
  thinking: object('Whether and how long the model thinks first.'),
  reasoning: object('How hard the model reasons first.'),
  reasoning_effort: text('How hard the model reasons first.'),
  store: flag('Whether the answer may be named by later requests; kept for 24 hours.'),
  previous_response_id: text('A kept answer whose conversation stands before the input.'),
  include: list('What else to put into the answer.', { type: 'string' }),
  background: { const: false, description: 'Not supported: the answer comes with the request.' },
  prompt: { description: 'What is asked.' },
  input: { description: 'What is asked.' },
  query: text('What the documents are ranked by.'),
  documents: list('Texts, or objects with a text.'),
  top_n: count('The most results.'),
  dimensions: count('The length of the vectors.'),
  encoding_format: { enum: ['float', 'base64'], description: 'How vectors are written.' },
  voice: { description: 'The name of a voice; the model’s own where it is left out.' },
  speed: number(0.25, 4, 'How fast it is spoken.'),
  language: text('ISO 639-1; found out where it is left out.'),
  file: {
    type: 'string',
    format: 'binary',
    description: 'WAV, MP3, M4A, MP4, FLAC, OGG or WebM; at most 25 MB.',
  },
  size: text('Width and height, such as 1024x1024.'),
  quality: text('As the model names it.'),
};

const region: JsonSchema = text('The region that must answer; else the call is refused.');

export interface BodyInput {
  readonly operation: OperationName;
  readonly required: readonly string[];
  readonly own?: Readonly<Record<string, JsonSchema>>;
}

export function bodySchema({ operation, required, own = {} }: BodyInput): JsonSchema {
  const bounds = Object.entries(operations).find(([name]) => name === operation)?.[1].bounds ?? {};
  const names = [...knownFields(operation).names].sort((a, b) => rank(a, required) - rank(b, required));
  const unknownNames = Object.keys(own).filter((name) => !names.includes(name));
  if (unknownNames.length > 0) throw new Error(`${operation} does not know ${unknownNames.join(', ')}`);
  return {
    type: 'object',
    required,
    properties: {
      ...Object.fromEntries(
        names.map((name) => [name, own[name] ?? { ...fieldSchemas[name], ...bounds[name]?.schema }]),
      ),
      region,
    },
  };
}

const rank = (name: string, required: readonly string[]): number =>
  required.includes(name) ? required.indexOf(name) - 100 : fieldSchemas[name] === undefined ? 1 : 0;
