import { Injectable } from '@nestjs/common';
import { Escrow, type Hold, type HoldRequest, type LimitRef } from '../../billing';
import type { LaneView } from '../../catalogue';
import {
  maxAffordableOutput,
  maxCostOf,
  type MaybePromise,
  type Nano,
  type PartBound,
  type PriceRates,
  type RequestBound,
} from '../../kernel';
import { Settings } from '../../platform';
import { SupplierStyles } from '../../routing';
import { adviceBounds, type GatewayCall, NOTHING_UNKNOWN } from '../intake';
import { isPassThrough } from '../operations/operation';
import type { Admission } from './admission';
import { inputBoundOf } from './input-bound';
import { thinkingBoundOf } from './thinking-bound';

export interface HeldCall {
  readonly hold: Hold;
  /** Set if the balance covers less than the model's limit: the supplier gets this lower limit. */
  readonly cappedOutput: number | null;
  readonly outputBound: number;
  readonly inputBound: number;
  readonly tokens: number;
  /** Fields unknown to the gateway are forwarded to suppliers that validate their input. */
  readonly forwardsUnknown: boolean;
}

/** Output limit if neither the catalogue nor the model vendor states one. */
const UNKNOWN_OUTPUT_CAP = 128_000;

type PricesByInput = ReadonlyMap<number, readonly PriceRates[]>;

@Injectable()
export class Holds {
  constructor(
    private readonly escrow: Escrow,
    private readonly styles: SupplierStyles,
    private readonly settings: Settings,
  ) {}

  /**
   * Holds the maximum cost of the request, at the price of its dearest lane. A request without a limit gets the
   * model's, or what the balance covers if the supplier accepts a limit.
   */
  hold(call: GatewayCall, admission: Admission): MaybePromise<HeldCall> {
    if (call.unknown === NOTHING_UNKNOWN) return this.placeHold(call, admission);
    const { unknownFields } = call.inbound.caller;
    const mode = unknownFields ?? this.settings.unknownFields;
    if (mode === 'drop') return this.placeHold(call, admission);
    if (mode === 'forward') return this.placeHold({ ...call, isUnbounded: true }, admission);
    return this.escrow
      .isUnlimited(limitsOf(call, admission))
      .then((isUnlimited) => this.placeHold(isUnlimited ? { ...call, isUnbounded: true } : call, admission));
  }

  private placeHold(requestedCall: GatewayCall, admission: Admission): MaybePromise<HeldCall> {
    const call = this.withThinking(requestedCall, admission);
    const { requestId } = call.inbound;
    const prices = this.pricesFor(call, admission);
    const inputBound = Math.max(0, ...prices.keys());
    const outputBound = this.outputBoundOf(call, admission);
    const amount = maxAmount(call, prices, totalOutput(call, outputBound));
    const request: HoldRequest = { requestId, refs: limitsOf(call, admission), amount };
    const heldCall = (hold: Hold, perChoice = outputBound): HeldCall => ({
      hold,
      cappedOutput: perChoice < outputBound ? perChoice : null,
      outputBound: perChoice,
      inputBound,
      tokens: inputBound + totalOutput(call, perChoice),
      forwardsUnknown: call.isUnbounded,
    });
    const hold = this.escrow.tryHold(request);
    if (hold !== null) return heldCall(hold);
    if (call.maxOutputTokens === null && call.operation.untouched !== true)
      return this.holdWithinBalance(call, request, prices, outputBound).then(([reducedHold, perChoice]) =>
        heldCall(reducedHold, perChoice),
      );
    return this.escrow.hold(request).then((grantedHold) => heldCall(grantedHold));
  }

  /**
   * Returns the admissions that the caller cannot pay for, even with the shortest output. Queries the database only
   * near the end of a budget.
   */
  async findUnaffordable(
    call: GatewayCall,
    admissions: readonly Admission[],
  ): Promise<ReadonlySet<Admission>> {
    const { requestId } = call.inbound;
    const maxCost = (admission: Admission, outputBound: number): Nano =>
      maxAmount(
        call,
        this.pricesFor(call, admission),
        totalOutput(this.withThinking(call, admission), outputBound),
      );
    const doubtful = admissions.filter((each) => {
      const amount = maxCost(each, this.outputBoundOf(call, each));
      const trial = this.escrow.tryHold({ requestId, refs: limitsOf(call, each), amount });
      trial?.release();
      return trial === null;
    });
    const minOutput = call.maxOutputTokens ?? this.settings.budgetMinOutput;
    const headrooms = await Promise.all(doubtful.map((each) => this.escrow.headroom(limitsOf(call, each))));
    return new Set(doubtful.filter((each, index) => maxCost(each, minOutput) > (headrooms[index] ?? 0n)));
  }

  private withThinking(call: GatewayCall, admission: Admission): GatewayCall {
    const tokens = thinkingBoundOf(call, admission, this.styles);
    return tokens === 0 ? call : { ...call, extraOutputTokens: call.extraOutputTokens + tokens };
  }

