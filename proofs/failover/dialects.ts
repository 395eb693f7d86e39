export type DialectName = 'chat' | 'messages' | 'responses';
export const dialectNames: readonly DialectName[] = ['chat', 'messages', 'responses'];

export interface DialectRequest {
  readonly model: string;
  readonly stream: boolean;
  readonly prompt: string;
  /** Start of the response, sent as a final assistant message. */
  readonly prefill?: string;
}

interface DialectShape {
  readonly path: string;
  readonly body: (question: DialectRequest) => object;
  /** Text of a non-streaming response. */
  readonly textOf: (answer: unknown) => string;
  /** Text that a stream event adds. */
  readonly deltaOf: (event: unknown) => string;
  /** Message id of an event that starts a message; an empty text if it has none. */
  readonly messageStartOf: (event: unknown) => string | undefined;
  readonly isEnd: (data: string, event: unknown) => boolean;
  /** Error that an event carries. */
  readonly errorOf: (event: unknown) => unknown;
}

/** Value at a path; undefined if there is none. */
export const valueAt = (value: unknown, ...path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>(
    (inner, name) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, name) : undefined),
    value,
  );
export const textAt = (value: unknown, ...path: readonly (string | number)[]): string => {
  const textValue = valueAt(value, ...path);
  return typeof textValue === 'string' ? textValue : '';
};
const itemsAt = (value: unknown, name: string): readonly unknown[] => {
  const listValue = valueAt(value, name);
  return Array.isArray(listValue) ? listValue : [];
};

const turns = ({ prompt, prefill }: DialectRequest): object[] => [
  { role: 'user', content: prompt },
  ...(prefill === undefined ? [] : [{ role: 'assistant', content: prefill }]),
];

export const shapes: Readonly<Record<DialectName, DialectShape>> = {
  chat: {
    path: '/v1/chat/completions',
    body: (question) => ({
      model: question.model,
      messages: turns(question),
      ...(question.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    }),
    textOf: (answer) => textAt(answer, 'choices', 0, 'message', 'content'),
    deltaOf: (event) => textAt(event, 'choices', 0, 'delta', 'content'),
    messageStartOf: (event) => textAt(event, 'id') || undefined,
    isEnd: (data) => data === '[DONE]',
    errorOf: (event) => valueAt(event, 'error'),
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
    messageStartOf: (event) =>
      valueAt(event, 'type') === 'message_start' ? textAt(event, 'message', 'id') : undefined,
    isEnd: (_data, event) => valueAt(event, 'type') === 'message_stop',
    errorOf: (event) => (valueAt(event, 'type') === 'error' ? valueAt(event, 'error') : undefined),
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
    deltaOf: (event) =>
      valueAt(event, 'type') === 'response.output_text.delta' ? textAt(event, 'delta') : '',
    messageStartOf: (event) =>
      valueAt(event, 'type') === 'response.created' ? textAt(event, 'response', 'id') : undefined,
    isEnd: (_data, event) => ['response.completed', 'response.incomplete'].includes(textAt(event, 'type')),
    errorOf: (event) =>
      valueAt(event, 'type') === 'response.failed' ? valueAt(event, 'response', 'error') : errorEvent(event),
  },
};

const errorEvent = (event: unknown): unknown => (valueAt(event, 'type') === 'error' ? event : undefined);
