import { type Fault, fault, usageOf } from '../../kernel';
import { responseModelName, canContinueStream } from '../admission';
import type { Attempts, Delivery, LaneResponse, LaneStream } from '../attempt';
import type { MaskedStream } from '../masks';
import type { TextOperation } from '../operations/operation';
import type { StreamSink } from '../reply/stream-sink';
import { chargedUsage } from '../settle';
import { DeliveredText } from './delivered-text';
import { echoOf } from './echo';
import { SplicedStream } from './spliced-stream';

export interface StreamTarget {
  readonly sink: StreamSink;
  readonly masked: MaskedStream | null;
}

/**
 * Forwards a stream and holds back its end until the settlement is durable. Continues a broken stream on another lane
 * if its response starts with the same text, and returns the last lane.
 */
export async function relayStream(
  operation: TextOperation,
  answer: LaneResponse,
  attempts: Attempts,
  target: StreamTarget,
): Promise<{ readonly delivery: Delivery; readonly answer: LaneResponse }> {
  const canContinue =
    operation.name === operation.dialect.name && attempts.hasMore && canContinueStream(answer.routed);
  const delivered = canContinue ? new DeliveredText() : null;
  const { masked } = target;
  const delivery = chargeableDelivery(await pipe(answer, target, delivered), answer, attempts);
  if (masked !== null && masked.failure !== null) {
    // The lane did nothing wrong, and another would fail the same way.
    attempts.complete(answer);
    answer.span?.end(delivery);
    return maskEnding(answer, delivery, target);
  }
  recordEnd(attempts, answer, delivery);
  if (delivery.problem === null) return maskEnding(answer, delivery, target);
  const continued = await continueElsewhere(operation, attempts, delivered);
  if (continued === null) return maskEnding(answer, delivery, target);
  const rest = await pipe(continued, target, null);
  recordEnd(attempts, continued, rest);
  return maskEnding(continued, rest, target);
}

interface StreamEnding {
  readonly delivery: Delivery;
  readonly answer: LaneResponse;
}

function maskEnding(answer: LaneResponse, delivery: Delivery, { masked }: StreamTarget): StreamEnding {
  if (masked === null) return { delivery, answer };
  const maskedBody = masked.take(delivery.body);
  if (masked.failure === null) return { delivery: { ...delivery, body: maskedBody }, answer };
  const body = maskedBody.toString() + maskedFailure(masked, answer, masked.failure);
  return { delivery: { ...delivery, problem: masked.failure, body }, answer };
}

export function maskedFailure(
  masked: MaskedStream,
  { routed, route: { lane } }: LaneResponse,
  problem: Fault,
): string {
  const { call } = routed;
  const model = responseModelName(routed) ?? lane.upstreamModel;
  return masked.failureEvent(problem, call.inbound.requestId, model, echoOf(call));
}

function recordEnd(attempts: Attempts, answer: LaneResponse, delivery: Delivery): void {
  const { problem } = delivery;
  answer.span?.end(delivery);
  if (problem === null) attempts.complete(answer);
  else attempts.fail(answer, problem);
}

async function continueElsewhere(
  operation: TextOperation,
  attempts: Attempts,
  delivered: DeliveredText | null,
): Promise<LaneResponse | null> {
  if (delivered === null || attempts.stopped || !attempts.hasMore) return null;
  const events = delivered.events(operation.dialect);
  if (events === null) return null;
  const splice = (answer: LaneResponse): LaneStream => new SplicedStream(answer, events);
  return attempts.run(splice).catch(() => null);
}

/**
 * A supplier that failed before any output charges nothing, unless the caller left, when it could have been working.
 */
function chargeableDelivery(delivery: Delivery, answer: LaneResponse, attempts: Attempts): Delivery {
  const { stream, outbound } = answer;
  if (delivery.problem === null || stream?.useful === true || attempts.stopped) return delivery;
  return { ...delivery, usage: chargedUsage(usageOf({ calls: 0 }, 'estimated'), answer, outbound) };
}

function pipe(
  { exchange, stream, early, span }: LaneResponse,
  { sink, masked }: StreamTarget,
  delivered: DeliveredText | null,
): Promise<Delivery> {
  if (stream === null) throw fault('internal_error');
  const send = (piece: Buffer | string): boolean => {
    delivered?.add(piece);
    const visible = masked === null ? piece : masked.take(piece);
    return visible.length === 0 || sink.write(visible);
  };
  return new Promise((resolve) => {
    const abort = (problem: Fault): void => {
      exchange.abort(problem);
      resolve(stream.finish(problem));
    };
    for (const piece of early.splice(0)) send(piece);
    if (masked !== null && masked.failure !== null) return abort(masked.failure);
    const finish = (): void => {
      exchange.release();
      resolve(stream.finish(null));
    };
    if (stream.ended) return finish();
    sink.onDrain(() => exchange.resume());
    exchange.attachReader({
      data: (chunk) => {
        if (stream.failure !== null) return true;
        span?.countChunk();
        const forwarded = stream.take(chunk);
        const canTakeMore = forwarded.length === 0 || send(forwarded);
        if (masked !== null && masked.failure !== null) abort(masked.failure);
        else if (stream.failure !== null) exchange.abort(stream.failure);
        else if (stream.ended) finish();
        return canTakeMore || stream.ended;
      },
      end: () => resolve(stream.finish(null)),
      broken: (cause) => resolve(stream.finish(cause)),
    });
  });
}
