import type { Dropped } from '@switchboard/extension';

interface Turn {
  readonly who: 'rules' | 'person' | 'model';
  readonly says: string;
}

export interface EchoRequest {
  readonly model: string;
  readonly turns: readonly Turn[];
  readonly stream: boolean;
  readonly limit?: number;
  readonly warmth?: number;
}

const speakers: Readonly<Record<string, Turn['who']>> = {
  system: 'rules',
  user: 'person',
  assistant: 'model',
};

/** These are said in another way, or to the gateway. */
const understood = new Set([
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

/** A request of the chat dialect in the words of echo, and what echo has no words for. */
export function echoRequest(
  body: Readonly<Record<string, unknown>>,
  { model, limit, stream }: { readonly model: string; readonly limit?: number; readonly stream: boolean },
): { readonly request: EchoRequest; readonly dropped: readonly Dropped[] } {
  const { messages, temperature } = body;
  if (!Array.isArray(messages)) throw new Error('a request of the chat dialect has messages');
  const most = [body['max_completion_tokens'], body['max_tokens'], limit].find(
    (value) => typeof value === 'number',
  );
  const dropped = Object.keys(body)
    .filter((name) => !understood.has(name))
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
      ...(typeof most === 'number' && { limit: most }),
      ...(typeof temperature === 'number' && { warmth: temperature }),
    },
    dropped,
  };
}

function turnOf(message: { readonly role?: unknown; readonly content?: unknown }): Turn {
  const who = speakers[String(message.role)];
  if (who === undefined) throw new Error(`echo knows nobody who is called ${String(message.role)}`);
  return { who, says: textOf(message.content) };
}

/** Content is a text, or a list of parts. A picture that was left out would be answered as if it had not been there. */
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
