import { fault, usageOf } from '../../kernel';
import type { StreamSink } from '../reply/stream-sink';
import type { AnswerContext } from './answer-context';
import type { Answered } from './answered';
import type { Attempts } from './attempt';
import { Delivered } from './stream/delivered';
import type { LaneStream, StreamDelivery } from './stream/lane-stream';
import { SplicedStream } from './stream/spliced-stream';
import type { TextSurface } from './surface';

export interface Relayed {
  readonly delivery: StreamDelivery;
  /** The lane that answered in the end. */
  readonly answered: Answered;
}

/**
 * Passes a stream on as it comes. What would tell the caller "done" is held back until the account is on record. A
 * stream that breaks off goes on from another lane if that one says the same up to there; if not, the caller is told
 * that it broke.
 */
export async function relayStream(
  surface: TextSurface,
  answered: Answered,
  attempts: Attempts,
  sink: StreamSink,
): Promise<Relayed> {
  const delivered = attempts.hasMore && surface.name === surface.dialect.name ? new Delivered() : null;
  const delivery = chargeable(await pipe(answered, sink, delivered), answered, attempts);
  noteEnd(attempts, answered, delivery);
  if (delivery.problem === null) return { delivery, answered };
  const continued = await continueElsewhere(surface, attempts, delivered);
  if (continued === null) return { delivery, answered };
  const rest = await pipe(continued, sink, null);
  noteEnd(attempts, continued, rest);
  return { delivery: rest, answered: continued };
}

function noteEnd(attempts: Attempts, answered: Answered, { problem }: StreamDelivery): void {
  if (problem === null) attempts.done(answered);
  else attempts.broke(answered, problem);
}

async function continueElsewhere(
  surface: TextSurface,
  attempts: Attempts,
  delivered: Delivered | null,
): Promise<Answered | null> {
  if (delivered === null || attempts.stopped || !attempts.hasMore) return null;
  const events = delivered.events(surface.dialect);
  if (events === null) return null;
  const splice = (context: AnswerContext): LaneStream => new SplicedStream(context, events);
  return attempts.answer(splice).catch(() => null);
}

/** A supplier that failed before it said anything delivered nothing; one whose caller left may have worked. */
const chargeable = (delivery: StreamDelivery, { opened }: Answered, attempts: Attempts): StreamDelivery =>
  delivery.problem === null || opened?.stream.useful === true || attempts.stopped
    ? delivery
    : { ...delivery, usage: usageOf({ calls: 0 }, 'estimated') };

function pipe(
  { exchange, opened }: Answered,
  sink: StreamSink,
  delivered: Delivered | null,
): Promise<StreamDelivery> {
  if (opened === null) throw fault('internal_error');
  const { stream, early } = opened;
  const send = (piece: Buffer | string): boolean => {
    delivered?.add(piece);
    return sink.write(piece);
  };
  return new Promise((resolve) => {
    for (const piece of early.splice(0)) send(piece);
    const finish = (): void => {
      exchange.release();
      resolve(stream.finish(null));
    };
    if (stream.ended) return finish();
    sink.onDrain(() => exchange.resume());
    exchange.read({
      data: (chunk) => {
        if (stream.failure !== null) return true;
        const passing = stream.take(chunk);
        const isTaken = passing.length === 0 || send(passing);
        if (stream.failure !== null) exchange.abort(stream.failure);
        else if (stream.ended) finish();
        return isTaken || stream.ended;
      },
      end: () => resolve(stream.finish(null)),
      broken: (cause) => resolve(stream.finish(cause)),
    });
  });
}
