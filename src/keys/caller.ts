import type { Attribution } from '../audit';
import type { LimitRef } from '../billing';
import type { PriceFactorVersion } from '../identity';
import type { AnswerModel, ContinueStreams, PriceFactor, UnknownFieldMode } from '../kernel';
import type { KeyKind } from './api-key.entity';

export interface Caller {
  readonly keyId: number;
  readonly publicId: string;
  readonly name: string;
  readonly kind: KeyKind;
  /** Null allows every model. */
  readonly allowedModels: ReadonlySet<string> | null;
  /** Null allows every region; the regions of the organisation are already taken into account. */
  readonly allowedRegions: ReadonlySet<string> | null;
  /** Limit of the key, or the default of the installation. */
  readonly rateLimitRpm: number;
  /** Null if tokens per minute are not limited. */
  readonly rateLimitTpm: number | null;
  /** Null if concurrent requests are not limited. */
  readonly maxParallel: number | null;
  /** Whether responses carry the model name of the catalogue or of the supplier. Null inherits from the model. */
  readonly answerModel: AnswerModel | null;
  /** `off` prevents a broken stream from continuing on another lane. */
  readonly continueStreams: ContinueStreams | null;
  /** Handling of unknown request fields by the key or its organisation; null inherits from the installation. */
  readonly unknownFields: UnknownFieldMode | null;
  readonly expiresAt: number | null;
  readonly attribution: Attribution;
  /** Payer whose wallet is charged, even if the account is exempt; null without a payer. */
  readonly payerId: number | null;
  /** The payer, and every user whose delegate pays for them. */
  readonly payerChain: readonly number[];
  readonly billingExempt: boolean;
  readonly limits: readonly LimitRef[];
  /** Limits including the budget of a model, per model with a budget; null if no model has one. */
  readonly modelLimits: ReadonlyMap<string, readonly LimitRef[]> | null;
  /** Mark-ups of the organisation; null if it never had one. */
  readonly priceFactors: readonly PriceFactorVersion[] | null;
  /** Set if the organisation, or a user without one, allows traces to contain requests and responses. */
  readonly tellsContent?: true;
  /** Marks an internal caller, whose usage never counts as a customer's. */
  readonly isEvaluation?: true;
}

const FULL_PRICE = 1_000_000;

/** Returns the share of a price that the caller pays at an instant; null for the full price. */
export function priceFactorAt({ priceFactors }: Pick<Caller, 'priceFactors'>, instant: number): PriceFactor {
  const factor = priceFactors?.find(({ from }) => from <= instant)?.factor ?? FULL_PRICE;
  return factor === FULL_PRICE ? null : factor;
}

const unattributed: Attribution = {
  keyId: null,
  userId: null,
  organisationId: null,
  departmentId: null,
  projectId: null,
  walletId: null,
};

export const recordedAttribution = ({ isEvaluation, attribution }: Caller): Attribution =>
  isEvaluation === true ? unattributed : attribution;

/** Only stops a runaway loop: one sample takes a dozen calls, and workers and the monthly budget limit evaluation. */
const EVALUATION_RPM = 6_000;

/**
 * Returns a caller that evaluates on behalf of a customer, with the customer's models and regions but without limits.
 * Its rate is counted per organisation, separately from the key's.
 */
export const evaluationCaller = (
  { tellsContent: _content, ...caller }: Caller,
  organisationId: number,
): Caller => ({
  ...caller,
  keyId: -organisationId,
  payerId: null,
  payerChain: [],
  billingExempt: true,
  limits: [],
  modelLimits: null,
  priceFactors: null,
  rateLimitRpm: EVALUATION_RPM,
  rateLimitTpm: null,
  maxParallel: null,
  answerModel: 'caller',
  isEvaluation: true,
});
