import type { Dropped } from '@switchboard/extension';

interface EchoTurn {
  readonly who: 'rules' | 'person' | 'model';
  readonly says: string;
}

export interface EchoRequest {
  readonly model: string;
  readonly turns: readonly EchoTurn[];
  readonly stream: boolean;
  readonly limit?: number;
  readonly warmth?: number;
}

const speakers: Readonly<Record<string, EchoTurn['who']>> = {
  system: 'rules',
  user: 'person',
  assistant: 'model',
};

/** Fields that are converted, or that are meant for the gateway. */
const handledFields = new Set([
  'model',
  'messages',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'user',
  'metadata',
]);

/** Converts a request of the chat dialect to echo's format, and lists what echo does not support. */
export function echoRequest(
  body: Readonly<Record<string, unknown>>,
  { model, limit, stream }: { readonly model: string; readonly limit?: number; readonly stream: boolean },
): { readonly request: EchoRequest; readonly dropped: readonly Dropped[] } {
  const { messages, temperature } = body;
  if (!Array.isArray(messages)) throw new Error('a request of the chat dialect has messages');
  const maxTokens = [body['max_completion_tokens'], body['max_tokens'], limit].find(
    (value) => typeof value === 'number',
  );
  const dropped = Object.keys(body)
    .filter((name) => !handledFields.has(name))
    .map((name): Dropped => ({
      loss: 'dropped',
      path: name,
      at: name,
      count: 1,
      reason: 'unknown to the supplier',
    }));
  return {
    request: {
      model,
      turns: messages.map(turnOf),
      stream,
      ...(typeof maxTokens === 'number' && { limit: maxTokens }),
      ...(typeof temperature === 'number' && { warmth: temperature }),
    },
    dropped,
  };
}

function turnOf(message: { readonly role?: unknown; readonly content?: unknown }): EchoTurn {
  const who = speakers[String(message.role)];
  if (who === undefined) throw new Error(`echo knows nobody who is called ${String(message.role)}`);
  return { who, says: textOf(message.content) };
}

/**
 * Content is a text or a list of parts. Unsupported parts throw, because a request without its image would get a wrong
 * reply.
 */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) throw new Error('a message has no content');
  return content
    .map((part: { readonly type?: unknown; readonly text?: unknown }) => {
      if (part.type !== 'text') throw new Error(`echo cannot read a part of type ${String(part.type)}`);
      return String(part.text);
    })
    .join('');
}
