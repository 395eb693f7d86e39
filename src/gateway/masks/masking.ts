import { Injectable } from '@nestjs/common';
import type { Gate, GateRequest, Mask } from '#extension';
import type { GateRecord } from '../../audit';
import { Extensions } from '../../extensions';
import { type Fault, fault } from '../../kernel';
import { Logger, Metrics } from '../../platform';
import { type Call, gateRequestOf } from '../intake';
import { AnswerMasks } from './answer-masks';
import { MaskFailed, MaskRun, type MaskWatch } from './mask-run';

interface MaskGate {
  readonly name: string;
  readonly gate: Gate;
  readonly mask: Mask;
}

/** Which masks an answer passes. */
@Injectable()
export class Masking {
  /** It is null where no gate has a mask. */
  private readonly gates: readonly MaskGate[] | null;
  private readonly watch: MaskWatch;

  constructor(
    extensions: Extensions,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
  ) {
    const gates = extensions.gates.flatMap(({ name, part: gate }) =>
      gate.answer === undefined ? [] : [{ name, gate, mask: gate.answer }],
    );
    this.gates = gates.length === 0 ? null : gates;
    this.watch = {
      failed: (failure) => this.failed(failure),
      slow: (gate, milliseconds) => {
        metrics.slowMasks.inc({ gate });
        logger.warn('a mask was slow', { gate, milliseconds: Math.round(milliseconds) });
      },
    };
  }

  /** Null where no mask applies. Throws where an answer could not be masked that has to be. */
  of(call: Call): AnswerMasks | null {
    return this.gates === null ? null : this.applying(this.gates, call);
  }

  private applying(gates: readonly MaskGate[], call: Call): AnswerMasks | null {
    const request = gateRequestOf(call);
    const runs: MaskRun[] = [];
    const tell = (verdict: GateRecord): void => this.tell(verdict, call);
    for (const { name, gate, mask } of gates) {
      const { onError, timeoutMs } = gate;
      const applies = this.applies(name, mask, request);
      if (applies === false) continue;
      if (applies === true && call.operation.untouched !== true) {
        runs.push(new MaskRun({ name, mask, onError, timeoutMs, watch: this.watch }));
        continue;
      }
      tell({ name, stage: 'answer', verdict: 'failed', ms: 0 });
      if (onError === 'closed') throw applies === null ? unknown(name) : untouchable(name);
    }
    return runs.length === 0 ? null : new AnswerMasks(runs, tell);
  }

  private tell(verdict: GateRecord, { gates }: Call): void {
    const { name: gate, stage, ms } = verdict;
    gates?.push(verdict);
    this.metrics.gateVerdicts.inc({ gate, stage, verdict: verdict.verdict });
    this.metrics.gateDuration.observe({ gate, stage }, ms / 1_000);
  }

  /** Null where the mask did not say so. */
  private applies(name: string, mask: Mask, request: GateRequest): boolean | null {
    if (mask.applies === undefined) return true;
    try {
      const applies: unknown = mask.applies(request);
      if (typeof applies === 'boolean') return applies;
      if (applies instanceof Promise) applies.catch(() => undefined);
      this.failed(new MaskFailed(name, 'applies() did not return true or false'));
    } catch (cause) {
      this.failed(new MaskFailed(name, 'applies() threw', { cause }));
    }
    return null;
  }

  private failed(failure: MaskFailed): void {
    this.logger.warn('a mask failed', { gate: failure.gate, error: failure });
  }
}

const unknown = (gate: string): Fault =>
  fault('service_unavailable', {
    message: `The gate ${gate}, which every answer has to pass, could not say whether it applies. Try again shortly.`,
    details: { gate, stage: 'answer' },
  });

/** The bytes of these routes pass as they are. */
const untouchable = (gate: string): Fault =>
  fault('request_rejected', {
    message: `Answers of this route pass byte for byte, and the gate ${gate} has to mask them. Use /v1/responses.`,
    details: { gate, stage: 'answer' },
  });
