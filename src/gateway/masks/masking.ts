import { Injectable } from '@nestjs/common';
import type { Gate, GateRequest, Mask } from '#extension';
import type { GateRecord } from '../../audit';
import { Extensions } from '../../extensions';
import { type Fault, fault } from '../../kernel';
import { Logger, Metrics } from '../../platform';
import { type GatewayCall, gateRequestOf } from '../intake';
import { AnswerMasks } from './answer-masks';
import { MaskError, MaskRun, type MaskObserver } from './mask-run';

interface MaskGate {
  readonly name: string;
  readonly gate: Gate;
  readonly mask: Mask;
}

@Injectable()
export class Masking {
  private readonly gates: readonly MaskGate[] | null;
  private readonly observer: MaskObserver;

  constructor(
    extensions: Extensions,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
  ) {
    const gates = extensions.gates.flatMap(({ name, part: gate }) =>
      gate.answer === undefined ? [] : [{ name, gate, mask: gate.answer }],
    );
    this.gates = gates.length === 0 ? null : gates;
    this.observer = {
      failed: (failure) => this.logFailure(failure),
      slow: (gate, milliseconds) => {
        metrics.slowMasks.inc({ gate });
        logger.warn('a mask was slow', { gate, milliseconds: Math.round(milliseconds) });
      },
    };
  }

  /** Null if no mask applies. Throws if a mandatory mask cannot be applied. */
  masksFor(call: GatewayCall): AnswerMasks | null {
    return this.gates === null ? null : this.createMasks(this.gates, call);
  }

  private createMasks(gates: readonly MaskGate[], call: GatewayCall): AnswerMasks | null {
    const request = gateRequestOf(call);
    const runs: MaskRun[] = [];
    const tell = (verdict: GateRecord): void => this.reportVerdict(verdict, call);
    for (const { name, gate, mask } of gates) {
      const { onError, timeoutMs } = gate;
      const applies = this.isApplicable(name, mask, request);
      if (applies === false) continue;
      if (applies === true && call.operation.untouched !== true) {
        runs.push(new MaskRun({ name, mask, onError, timeoutMs, watch: this.observer }));
        continue;
      }
      tell({ name, stage: 'answer', verdict: 'failed', ms: 0 });
      if (onError === 'closed')
        throw applies === null ? undecidedMaskError(name) : unmaskableRouteError(name);
    }
    return runs.length === 0 ? null : new AnswerMasks(runs, tell);
  }

  private reportVerdict(verdict: GateRecord, { gates }: GatewayCall): void {
    const { name: gate, stage, ms } = verdict;
    gates?.push(verdict);
    this.metrics.gateVerdicts.inc({ gate, stage, verdict: verdict.verdict });
    this.metrics.gateDuration.observe({ gate, stage }, ms / 1_000);
  }

  /** Null if the mask could not decide. */
  private isApplicable(name: string, mask: Mask, request: GateRequest): boolean | null {
    if (mask.applies === undefined) return true;
    try {
      const applies: unknown = mask.applies(request);
      if (typeof applies === 'boolean') return applies;
      if (applies instanceof Promise) applies.catch(() => undefined);
      this.logFailure(new MaskError(name, 'applies() did not return true or false'));
    } catch (cause) {
      this.logFailure(new MaskError(name, 'applies() threw', { cause }));
    }
    return null;
  }

  private logFailure(failure: MaskError): void {
    this.logger.warn('a mask failed', { gate: failure.gate, error: failure });
  }
}

const undecidedMaskError = (gate: string): Fault =>
  fault('service_unavailable', {
    message: `The gate ${gate}, which every answer has to pass, could not say whether it applies. Try again shortly.`,
    details: { gate, stage: 'answer' },
  });

/** Responses of these routes pass byte for byte. */
const unmaskableRouteError = (gate: string): Fault =>
  fault('request_rejected', {
    message: `Answers of this route pass byte for byte, and the gate ${gate} has to mask them. Use /v1/responses.`,
    details: { gate, stage: 'answer' },
  });
