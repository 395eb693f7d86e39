import type { SupplierFault, Unframer } from '@switchboard/extension';

interface Ending {
  readonly why: string;
  readonly read: number;
  readonly wrote: number;
}

/** A line of a stream: more text, the end, or a problem instead of the end. */
type Line = { readonly says: string } | { readonly done: Ending } | { readonly problem: string };

const invalidResponse = (message: string): SupplierFault => ({ code: 'upstream_invalid_response', message });

const finishReason = ({ why }: Ending): string => (why === 'limit' ? 'length' : 'stop');

/** The gateway bills these numbers, and rejects a response whose numbers are impossible. */
const usageOf = ({ read, wrote }: Ending) => ({
  prompt_tokens: read,
  completion_tokens: wrote,
  total_tokens: read + wrote,
});

const head = () => ({ id: 'echo', created: Math.floor(Date.now() / 1_000), model: 'echo' });

/** `{"says":"…","why":"done","read":12,"wrote":5}` in the chat dialect. */
export function chatAnswer(text: string): Uint8Array | SupplierFault {
  const answer = parseObject(text) as (Partial<Ending> & { readonly says?: unknown }) | null;
  const says = answer?.says;
  if (answer === null || typeof says !== 'string' || !isEnding(answer))
    return invalidResponse('This is no answer of echo.');
  const message = { role: 'assistant', content: says };
  return bytesOf(
    JSON.stringify({
      ...head(),
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: finishReason(answer) }],
      usage: usageOf(answer),
    }),
  );
}

/** Converts lines of JSON to events of the chat dialect. Chunks can end anywhere, even within a character. */
export class ChatStream implements Unframer {
  private readonly decoder = new TextDecoder();
  private readonly head = head();
  private rest = '';
  private isDone = false;

  push(chunk: Uint8Array): Uint8Array | SupplierFault {
    const lines = (this.rest + this.decoder.decode(chunk, { stream: true })).split('\n');
    this.rest = lines.pop() ?? '';
    let events = '';
    for (const line of lines) {
      const event = this.eventOf(parseObject(line) as Line | null);
      if (typeof event !== 'string') return event;
      events += event;
    }
    return bytesOf(events);
  }

  end(): SupplierFault | undefined {
    if (this.isDone) return undefined;
    return { code: 'agentcli_incomplete_stream', message: 'The stream ended before the answer did.' };
  }

  private eventOf(line: Line | null): string | SupplierFault {
    if (line === null) return invalidResponse('A line of the stream is no JSON.');
    if ('problem' in line) return { code: 'upstream_error', message: `Echo stopped: ${line.problem}` };
    if ('says' in line) return this.event([{ index: 0, delta: { content: line.says } }]);
    if (!isEnding(line.done)) return invalidResponse('The stream does not say what it is billed for.');
    this.isDone = true;
    const last = this.event([{ index: 0, delta: {}, finish_reason: finishReason(line.done) }]);
    return `${last}${this.event([], usageOf(line.done))}data: [DONE]\n\n`;
  }

  private event(choices: readonly object[], usage?: object): string {
    const chunk = { ...this.head, object: 'chat.completion.chunk', choices, ...(usage && { usage }) };
    return `data: ${JSON.stringify(chunk)}\n\n`;
  }
}

const isEnding = (value: Partial<Ending> | undefined): value is Ending =>
  typeof value?.why === 'string' && Number.isSafeInteger(value.read) && Number.isSafeInteger(value.wrote);

function parseObject(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
