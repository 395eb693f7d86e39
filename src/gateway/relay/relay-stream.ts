import { type Fault, fault, usageOf } from '../../kernel';
import { answeredName, mayContinue } from '../admission';
import type { Attempts, Delivery, LaneAnswer, LaneStream } from '../attempt';
import type { MaskedStream } from '../masks';
import type { TextOperation } from '../operations/operation';
import type { StreamSink } from '../reply/stream-sink';
import { chargedUsage } from '../settle';
import { Delivered } from './delivered';
import { echoOf } from './echo';
import { SplicedStream } from './spliced-stream';

/** Where a stream goes. */
export interface StreamEnd {
  readonly sink: StreamSink;
  /** Null where no mask applies. */
  readonly masked: MaskedStream | null;
}

/**
 * Forwards a stream. Its end is held back until the settlement is durable. A broken stream continues on another lane
 * if that answer begins with the same text; otherwise the caller gets an error. Returns the lane that answered in the
 * end.
 */
export async function relayStream(
  operation: TextOperation,
  answer: LaneAnswer,
  attempts: Attempts,
  end: StreamEnd,
): Promise<{ readonly delivery: Delivery; readonly answer: LaneAnswer }> {
  const isKept = operation.name === operation.dialect.name && attempts.hasMore && mayContinue(answer.routed);
  const delivered = isKept ? new Delivered() : null;
  const { masked } = end;
  const delivery = chargeable(await pipe(answer, end, delivered), answer, attempts);
  if (masked !== null && masked.failure !== null) {
    // The lane did nothing wrong, and another would fare no better.
    attempts.done(answer);
    answer.span?.ended(delivery);
    return ending(answer, delivery, end);
  }
  noteEnd(attempts, answer, delivery);
  if (delivery.problem === null) return ending(answer, delivery, end);
  const continued = await continueElsewhere(operation, attempts, delivered);
  if (continued === null) return ending(answer, delivery, end);
  const rest = await pipe(continued, end, null);
  noteEnd(attempts, continued, rest);
  return ending(continued, rest, end);
}

interface Ending {
  readonly delivery: Delivery;
  readonly answer: LaneAnswer;
}

/** The last bytes as the caller may see them. */
function ending(answer: LaneAnswer, delivery: Delivery, { masked }: StreamEnd): Ending {
  if (masked === null) return { delivery, answer };
  const shown = masked.take(delivery.body);
  if (masked.failure === null) return { delivery: { ...delivery, body: shown }, answer };
  const body = shown.toString() + maskedFailure(masked, answer, masked.failure);
  return { delivery: { ...delivery, problem: masked.failure, body }, answer };
}

/** It repeats nothing of the answer. */
export function maskedFailure(
  masked: MaskedStream,
  { routed, route: { lane } }: LaneAnswer,
  problem: Fault,
): string {
  const { call } = routed;
  const model = answeredName(routed) ?? lane.upstreamModel;
  return masked.failureEvent(problem, call.inbound.requestId, model, echoOf(call));
}

function noteEnd(attempts: Attempts, answer: LaneAnswer, delivery: Delivery): void {
  const { problem } = delivery;
  answer.span?.ended(delivery);
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
  const { stream, outbound } = answer;
  if (delivery.problem === null || stream?.useful === true || attempts.stopped) return delivery;
  return { ...delivery, usage: chargedUsage(usageOf({ calls: 0 }, 'estimated'), answer, outbound) };
}

function pipe(
  { exchange, stream, early, span }: LaneAnswer,
  { sink, masked }: StreamEnd,
  delivered: Delivered | null,
): Promise<Delivery> {
  if (stream === null) throw fault('internal_error');
  const send = (piece: Buffer | string): boolean => {
    delivered?.add(piece);
    const shown = masked === null ? piece : masked.take(piece);
    return shown.length === 0 || sink.write(shown);
  };
  return new Promise((resolve) => {
    const giveUp = (problem: Fault): void => {
      exchange.abort(problem);
      resolve(stream.finish(problem));
    };
    for (const piece of early.splice(0)) send(piece);
    if (masked !== null && masked.failure !== null) return giveUp(masked.failure);
    const finish = (): void => {
      exchange.release();
      resolve(stream.finish(null));
    };
    if (stream.ended) return finish();
    sink.onDrain(() => exchange.resume());
    exchange.read({
      data: (chunk) => {
        if (stream.failure !== null) return true;
        span?.chunk();
        const passing = stream.take(chunk);
        const isTaken = passing.length === 0 || send(passing);
        if (masked !== null && masked.failure !== null) giveUp(masked.failure);
        else if (stream.failure !== null) exchange.abort(stream.failure);
        else if (stream.ended) finish();
        return isTaken || stream.ended;
      },
      end: () => resolve(stream.finish(null)),
      broken: (cause) => resolve(stream.finish(cause)),
    });
  });
}
