import { Injectable } from '@nestjs/common';
import type { Gate } from '#extension';
import type { GateRecord, GateStage } from '../../audit';
import { Extensions } from '../../extensions';
import { type Fault, fault, type MaybePromise, monotonicMs, thrownMessage, withDeadline } from '../../kernel';
import { type Distribution, Logger, Metrics, type Sum } from '../../platform';
import { HttpGates } from './http-gates';

export class GateHook {
  private readonly counts = new Map<string, Sum>();
  private readonly durations: Distribution;

  constructor(
    readonly name: string,
    readonly stage: GateStage,
    readonly gate: Gate,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
  ) {
    this.durations = metrics.gateDuration.at({ gate: name, stage });
  }

  /**
   * Calls the gate and parses its verdict; returns a promise only if either is asynchronous. On failure, returns
   * `fallback` if the gate fails open, and throws if it fails closed.
   */
  run<Verdict extends { readonly verdict: string }>(
    call: (signal: AbortSignal) => unknown,
    parse: (response: unknown) => MaybePromise<Verdict>,
    fallback: Verdict,
    records: GateRecord[] | null,
  ): MaybePromise<Verdict> {
    const startedMs = monotonicMs();
    const control = new AbortController();
    try {
      const response = call(control.signal);
      this.verifyInTime(startedMs, response, control);
      const verdict = isPromise(response) ? this.awaitInTime(response, control).then(parse) : parse(response);
      if (!(verdict instanceof Promise)) return this.recordVerdict(verdict, startedMs, records);
      return verdict.then(
        (lateVerdict) => this.recordVerdict(lateVerdict, startedMs, records),
        (error: unknown) => this.handleFailure(error, fallback, startedMs, records),
      );
    } catch (error) {
      return this.handleFailure(error, fallback, startedMs, records);
    }
  }

  countSkipped(): void {
    this.count('skipped');
  }

  /** Fails a gate that blocked the process past its deadline, so that no timer could fire. */
  private verifyInTime(startedMs: number, response: unknown, control: AbortController): void {
    const { timeoutMs } = this.gate;
    if (monotonicMs() - startedMs <= timeoutMs) return;
    const late = new GateLate(timeoutMs);
    control.abort(late);
    // The promise is no longer awaited, so its rejection must not end the process.
    if (isPromise(response)) Promise.resolve(response).catch(() => undefined);
    throw late;
  }

  private awaitInTime(response: PromiseLike<unknown>, control: AbortController): Promise<unknown> {
    const { timeoutMs } = this.gate;
    return withDeadline(timeoutMs, Promise.resolve(response), () => {
      const late = new GateLate(timeoutMs);
      control.abort(late);
      return late;
    });
  }

  private recordVerdict<Verdict extends { readonly verdict: string }>(
    verdict: Verdict,
    startedMs: number,
    records: GateRecord[] | null,
  ): Verdict {
    this.record(verdict.verdict, startedMs, records);
    return verdict;
  }

  private record(verdict: string, startedMs: number, records: GateRecord[] | null): void {
    const milliseconds = monotonicMs() - startedMs;
    this.count(verdict);
    this.durations.add(milliseconds / 1_000);
    records?.push({
      name: this.name,
      stage: this.stage,
      verdict,
      ms: Math.round(milliseconds * 1_000) / 1_000,
    });
  }

  private count(verdict: string): void {
    let count = this.counts.get(verdict);
    if (count === undefined) {
      count = this.metrics.gateVerdicts.at({ gate: this.name, stage: this.stage, verdict });
      this.counts.set(verdict, count);
    }
    count.value += 1;
  }

  private handleFailure<Verdict>(
    error: unknown,
    fallback: Verdict,
    startedMs: number,
    records: GateRecord[] | null,
  ): Verdict {
    const { name, stage, gate } = this;
    const reason = error instanceof GateLate ? 'late' : 'failed';
    this.record(reason, startedMs, records);
    this.logger.warn('a gate failed', {
      gate: name,
      stage,
      on_error: gate.onError,
      error: error instanceof Error ? error : new Error(thrownMessage(error)),
    });
    if (gate.onError === 'open') return fallback;
    throw closedFault(name, stage, reason);
  }
}

class GateLate extends Error {
  constructor(milliseconds: number) {
    super(`no verdict within ${milliseconds} ms`);
    this.name = 'GateLate';
  }
}

const closedFault = (gate: string, stage: GateStage, reason: 'late' | 'failed'): Fault =>
  fault('service_unavailable', {
    message: `The gate ${gate}, which every request has to pass, gave no verdict. Try again shortly.`,
    details: { gate, stage, reason },
  });

const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';

/** All gates of the installation: first those of extensions in order, then HTTP gates. */
@Injectable()
export class Gates {
  /** Null for a stage without gates. */
  readonly request: readonly GateHook[] | null;
  readonly candidates: readonly GateHook[] | null;
  readonly settled: readonly GateHook[] | null;
  private readonly isTraced: boolean;

  constructor(
    extensions: Extensions,
    http: HttpGates,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
  ) {
    const all = [
      ...extensions.gates.map(({ name, part }) => ({ name, gate: part })),
      ...http.all.map((gate) => ({ name: `http/${gate.name}`, gate })),
    ];
    this.isTraced = all.length > 0;
    this.request = this.hooksAt('request', all);
    this.candidates = this.hooksAt('candidates', all);
    this.settled = this.hooksAt('settled', all);
  }

  createTrace(): GateRecord[] | null {
    return this.isTraced ? [] : null;
  }

  private hooksAt(
    stage: 'request' | 'candidates' | 'settled',
    all: readonly { readonly name: string; readonly gate: Gate }[],
  ): readonly GateHook[] | null {
    const stageGates = all.filter(({ gate }) => gate[stage] !== undefined);
    if (stageGates.length === 0) return null;
    return stageGates.map(({ name, gate }) => new GateHook(name, stage, gate, this.metrics, this.logger));
  }
}
