import { Injectable } from '@nestjs/common';
import type { Gate } from '#extension';
import type { GateRecord, GateStage } from '../../audit';
import { Extensions } from '../../extensions';
import { type Fault, fault, monotonicMs, thrownWords, withDeadline } from '../../kernel';
import { type Distribution, Logger, Metrics, type Sum } from '../../platform';
import { HttpGates } from './http-gates';

/** A gate at one stage. */
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
   * Asks the gate, and reads its answer: a promise only where one of them is. A failure counts as `passed` where the
   * gate is open, and is thrown where it is closed.
   */
  ask<Verdict extends { readonly verdict: string }>(
    call: (signal: AbortSignal) => unknown,
    read: (answer: unknown) => Verdict | Promise<Verdict>,
    passed: Verdict,
    trace: GateRecord[] | null,
  ): Verdict | Promise<Verdict> {
    const startedMs = monotonicMs();
    const control = new AbortController();
    try {
      const answer = call(control.signal);
      this.verifyInTime(startedMs, answer, control);
      const verdict = isPromise(answer) ? this.inTime(answer, control).then(read) : read(answer);
      if (!(verdict instanceof Promise)) return this.noted(verdict, startedMs, trace);
      return verdict.then(
        (late) => this.noted(late, startedMs, trace),
        (error: unknown) => this.failed(error, passed, startedMs, trace),
      );
    } catch (error) {
      return this.failed(error, passed, startedMs, trace);
    }
  }

  /** It is counted without having been asked. */
  skipped(): void {
    this.count('skipped');
  }

  /** A gate that kept the process busy past its deadline is late, although no timer could fire meanwhile. */
  private verifyInTime(startedMs: number, answer: unknown, control: AbortController): void {
    const { timeoutMs } = this.gate;
    if (monotonicMs() - startedMs <= timeoutMs) return;
    const late = new GateLate(timeoutMs);
    control.abort(late);
    // Its promise is not read any more, and must not end the process.
    if (isPromise(answer)) Promise.resolve(answer).catch(() => undefined);
    throw late;
  }

  private inTime(answer: PromiseLike<unknown>, control: AbortController): Promise<unknown> {
    const { timeoutMs } = this.gate;
    return withDeadline(timeoutMs, Promise.resolve(answer), () => {
      const late = new GateLate(timeoutMs);
      control.abort(late);
      return late;
    });
  }

  private noted<Verdict extends { readonly verdict: string }>(
    verdict: Verdict,
    startedMs: number,
    trace: GateRecord[] | null,
  ): Verdict {
    this.note(verdict.verdict, startedMs, trace);
    return verdict;
  }

  private note(verdict: string, startedMs: number, trace: GateRecord[] | null): void {
    const milliseconds = monotonicMs() - startedMs;
    this.count(verdict);
    this.durations.add(milliseconds / 1_000);
    trace?.push({
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

  private failed<Verdict>(
    error: unknown,
    passed: Verdict,
    startedMs: number,
    trace: GateRecord[] | null,
  ): Verdict {
    const { name, stage, gate } = this;
    const how = error instanceof GateLate ? 'late' : 'failed';
    this.note(how, startedMs, trace);
    this.logger.warn('a gate failed', {
      gate: name,
      stage,
      on_error: gate.onError,
      error: error instanceof Error ? error : new Error(thrownWords(error)),
    });
    if (gate.onError === 'open') return passed;
    throw closedFault(name, stage, how);
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

/** Every gate of the installation: those of extensions in the order of their list, then those over HTTP. */
@Injectable()
export class Gates {
  /** Each is null where no gate looks there. */
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
    this.request = this.at('request', all);
    this.candidates = this.at('candidates', all);
    this.settled = this.at('settled', all);
  }

  /** Where a request's verdicts are gathered for its record; null without any gate. */
  trace(): GateRecord[] | null {
    return this.isTraced ? [] : null;
  }

  private at(
    stage: 'request' | 'candidates' | 'settled',
    all: readonly { readonly name: string; readonly gate: Gate }[],
  ): readonly GateHook[] | null {
    const found = all.filter(({ gate }) => gate[stage] !== undefined);
    if (found.length === 0) return null;
    return found.map(({ name, gate }) => new GateHook(name, stage, gate, this.metrics, this.logger));
  }
}
