import type { Escrow, Hold, HoldRequest } from '../../billing';
import { boundOf, type Nano, outputThatFits, type PriceRates, type RequestBound } from '../../kernel';
import type { SupplierStyles } from '../../routing';
import type { Admission } from './admit';
import type { Call } from './describe';
import type { Inbound } from './inbound';
import { inputBoundOf } from './input-size';
import { isSpoken } from './surface';

/** Money set aside for a request, and the bound on its output that makes the amount enough. */
export interface HeldCall {
  readonly hold: Hold;
  /** Set when less fits into what is left than the model could write: the supplier is told so. */
  readonly cappedOutput: number | null;
  /** The bound on each answer that was held for. */
  readonly outputBound: number;
  /** The most input that was held for, on any lane. */
  readonly inputBound: number;
  /** Every token that was held for, read or written. */
  readonly tokens: number;
}

export interface HoldTools {
  readonly escrow: Escrow;
  readonly styles: SupplierStyles;
  /** An answer of fewer tokens than this is not worth starting; the refusal says what is missing. */
  readonly leastOutput: number;
}

/** What a model may write when the catalogue does not say. */
const UNKNOWN_OUTPUT_CAP = 128_000;

/** Lanes on which a request can cost the same number of tokens, and their prices. */
interface Offer {
  readonly bound: RequestBound;
  readonly prices: readonly PriceRates[];
}

/**
 * Sets aside the most the request can cost, at the dearest price of any lane it may take. A request that names no
 * bound of its own gets the model's, or, where the supplier can be told, as much as fits into what is left. A promise
 * only where there is something to wait for.
 */
export function holdFor(
  inbound: Inbound,
  call: Call,
  admission: Admission,
  tools: HoldTools,
): HeldCall | Promise<HeldCall> {
  const { escrow } = tools;
  const offers = offersFor(call, admission, tools.styles);
  const inputBound = offers.reduce((most, { bound }) => Math.max(most, bound.inputTokens), 0);
  const outputBound = call.maxOutputTokens ?? admission.model.maxOutputTokens ?? UNKNOWN_OUTPUT_CAP;
  const request: HoldRequest = {
    requestId: inbound.requestId,
    refs: inbound.caller.limits,
    amount: amountOf(offers, writtenWithin(call, outputBound)),
  };
  const held = (hold: Hold, perAnswer = outputBound): HeldCall => ({
    hold,
    cappedOutput: perAnswer < outputBound ? perAnswer : null,
    outputBound: perAnswer,
    inputBound,
    tokens: inputBound + writtenWithin(call, perAnswer),
  });
  const hold = escrow.tryHold(request);
  if (hold !== null) return held(hold);
  if (call.maxOutputTokens === null && call.surface.untouched !== true)
    return holdWhatFits(call, request, offers, outputBound, tools).then(([less, perAnswer]) =>
      held(less, perAnswer),
    );
  return escrow.hold(request).then((late) => held(late));
}

/** Everything that can be charged as output: the answers, and what was predicted of them and did not come true. */
const writtenWithin = (call: Call, perAnswer: number): number =>
  (perAnswer + predictedIn(call)) * call.choices;
const predictedIn = ({ measure }: Call): number => measure?.predictedTokens ?? 0;

/** With the bound on each answer that it is enough for. */
async function holdWhatFits(
  call: Call,
  request: HoldRequest,
  offers: readonly Offer[],
  outputCap: number,
  { escrow, leastOutput }: HoldTools,
): Promise<[Hold, number]> {
  const headroom = await escrow.headroom(request.refs);
  const fitting = offers.reduce(
    (least, { bound, prices }) => Math.min(least, outputThatFits(headroom, bound, prices) ?? 0),
    Infinity,
  );
  const each = Math.floor(fitting / call.choices) - predictedIn(call);
  const perAnswer = Math.min(outputCap, Math.max(leastOutput, each));
  const hold = await escrow.hold({ ...request, amount: amountOf(offers, writtenWithin(call, perAnswer)) });
  return [hold, perAnswer];
}

const amountOf = (offers: readonly Offer[], maxOutputTokens: number): Nano =>
  offers.reduce((dearest, { bound, prices }) => {
    const amount = boundOf({ ...bound, maxOutputTokens }, prices);
    return amount > dearest ? amount : dearest;
  }, 0n);

/** Suppliers differ in what they bill for pictures; where there is nothing of the kind, one bound is everybody's. */
function offersFor(call: Call, { lanes, model }: Admission, styles: SupplierStyles): readonly Offer[] {
  const offers = new Map<number, { bound: RequestBound; prices: PriceRates[] }>();
  for (const { lane, price } of lanes) {
    const inputTokens = inputBoundOf(call, model, {
      ruleOf: () => styles.picturesFor(lane),
      runsTools: isSpoken(call.surface, styles.dialectFor(lane.provider, call.surface.name)),
    });
    const known = offers.get(inputTokens);
    if (known !== undefined) known.prices.push(price.rates);
    else offers.set(inputTokens, { bound: boundFor(call, inputTokens), prices: [price.rates] });
  }
  return [...offers.values()];
}

const boundFor = ({ calls, recording, speech, fees }: Call, inputTokens: number): RequestBound => ({
  inputTokens,
  calls,
  audioMilliseconds: (recording ?? speech)?.boundMs ?? 0,
  fees,
});
