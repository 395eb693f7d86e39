import { fault, usageOf } from '../../kernel';
import { mayContinue } from '../admission';
import type { Attempts, Delivery, LaneAnswer, LaneStream } from '../attempt';
import type { TextOperation } from '../operations/operation';
import type { StreamSink } from '../reply/stream-sink';
import { chargedUsage } from '../settle';
import { Delivered } from './delivered';
import { SplicedStream } from './spliced-stream';

/**
 * Forwards a stream. Its end is held back until the settlement is durable. A broken stream continues on another lane
 * if that answer begins with the same text; otherwise the caller gets an error. Returns the lane that answered in the
 * end.
 */
export async function relayStream(
  operation: TextOperation,
  answer: LaneAnswer,
  attempts: Attempts,
  sink: StreamSink,
): Promise<{ readonly delivery: Delivery; readonly answer: LaneAnswer }> {
  const isKept = operation.name === operation.dialect.name && attempts.hasMore && mayContinue(answer.routed);
  const delivered = isKept ? new Delivered() : null;
  const delivery = chargeable(await pipe(answer, sink, delivered), answer, attempts);
  noteEnd(attempts, answer, delivery);
  if (delivery.problem === null) return { delivery, answer };
  const continued = await continueElsewhere(operation, attempts, delivered);
  if (continued === null) return { delivery, answer };
  const rest = await pipe(continued, sink, null);
  noteEnd(attempts, continued, rest);
  return { delivery: rest, answer: continued };
}

function noteEnd(attempts: Attempts, answer: LaneAnswer, { problem }: Delivery): void {
  if (problem === null) attempts.done(answer);
  else attempts.broke(answer, problem);
}

async function continueElsewhere(
  operation: TextOperation,
  attempts: Attempts,
  delivered: Delivered | null,
): Promise<LaneAnswer | null> {
  if (delivered === null || attempts.stopped || !attempts.hasMore) return null;
  const events = delivered.events(operation.dialect);
  if (events === null) return null;
  const splice = (answer: LaneAnswer): LaneStream => new SplicedStream(answer, events);
  return attempts.answer(splice).catch(() => null);
}

/** A supplier that failed before any output delivered nothing; one whose caller left may have worked. */
function chargeable(delivery: Delivery, answer: LaneAnswer, attempts: Attempts): Delivery {
  const { stream, routed, outbound } = answer;
  if (delivery.problem === null || stream?.useful === true || attempts.stopped) return delivery;
  return { ...delivery, usage: chargedUsage(usageOf({ calls: 0 }, 'estimated'), routed.call, outbound) };
}

function pipe(
  { exchange, stream, early }: LaneAnswer,
  sink: StreamSink,
  delivered: Delivered | null,
): Promise<Delivery> {
  if (stream === null) throw fault('internal_error');
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
