import { Injectable } from '@nestjs/common';
import type { Fault } from '../../kernel';
import { Settings } from '../../platform';
import { type GateHook, Gates } from '../gates/gate-hooks';
import { answerIn, PASSED, refusedBy, textsIn, unknownVerdict } from '../gates/read-verdict';
import type { Call } from './describe';
import { gateRequestOf } from './gate-request';
import { rewritten } from './rewrite';

type Verdict =
  | typeof PASSED
  | { readonly verdict: 'reject'; readonly problem: Fault }
  | { readonly verdict: 'rewrite'; readonly call: Call };

/** The gates that a request passes before its model is looked for. */
@Injectable()
export class CallGates {
  private readonly hooks: readonly GateHook[] | null;

  constructor(
    { request }: Gates,
    private readonly settings: Settings,
  ) {
    this.hooks = request;
  }

  /** The call as it goes on, with new texts where a gate gave some. Throws the refusal. */
  pass(call: Call): Call | Promise<Call> {
    return this.hooks === null ? call : this.passFrom(this.hooks, 0, call);
  }

  private passFrom(hooks: readonly GateHook[], from: number, given: Call): Call | Promise<Call> {
    let call = given;
    let request = gateRequestOf(call);
    for (let place = from; place < hooks.length; place += 1) {
      const hook = hooks[place]!;
      const [asked, about] = [call, request];
      const verdict = hook.ask<Verdict>(
        (signal) => hook.gate.request!(about, signal),
        (answer) => this.read(answer, hook, asked),
        PASSED,
        call.gates,
      );
      if (verdict instanceof Promise)
        return verdict.then((late) => this.passFrom(hooks, place + 1, after(late, asked)));
      call = after(verdict, asked);
      if (call !== asked) request = gateRequestOf(call);
    }
    return call;
  }

  private read(given: unknown, { name }: GateHook, call: Call): Verdict | Promise<Verdict> {
    const answer = answerIn(given);
    if (answer.verdict === 'abstain') return PASSED;
    if (answer.verdict === 'reject') return refusedBy(name, answer);
    if (answer.verdict !== 'rewrite') throw unknownVerdict(answer);
    const changed = rewritten(call, (count) => textsIn(answer, count), this.settings.bodyLimitBytes);
    return changed instanceof Promise ? changed.then(asRewrite) : asRewrite(changed);
  }
}

const asRewrite = (call: Call): Verdict => ({ verdict: 'rewrite', call });

function after(verdict: Verdict, call: Call): Call {
  if (verdict.verdict === 'reject') throw verdict.problem;
  return verdict.verdict === 'rewrite' ? verdict.call : call;
}
