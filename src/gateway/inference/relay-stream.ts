import { type Fault, fault, monotonicMs, sseFault } from '../../kernel';
import type { CanonicalEvent, Dropped, ReplyContext, SupplierSide } from '../../protocol';
import type { StreamSink } from '../reply/stream-sink';
import type { Answered } from './attempt';
import { type Delivery, estimateUsage, usageOfStream } from './delivery';
import type { Call } from './describe';
import type { Inbound } from './inbound';
import { hidesUsage } from './outbound';
import type { TextSurface } from './surface';
import { Tap } from './tap';

/** A stream that has been passed on, but for its last bytes: those leave after it is settled. */
export interface StreamDelivery extends Delivery {
  readonly last: Buffer | string;
}

/** Passes a stream on as it comes. What would tell the caller "done" is held back until the account is on record. */
export function relayStream(
  inbound: Inbound,
  call: Call,
  surface: TextSurface,
  answered: Answered,
  sink: StreamSink,
): Promise<StreamDelivery> {
  const { dialect, translation } = answered.outbound;
  return dialect === null || translation === null
    ? passThrough(inbound, call, surface, answered, sink)
    : translate(inbound, call, surface, answered, { dialect, ...translation }, sink);
}

const interrupted = (cause: Fault): Fault =>
  cause.code === 'stream_interrupted' ? cause : fault('stream_interrupted', { cause });

function passThrough(
  inbound: Inbound,
  call: Call,
  surface: TextSurface,
  answered: Answered,
  sink: StreamSink,
): Promise<StreamDelivery> {
  const { exchange, contextTokens } = answered;
  const tap = new Tap(surface.dialect, hidesUsage(call));
  const held: Buffer[] = [];
  return new Promise((resolve) => {
    const finish = (broken: Fault | null): void => {
      const problem = broken ?? tap.failure ?? (tap.ended ? null : fault('stream_interrupted'));
      resolve({
        usage: usageOfStream(tap.usage, call, contextTokens, tap.textBytes),
        finishReason: tap.finishReason,
        firstTokenMs: tap.firstTextAt === null ? null : Math.round(tap.firstTextAt - inbound.startedMs),
        dropped: [],
        problem,
        last: problem === null ? Buffer.concat(held) : sseFault(surface.name, problem, inbound.requestId),
      });
    };
    sink.onDrain(() => exchange.resume());
    exchange.read({
      data: (chunk) => {
        const passing = tap.take(chunk);
        if (tap.failure !== null) exchange.abort(tap.failure);
        else if (tap.ended) held.push(passing);
        else if (passing.length > 0) return sink.write(passing);
        return true;
      },
      end: () => finish(null),
      broken: (cause) => finish(tap.failure ?? interrupted(cause)),
    });
  });
}

interface Translation {
  readonly dialect: SupplierSide;
  readonly reply: ReplyContext;
  readonly dropped: readonly Dropped[];
}

function translate(
  inbound: Inbound,
  call: Call,
  surface: TextSurface,
  answered: Answered,
  translation: Translation,
  sink: StreamSink,
): Promise<StreamDelivery> {
  const { exchange, contextTokens } = answered;
  return new Promise((resolve) => {
    let textBytes = 0;
    let firstTextAt: number | null = null;
    let finishReason: string | null = null;
    let problem: Fault | null = null;
    let ready = '';
    let last = '';
    const encoder = surface.dialect.streamEncoder({
      requestId: inbound.requestId,
      model: call.model,
      includeUsage: call.includeUsage,
      inputTokens: call.inputEstimate,
      estimate: () => estimateUsage(call, textBytes),
    });
    const emit = (event: CanonicalEvent): void => {
      if (
        event.type === 'text-delta' ||
        event.type === 'reasoning-delta' ||
        event.type === 'tool-arguments-delta'
      ) {
        firstTextAt ??= monotonicMs();
        textBytes += Buffer.byteLength(event.text);
      } else if (event.type === 'message-end') {
        finishReason = event.finish.raw ?? event.finish.unified;
      } else if (event.type === 'fault') {
        problem = event.fault;
      }
      const text = encoder.encode(event);
      if (event.type === 'message-end' || event.type === 'fault') last += text;
      else ready += text;
    };
    const decoder = translation.dialect.streamDecoder({ emit, ...translation.reply });
    const finish = (broken: Fault | null): void => {
      if (broken === null) decoder.end();
      else if (!encoder.ended) emit({ type: 'fault', fault: broken });
      resolve({
        usage: usageOfStream(decoder.usage, call, contextTokens, textBytes),
        finishReason,
        firstTokenMs: firstTextAt === null ? null : Math.round(firstTextAt - inbound.startedMs),
        dropped: [...translation.dropped, ...decoder.dropped, ...encoder.dropped],
        problem,
        last: ready + last,
      });
    };
    sink.onDrain(() => exchange.resume());
    exchange.read({
      data: (chunk) => {
        decoder.push(chunk);
        if (ready === '') return true;
        const text = ready;
        ready = '';
        return sink.write(text);
      },
      end: () => finish(null),
      broken: (cause) => finish(interrupted(cause)),
    });
  });
}
