import { Injectable } from '@nestjs/common';
import { Escrow, type Hold, type HoldRequest, type LimitRef } from '../../billing';
import type { LaneView } from '../../catalogue';
import {
  boundOf,
  type Nano,
  outputThatFits,
  type PartBound,
  type PriceRates,
  type RequestBound,
} from '../../kernel';
import { Settings } from '../../platform';
import { SupplierStyles } from '../../routing';
import { adviceBounds, type Call, NOTHING_UNKNOWN } from '../intake';
import { isSpoken } from '../operations/operation';
import type { Admission } from './admission';
import { inputBoundOf } from './input-bound';
import { thinkingBoundOf } from './thinking-bound';

/** The hold is money set aside for a request, with the bound on its output that makes the amount enough. */
export interface HeldCall {
  readonly hold: Hold;
  /** It is set when the balance covers less than the model's limit: the supplier gets this lower limit. */
  readonly cappedOutput: number | null;
  /** The bound on each answer that was held for. */
  readonly outputBound: number;
  /** The most input that was held for, on any lane. */
  readonly inputBound: number;
  /** Every token that was held for, read or written. */
  readonly tokens: number;
  /** Suppliers that check their input get fields that the gateway does not know. */
  readonly forwardsUnknown: boolean;
}

/** The output limit where neither the catalogue nor the vendor says one. */
const UNKNOWN_OUTPUT_CAP = 128_000;

/** The prices of the lanes on which a request can have so many input tokens. */
type PricesByInput = ReadonlyMap<number, readonly PriceRates[]>;

/** Sets money aside before a supplier is asked. */
@Injectable()
export class Holds {
  constructor(
    private readonly escrow: Escrow,
    private readonly styles: SupplierStyles,
    private readonly settings: Settings,
  ) {}

  /**
   * Holds the most that the request can cost, at the dearest price of its lanes. Without a bound of its own, a
   * request gets the model's, or, where the supplier accepts a limit, as much as the balance covers. It returns a
   * promise only when it has to wait.
   */
  hold(call: Call, admission: Admission): HeldCall | Promise<HeldCall> {
    if (call.unknown === NOTHING_UNKNOWN) return this.place(call, admission);
    const { unknownFields } = call.inbound.caller;
    const mode = unknownFields ?? this.settings.unknownFields;
    if (mode === 'drop') return this.place(call, admission);
    if (mode === 'forward') return this.place({ ...call, isUnbounded: true }, admission);
    return this.escrow
      .isUnlimited(limitsOf(call, admission))
      .then((isUnlimited) => this.place(isUnlimited ? { ...call, isUnbounded: true } : call, admission));
  }

  private place(asked: Call, admission: Admission): HeldCall | Promise<HeldCall> {
    const call = this.withThinking(asked, admission);
    const { requestId } = call.inbound;
    const prices = this.pricesFor(call, admission);
    const inputBound = Math.max(0, ...prices.keys());
    const outputBound = this.outputBoundOf(call, admission);
    const amount = amountOf(call, prices, writtenWithin(call, outputBound));
    const request: HoldRequest = { requestId, refs: limitsOf(call, admission), amount };
    const held = (hold: Hold, perAnswer = outputBound): HeldCall => ({
      hold,
      cappedOutput: perAnswer < outputBound ? perAnswer : null,
      outputBound: perAnswer,
      inputBound,
      tokens: inputBound + writtenWithin(call, perAnswer),
      forwardsUnknown: call.isUnbounded,
    });
    const hold = this.escrow.tryHold(request);
    if (hold !== null) return held(hold);
    if (call.maxOutputTokens === null && call.operation.untouched !== true)
      return this.holdWhatFits(call, request, prices, outputBound).then(([less, perAnswer]) =>
        held(less, perAnswer),
      );
    return this.escrow.hold(request).then((late) => held(late));
  }

  /**
   * The caller cannot pay for these of several models, even with the shortest answer. It queries only near a
   * budget's end.
   */
  async unaffordable(call: Call, admissions: readonly Admission[]): Promise<ReadonlySet<Admission>> {
    const { requestId } = call.inbound;
    const most = (admission: Admission, outputBound: number): Nano =>
      amountOf(
        call,
        this.pricesFor(call, admission),
        writtenWithin(this.withThinking(call, admission), outputBound),
      );
    const doubtful = admissions.filter((each) => {
      const amount = most(each, this.outputBoundOf(call, each));
      const trial = this.escrow.tryHold({ requestId, refs: limitsOf(call, each), amount });
      trial?.release();
      return trial === null;
    });
    const least = call.maxOutputTokens ?? this.settings.budgetMinOutput;
    const left = await Promise.all(doubtful.map((each) => this.escrow.headroom(limitsOf(call, each))));
    return new Set(doubtful.filter((each, place) => most(each, least) > (left[place] ?? 0n)));
  }

