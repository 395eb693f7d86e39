import { Injectable } from '@nestjs/common';
import { CatalogueService } from '../../catalogue';
import { type EvaluationAnswer, InnerEvaluation } from '../../gateway';
import { type Caller, evaluationCaller, KeyDirectory } from '../../keys';
import type { DialectName } from '../../protocol';
import { QualityPolicies } from '../settings/quality-policies';
import { EvaluationLedger, type EvaluationPurpose } from '../ledger/evaluation-ledger';
import { expectedCost, lanesWithin } from './candidates';
import { askedBy, type SampleRow } from './samples';

/** The month's budget for evaluation is used up. */
export class BudgetSpent extends Error {}
/** The organisation switched evaluation off, or the key was excluded. */
export class ConsentWithdrawn extends Error {}

export interface EvaluationAsk {
  readonly sample: SampleRow;
  readonly caller: Caller;
  readonly purpose: EvaluationPurpose;
  readonly surface: DialectName;
  readonly model: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly signal: AbortSignal;
}

/** Makes a call for evaluation: entered in the ledger first, asked through the gateway, its cost entered after. */
@Injectable()
export class Evaluator {
  constructor(
    private readonly keys: KeyDirectory,
    private readonly policies: QualityPolicies,
    private readonly ledger: EvaluationLedger,
    private readonly catalogue: CatalogueService,
    private readonly inner: InnerEvaluation,
  ) {}

  /** It has the models and regions of the key that asked first. Throws the refusal where that key may no longer ask. */
  async callerFor({ keyId, organisationId }: SampleRow): Promise<Caller> {
    return evaluationCaller(await this.keys.callerOf(keyId), organisationId);
  }

  /** No text leaves without consent: the key and its organisation may have withdrawn it since the call before. */
  async ask(ask: EvaluationAsk): Promise<EvaluationAnswer> {
    const { sample, caller, purpose, surface, model, body, tokensIn, tokensOut, signal } = ask;
    const settings = await this.policies.consentOf(askedBy(sample));
    if (settings === null) throw new ConsentWithdrawn('evaluation is switched off');
    const lanes = lanesWithin(this.catalogue, model, caller, sample.regionAsked);
    const planned = {
      organisationId: sample.organisationId,
      requestId: sample.requestId,
      purpose,
      model,
      expectedNano: expectedCost(lanes, tokensIn, tokensOut),
    };
    const callId = await this.ledger.begin(planned, settings.monthly_budget);
    if (callId === null) throw new BudgetSpent('the budget for evaluation is used up');
    const region = sample.regionAsked;
    const answer = await this.inner.ask({
      caller,
      requestId: callId,
      surface,
      body: { ...body, model, ...(region === null ? {} : { region }) },
      signal,
    });
    await this.ledger.end(callId, answer.costNano);
    return answer;
  }
}
