import { Injectable } from '@nestjs/common';
import { type Fault, type MaybePromise, whenReady } from '../../kernel';
import { Settings } from '../../platform';
import { type GateHook, Gates } from '../gates/gate-hooks';
import {
  parseGateResponse,
  ABSTAINED,
  readRejection,
  readTexts,
  unknownVerdictError,
} from '../gates/read-verdict';
import type { GatewayCall } from './describe';
import { gateRequestOf } from './gate-request';
import { rewriteCall } from './rewrite-call';

type CallGateVerdict =
  | typeof ABSTAINED
  | { readonly verdict: 'reject'; readonly problem: Fault }
  | { readonly verdict: 'rewrite'; readonly call: GatewayCall };

@Injectable()
export class CallGates {
  private readonly hooks: readonly GateHook[] | null;

  constructor(
    { request }: Gates,
    private readonly settings: Settings,
  ) {
    this.hooks = request;
  }

  /** Returns the call, with texts rewritten by gates. Throws if a gate rejects it. */
  pass(call: GatewayCall): MaybePromise<GatewayCall> {
    return this.hooks === null ? call : this.passFrom(this.hooks, 0, call);
  }

  private passFrom(
    hooks: readonly GateHook[],
    from: number,
    initialCall: GatewayCall,
  ): MaybePromise<GatewayCall> {
    let call = initialCall;
    let request = gateRequestOf(call);
    for (let index = from; index < hooks.length; index += 1) {
      const hook = hooks[index]!;
      const [currentCall, currentRequest] = [call, request];
      const verdict = hook.run<CallGateVerdict>(
        (signal) => hook.gate.request!(currentRequest, signal),
        (response) => this.readVerdict(response, hook, currentCall),
        ABSTAINED,
        call.gates,
      );
      if (verdict instanceof Promise)
        return verdict.then((lateVerdict) =>
          this.passFrom(hooks, index + 1, applyVerdict(lateVerdict, currentCall)),
        );
      call = applyVerdict(verdict, currentCall);
      if (call !== currentCall) request = gateRequestOf(call);
    }
    return call;
  }

  private readVerdict(value: unknown, { name }: GateHook, call: GatewayCall): MaybePromise<CallGateVerdict> {
    const response = parseGateResponse(value);
    if (response.verdict === 'abstain') return ABSTAINED;
    if (response.verdict === 'reject') return readRejection(name, response);
    if (response.verdict !== 'rewrite') throw unknownVerdictError(response);
    const rewrittenCall = rewriteCall(
      call,
      (count) => readTexts(response, count),
      this.settings.bodyLimitBytes,
    );
    return whenReady(rewrittenCall, rewriteVerdict);
  }
}

const rewriteVerdict = (call: GatewayCall): CallGateVerdict => ({ verdict: 'rewrite', call });

function applyVerdict(verdict: CallGateVerdict, call: GatewayCall): GatewayCall {
  if (verdict.verdict === 'reject') throw verdict.problem;
  return verdict.verdict === 'rewrite' ? verdict.call : call;
}
