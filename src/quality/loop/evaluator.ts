import { Injectable } from '@nestjs/common';
import { CatalogueService } from '../../catalogue';
import { type EvaluationResponse, InnerEvaluation } from '../../gateway';
import { type Caller, evaluationCaller, KeyDirectory } from '../../keys';
import type { DialectName } from '../../protocol';
import { QualityPolicies } from '../settings/quality-policies';
import { EvaluationLedger, type EvaluationPurpose } from '../ledger/evaluation-ledger';
import { expectedCost, lanesWithin } from './candidates';
import { consentOwnerOf, type SampleRow } from './samples';

export class BudgetSpent extends Error {}
/** The organisation switched evaluation off, or the key was excluded. */
export class ConsentWithdrawn extends Error {}

export interface EvaluationRequest {
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

/** Makes evaluation calls through the gateway. A call is entered in the ledger before, and its cost after. */
@Injectable()
export class Evaluator {
  constructor(
    private readonly keys: KeyDirectory,
    private readonly policies: QualityPolicies,
    private readonly ledger: EvaluationLedger,
    private readonly catalogue: CatalogueService,
    private readonly inner: InnerEvaluation,
  ) {}

  /**
   * Returns a caller with the models and regions of the original key. Throws the refusal if that key is no longer
   * valid.
   */
  async callerFor({ keyId, organisationId }: SampleRow): Promise<Caller> {
    return evaluationCaller(await this.keys.callerOf(keyId), organisationId);
  }

  /** Sends no text without consent: the key and its organisation might have withdrawn it since the last call. */
  async request(request: EvaluationRequest): Promise<EvaluationResponse> {
    const { sample, caller, purpose, surface, model, body, tokensIn, tokensOut, signal } = request;
    const settings = await this.policies.consentOf(consentOwnerOf(sample));
    if (settings === null) throw new ConsentWithdrawn('evaluation is switched off');
    const lanes = lanesWithin(this.catalogue, model, caller, sample.regionAsked);
    const planned = {
      organisationId: sample.organisationId,
      requestId: sample.requestId,
      purpose,
      model,
      expectedNano: expectedCost(lanes, tokensIn, tokensOut),
    };
    const callId = await this.ledger.start(planned, settings.monthly_budget);
    if (callId === null) throw new BudgetSpent('the budget for evaluation is used up');
    const region = sample.regionAsked;
    const response = await this.inner.evaluate({
      caller,
      requestId: callId,
      surface,
      body: { ...body, model, ...(region === null ? {} : { region }) },
      signal,
    });
    await this.ledger.end(callId, response.costNano);
    return response;
  }
}
