import type { Escrow, Hold } from '../../billing';
import { boundOf, outputThatFits, type PriceRates, type RequestBound } from '../../kernel';
import type { Admission } from './admit';
import type { Call } from './describe';
import type { Inbound } from './inbound';

/** Money set aside for a request, and the bound on its output that makes the amount enough. */
export interface HeldCall {
  readonly hold: Hold;
  /** Set when less fits into what is left than the model could write: the supplier is told so. */
  readonly cappedOutput: number | null;
  /** The bound on each answer that was held for. */
  readonly outputBound: number;
}

/** What a model may write when the catalogue does not say. */
const UNKNOWN_OUTPUT_CAP = 128_000;
/** An answer of fewer tokens than this is not worth starting; the refusal says what is missing. */
const LEAST_OUTPUT = 16;

/**
 * Sets aside the most the request can cost, at the dearest price of any lane it may take. A request that names no
 * bound of its own gets the model's, or, where the supplier can be told, as much as fits into what is left. A promise
 * only where there is something to wait for.
 */
export function holdFor(
  inbound: Inbound,
  call: Call,
  admission: Admission,
  escrow: Escrow,
): HeldCall | Promise<HeldCall> {
  const prices = admission.lanes.map(({ price }) => price.rates);
  const bound: RequestBound = {
    inputTokens: call.inputBound,
    calls: call.calls,
    audioMilliseconds: call.recording?.boundMs ?? 0,
  };
  const outputTokens = call.maxOutputTokens ?? admission.model.maxOutputTokens ?? UNKNOWN_OUTPUT_CAP;
  const request = {
    requestId: inbound.requestId,
    refs: inbound.caller.limits,
    amount: boundOf({ ...bound, maxOutputTokens: outputTokens * call.choices }, prices),
  };
  const hold = escrow.tryHold(request);
  if (hold !== null) return { hold, cappedOutput: null, outputBound: outputTokens };
  if (call.maxOutputTokens === null && call.surface.untouched !== true)
    return holdWhatFits(request, bound, prices, outputTokens, call.choices, escrow);
  return escrow
    .hold(request)
    .then((later) => ({ hold: later, cappedOutput: null, outputBound: outputTokens }));
}

async function holdWhatFits(
  request: Parameters<Escrow['hold']>[0],
  bound: RequestBound,
  prices: readonly PriceRates[],
  outputCap: number,
  choices: number,
  escrow: Escrow,
): Promise<HeldCall> {
  const headroom = await escrow.headroom(request.refs);
  const fitting = outputThatFits(headroom, bound, prices) ?? 0;
  const perChoice = Math.max(LEAST_OUTPUT, Math.min(outputCap, Math.floor(fitting / choices)));
  const amount = boundOf({ ...bound, maxOutputTokens: perChoice * choices }, prices);
  const hold = await escrow.hold({ ...request, amount });
  return { hold, cappedOutput: perChoice < outputCap ? perChoice : null, outputBound: perChoice };
}