  private outputBoundOf(call: GatewayCall, { model, lanes }: Admission): number {
    const maxOutput = Math.max(0, ...lanes.map(({ lane }) => this.maxOutputOn(call, lane)));
    const requestedOutput = (call.isUnbounded ? null : call.maxOutputTokens) ?? model.maxOutputTokens;
    return Math.min(requestedOutput ?? (maxOutput === Infinity ? UNKNOWN_OUTPUT_CAP : maxOutput), maxOutput);
  }

  /** A limit in the supplier's own dialect is forwarded unchanged, so the hold covers it in full. */
  private maxOutputOn(
    { operation, needs, maxOutputTokens, isUnbounded }: GatewayCall,
    lane: LaneView,
  ): number {
    const isForwarded =
      maxOutputTokens !== null &&
      !isUnbounded &&
      isPassThrough(operation, this.styles.wireFor(lane, operation.name, needs));
    return isForwarded ? Infinity : (lane.facts.maxOutput ?? Infinity);
  }

  /** Holds as much as the balance allows; returns the output limit per choice that the hold covers. */
  private async holdWithinBalance(
    call: GatewayCall,
    request: HoldRequest,
    prices: PricesByInput,
    outputCap: number,
  ): Promise<[Hold, number]> {
    // A shorter output is not worth starting; the error says how much is missing.
    const minOutput = Math.min(outputCap, this.settings.budgetMinOutput);
    const minAmount = maxAmount(call, prices, totalOutput(call, minOutput));
    const hold = await this.escrow.hold({ ...request, minAmount });
    let coveredOutput = Infinity;
    for (const [inputTokens, rates] of prices)
      coveredOutput = Math.min(
        coveredOutput,
        maxAffordableOutput(hold.amount, boundFor(call, inputTokens), rates, call.inbound.priceFactor) ?? 0,
      );
    const perChoice = Math.floor(coveredOutput / call.choices) - call.extraOutputTokens;
    return [hold, Math.min(outputCap, Math.max(minOutput, perChoice))];
  }

  /** Suppliers bill pictures differently; without pictures, all lanes share one input limit. */
  private pricesFor(call: GatewayCall, { lanes, model }: Admission): PricesByInput {
    const { styles } = this;
    const prices = new Map<number, PriceRates[]>();
    for (const { lane, price } of lanes) {
      const runsTools = isPassThrough(call.operation, styles.wireFor(lane, call.operation.name, call.needs));
      const inputTokens = inputBoundOf(call, model, lane, () => styles.picturesFor(lane), runsTools);
      const ratesForInput = prices.get(inputTokens);
      if (ratesForInput === undefined) prices.set(inputTokens, [price.rates]);
      else ratesForInput.push(price.rates);
    }
    return prices;
  }
}

/** Limits of the key, or of this model at this key if it has its own budget. */
const limitsOf = ({ inbound: { caller } }: GatewayCall, { model }: Admission): readonly LimitRef[] =>
  caller.modelLimits === null ? caller.limits : (caller.modelLimits.get(model.name) ?? caller.limits);

/** All tokens that can be billed as output: choices, extra thinking, and rejected predicted tokens. */
const totalOutput = (call: GatewayCall, perChoice: number): number =>
  (perChoice + call.extraOutputTokens) * call.choices;

function maxAmount(call: GatewayCall, prices: PricesByInput, maxOutputTokens: number): Nano {
  let highest: Nano = 0n;
  for (const [inputTokens, rates] of prices) {
    const amount = maxCostOf(
      { ...boundFor(call, inputTokens), maxOutputTokens },
      rates,
      call.inbound.priceFactor,
    );
    if (amount > highest) highest = amount;
  }
  return highest;
}

function boundFor(call: GatewayCall, inputTokens: number): RequestBound {
  const { calls, recording, speech, fees } = call;
  const audioMilliseconds = (recording ?? speech)?.boundMs ?? 0;
  return { inputTokens, calls, audioMilliseconds, fees, parts: partsFor(call, inputTokens) };
}

/** Maximum tokens of a compaction summary, whatever its input. */
const MAX_SUMMARY_TOKENS = 128_000;
const NO_PARTS: readonly PartBound[] = [];

/** Parts that a supplier bills in addition to the response: once before it, and after each use of a server tool. */
function partsFor(
  { measure, serverTools, maxOutputTokens }: GatewayCall,
  inputTokens: number,
): readonly PartBound[] {
  if (measure === null || (!measure.compacts && measure.advisors.length === 0)) return NO_PARTS;
  // The input limit covers all rounds; no round reads more than its share.
  const inputPerRound = Math.ceil(inputTokens / Math.max(1, serverTools.uses));
  // An advisor also reads the output so far.
  const advice = adviceBounds(measure, serverTools, inputPerRound + (maxOutputTokens ?? MAX_SUMMARY_TOKENS));
  if (!measure.compacts) return advice;
  const outputTokens = Math.min(inputPerRound, MAX_SUMMARY_TOKENS);
  return [...advice, { model: null, times: 1 + serverTools.uses, inputTokens: inputPerRound, outputTokens }];
}
