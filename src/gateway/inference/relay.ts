import {
  type Fault,
  fault,
  monotonicMs,
  SseScanner,
  sseFault,
  type Usage,
  type UsageReading,
  usageOf,
} from '../../kernel';
import { normaliseChatUsage } from '../../protocol';
import type { StreamSink } from '../reply/stream-sink';
import type { Answered } from './attempt';
import type { Call } from './describe';

/** What reached the caller, or is about to: everything settlement needs to know of it. */
export interface Delivery {
  readonly usage: Usage;
  readonly finishReason: string | null;
  readonly firstTokenMs: number | null;
  /** Set when the answer did not become whole. */
  readonly problem: Fault | null;
}

export interface WholeDelivery extends Delivery {
  readonly body: Buffer;
  readonly contentType: string;
}

/** Takes in a whole answer; nothing of it leaves before it is settled. */
export async function collect({ exchange }: Answered, call: Call): Promise<WholeDelivery> {
  const body = await exchange.whole();
  const { usage, finishReason } = readWholeAnswer(body, call);
  return { body, contentType: 'application/json', usage, finishReason, firstTokenMs: null, problem: null };
}

function readWholeAnswer(body: Buffer, call: Call): { usage: Usage; finishReason: string | null } {
  let answer: { usage?: unknown; choices?: { finish_reason?: unknown }[] } | null;
  try {
    answer = JSON.parse(body.toString('utf8')) as typeof answer;
  } catch (error) {
    throw fault(body.length === 0 ? 'empty_response' : 'non_json_provider_response', { cause: error });
  }
  const reason = answer?.choices?.[0]?.finish_reason;
  return {
    usage: usable(normaliseChatUsage(answer?.usage), call, body.length),
    finishReason: typeof reason === 'string' ? reason : null,
  };
}

/** What nobody reported is counted here, and says so; what cannot be true is refused. */
function usable(reading: UsageReading, call: Call, deliveredBytes: number): Usage {
  if (reading.kind === 'ok') return reading.usage;
  if (reading.kind === 'invalid') throw fault('upstream_invalid_response', { message: reading.reason });
  return estimateUsage(call, deliveredBytes);
}

const BYTES_PER_TOKEN = 4;

const estimateUsage = (call: Call, deliveredBytes: number): Usage =>
  usageOf(
    { inputTokens: call.inputEstimate, outputTokens: Math.ceil(deliveredBytes / BYTES_PER_TOKEN) },
    'estimated',
  );

const DONE = Buffer.from('[DONE]');
const CONTENT = Buffer.from('"content":"');

/**
 * Passes a stream through byte for byte while a tap reads along. The chunk that ends the answer is held back, so
 * that the caller is not told "done" before the account is on record.
 */
export function passThrough(
  answered: Answered,
  call: Call,
  sink: StreamSink,
  requestId: string,
): Promise<Delivery & { last: string | Buffer }> {
  const { exchange } = answered;
  const tap = new ChatTap(call);
  return new Promise((resolve) => {
    const held: Buffer[] = [];
    const settle = (problem: Fault | null): void => {
      const ended = problem ?? tap.problem();
      const last = ended === null ? Buffer.concat(held) : sseFault('chat', ended, requestId);
      resolve({ ...tap.delivery(), problem: ended, last });
    };
    sink.onDrain(() => exchange.resume());
    exchange.read({
      data: (chunk) => {
        tap.take(chunk);
        if (!tap.done) return sink.write(chunk);
        held.push(chunk);
        return true;
      },
      end: () => settle(null),
      broken: (cause) =>
        settle(cause.code === 'stream_interrupted' ? cause : fault('stream_interrupted', { cause })),
    });
  });
}

/** Reads usage and the finish reason out of a passing chat stream. */
class ChatTap {
  done = false;
  private usage: Usage | null = null;
  private finishReason: string | null = null;
  private failure: Fault | null = null;
  private deliveredBytes = 0;
  private firstAt: number | null = null;
  private readonly startedMs = monotonicMs();
  private readonly scanner = new SseScanner({ onData: (data) => this.event(data) });

  constructor(private readonly call: Call) {}

  take(chunk: Buffer): void {
    this.failure ??= this.scanner.push(chunk) ?? null;
  }

  problem(): Fault | null {
    return this.failure ?? (this.done ? null : fault('stream_interrupted'));
  }

  delivery(): Omit<Delivery, 'problem'> {
    return {
      usage: this.usage ?? estimateUsage(this.call, this.deliveredBytes),
      finishReason: this.finishReason,
      firstTokenMs: this.firstAt === null ? null : Math.round(this.firstAt - this.startedMs),
    };
  }

  private event(data: Buffer): void {
    if (data.equals(DONE)) {
      this.done = true;
      return;
    }
    this.countText(data);
    // Most events are text and nothing else: only those that may carry an account are parsed.
    const mayFinish = data.includes('"finish_reason":"');
    if (!mayFinish && !data.includes('"usage":{')) return;
    const chunk = parse(data);
    if (chunk === null) return;
    const reading = normaliseChatUsage(chunk.usage);
    if (reading.kind === 'ok') this.usage = reading.usage;
    const reason = chunk.choices?.[0]?.finish_reason;
    if (typeof reason === 'string') this.finishReason = reason;
  }

  /** How much text was delivered, in case nobody says at the end; read without parsing. */
  private countText(data: Buffer): void {
    const start = data.indexOf(CONTENT);
    if (start === -1) return;
    const text = start + CONTENT.length;
    const end = data.indexOf('"', text);
    if (end <= text) return;
    this.firstAt ??= monotonicMs();
    this.deliveredBytes += end - text;
  }
}

function parse(data: Buffer): { usage?: unknown; choices?: { finish_reason?: unknown }[] } | null {
  try {
    return JSON.parse(data.toString('utf8')) as ReturnType<typeof parse>;
  } catch {
    return null;
  }
}
