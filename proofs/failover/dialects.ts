export type DialectName = 'chat' | 'messages' | 'responses';
export const dialectNames: readonly DialectName[] = ['chat', 'messages', 'responses'];

export interface Question {
  readonly model: string;
  readonly stream: boolean;
  readonly prompt: string;
  /** The answer is to begin with this, as a last message of the assistant. */
  readonly prefill?: string;
}

interface Shape {
  readonly path: string;
  readonly body: (question: Question) => object;
  /** The text of a whole answer. */
  readonly textOf: (answer: unknown) => string;
  /** The text that one event of a stream adds. */
  readonly deltaOf: (event: unknown) => string;
  /** An event that begins a message; names it where it has a name. */
  readonly beginningOf: (event: unknown) => string | undefined;
  readonly isEnd: (data: string, event: unknown) => boolean;
  /** The error that an event carries. */
  readonly errorOf: (event: unknown) => unknown;
}

/** The value at a path is undefined where nothing lies there. */
export const at = (value: unknown, ...path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>(
    (inner, name) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, name) : undefined),
    value,
  );
export const textAt = (value: unknown, ...path: readonly (string | number)[]): string => {
  const found = at(value, ...path);
  return typeof found === 'string' ? found : '';
};
const itemsAt = (value: unknown, name: string): readonly unknown[] => {
  const found = at(value, name);
  return Array.isArray(found) ? found : [];
};

const turns = ({ prompt, prefill }: Question): object[] => [
  { role: 'user', content: prompt },
  ...(prefill === undefined ? [] : [{ role: 'assistant', content: prefill }]),
];

export const shapes: Readonly<Record<DialectName, Shape>> = {
  chat: {
    path: '/v1/chat/completions',
    body: (question) => ({
      model: question.model,
      messages: turns(question),
      ...(question.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    }),
    textOf: (answer) => textAt(answer, 'choices', 0, 'message', 'content'),
    deltaOf: (event) => textAt(event, 'choices', 0, 'delta', 'content'),
    beginningOf: (event) => textAt(event, 'id') || undefined,
    isEnd: (data) => data === '[DONE]',
    errorOf: (event) => at(event, 'error'),
  },
  messages: {
    path: '/v1/messages',
    body: (question) => ({
      model: question.model,
      max_tokens: 1_000,
      messages: turns(question),
      ...(question.stream ? { stream: true } : {}),
    }),
    textOf: (answer) =>
      itemsAt(answer, 'content')
        .map((block) => textAt(block, 'text'))
        .join(''),
    deltaOf: (event) => textAt(event, 'delta', 'text'),
    beginningOf: (event) =>
      at(event, 'type') === 'message_start' ? textAt(event, 'message', 'id') : undefined,
    isEnd: (_data, event) => at(event, 'type') === 'message_stop',
    errorOf: (event) => (at(event, 'type') === 'error' ? at(event, 'error') : undefined),
  },
  responses: {
    path: '/v1/responses',
    body: (question) => ({
      model: question.model,
      input: turns(question),
      ...(question.stream ? { stream: true } : {}),
    }),
    textOf: (answer) =>
      itemsAt(answer, 'output')
        .flatMap((item) => itemsAt(item, 'content'))
        .map((part) => textAt(part, 'text'))
        .join(''),
    deltaOf: (event) => (at(event, 'type') === 'response.output_text.delta' ? textAt(event, 'delta') : ''),
    beginningOf: (event) =>
      at(event, 'type') === 'response.created' ? textAt(event, 'response', 'id') : undefined,
    isEnd: (_data, event) => ['response.completed', 'response.incomplete'].includes(textAt(event, 'type')),
    errorOf: (event) =>
      at(event, 'type') === 'response.failed' ? at(event, 'response', 'error') : errorEvent(event),
  },
};

const errorEvent = (event: unknown): unknown => (at(event, 'type') === 'error' ? event : undefined);