  private withThinking(call: Call, admission: Admission): Call {
    const tokens = thinkingBoundOf(call, admission, this.styles);
    return tokens === 0 ? call : { ...call, writtenBeside: call.writtenBeside + tokens };
  }

  /** The caller's bound or the model's, and no more than one of the lanes writes. */
  private outputBoundOf(call: Call, { model, lanes }: Admission): number {
    const most = Math.max(0, ...lanes.map(({ lane }) => this.mostWritten(call, lane)));
    const asked = (call.isUnbounded ? null : call.maxOutputTokens) ?? model.maxOutputTokens;
    return Math.min(asked ?? (most === Infinity ? UNKNOWN_OUTPUT_CAP : most), most);
  }

  /** A limit in the supplier's own dialect goes on as it is, so it is held for as it is. */
  private mostWritten({ operation, needs, maxOutputTokens, isUnbounded }: Call, lane: LaneView): number {
    const isForwarded =
      maxOutputTokens !== null &&
      !isUnbounded &&
      isSpoken(operation, this.styles.wireFor(lane, operation.name, needs));
    return isForwarded ? Infinity : (lane.facts.maxOutput ?? Infinity);
  }

  /** It gives the bound on each answer that it is enough for; what is left counts when the request's turn comes. */
  private async holdWhatFits(
    call: Call,
    request: HoldRequest,
    prices: PricesByInput,
    outputCap: number,
  ): Promise<[Hold, number]> {
    // A shorter answer is not worth starting; the refusal says how much is missing.
    const shortest = Math.min(outputCap, this.settings.budgetMinOutput);
    const least = amountOf(call, prices, writtenWithin(call, shortest));
    const hold = await this.escrow.hold({ ...request, least });
    let fitting = Infinity;
    for (const [inputTokens, rates] of prices)
      fitting = Math.min(
        fitting,
        outputThatFits(hold.amount, boundFor(call, inputTokens), rates, call.inbound.priceFactor) ?? 0,
      );
    const each = Math.floor(fitting / call.choices) - call.writtenBeside;
    return [hold, Math.min(outputCap, Math.max(shortest, each))];
  }

  /** Suppliers differ in what they bill for pictures; without any, all lanes have one bound. */
  private pricesFor(call: Call, { lanes, model }: Admission): PricesByInput {
    const { styles } = this;
    const prices = new Map<number, PriceRates[]>();
    for (const { lane, price } of lanes) {
      const runsTools = isSpoken(call.operation, styles.wireFor(lane, call.operation.name, call.needs));
      const inputTokens = inputBoundOf(call, model, lane, () => styles.picturesFor(lane), runsTools);
      const known = prices.get(inputTokens);
      if (known === undefined) prices.set(inputTokens, [price.rates]);
      else known.push(price.rates);
    }
    return prices;
  }
}

/** Those of the key, and of this model at this key where it has a budget of its own. */
const limitsOf = ({ inbound: { caller } }: Call, { model }: Admission): readonly LimitRef[] =>
  caller.modelLimits === null ? caller.limits : (caller.modelLimits.get(model.name) ?? caller.limits);

/** Everything that can be billed as output: answers, thinking beside them, and rejected predicted tokens. */
const writtenWithin = (call: Call, perAnswer: number): number =>
  (perAnswer + call.writtenBeside) * call.choices;

function amountOf(call: Call, prices: PricesByInput, maxOutputTokens: number): Nano {
  let dearest: Nano = 0n;
  for (const [inputTokens, rates] of prices) {
    const amount = boundOf(
      { ...boundFor(call, inputTokens), maxOutputTokens },
      rates,
      call.inbound.priceFactor,
    );
    if (amount > dearest) dearest = amount;
  }
  return dearest;
}

function boundFor(call: Call, inputTokens: number): RequestBound {
  const { calls, recording, speech, fees } = call;
  const audioMilliseconds = (recording ?? speech)?.boundMs ?? 0;
  return { inputTokens, calls, audioMilliseconds, fees, parts: partsFor(call, inputTokens) };
}

/** A summary is no longer than this, whatever it sums up. */
const LONGEST_SUMMARY = 128_000;
const NO_PARTS: readonly PartBound[] = [];

/** A supplier reads and writes these parts beside the answer: once before it, and after each use of a server tool. */
function partsFor(
  { measure, serverTools, maxOutputTokens }: Call,
  inputTokens: number,
): readonly PartBound[] {
  if (measure === null || (!measure.compacts && measure.advisors.length === 0)) return NO_PARTS;
  // All reading of several rounds is in the bound; no round reads more than its share of the dearest.
  const read = Math.ceil(inputTokens / Math.max(1, serverTools.uses));
  // An advisor reads what was written so far as well.
  const advice = adviceBounds(measure, serverTools, read + (maxOutputTokens ?? LONGEST_SUMMARY));
  if (!measure.compacts) return advice;
  const outputTokens = Math.min(read, LONGEST_SUMMARY);
  return [...advice, { model: null, times: 1 + serverTools.uses, inputTokens: read, outputTokens }];
}
