import type { Attribution } from '../audit';
import type { LimitRef } from '../billing';
import type { PriceFactorVersion } from '../identity';
import type { AnswerModel, ContinueStreams, PriceFactor, UnknownFieldMode } from '../kernel';
import type { KeyKind } from './api-key.entity';

/** The caller of a request: a key with its rights and the attribution of its owner. */
export interface Caller {
  readonly keyId: number;
  readonly publicId: string;
  readonly name: string;
  readonly kind: KeyKind;
  /** Null allows every model. */
  readonly allowedModels: ReadonlySet<string> | null;
  /** Null allows every region; the organisation's regions are already taken into account. */
  readonly allowedRegions: ReadonlySet<string> | null;
  /** The key's own, or the installation's usual one. */
  readonly rateLimitRpm: number;
  /** Null: tokens are not counted by the minute. */
  readonly rateLimitTpm: number | null;
  /** Null: any number of calls may be open at once. */
  readonly maxParallel: number | null;
  /** Answers carry the model name of the catalogue or of the supplier. Null leaves it to the model. */
  readonly answerModel: AnswerModel | null;
  /** `off` forbids that a broken stream goes on at another lane. */
  readonly continueStreams: ContinueStreams | null;
  /** Handling of unknown request fields by the key or its organisation; null inherits from the installation. */
  readonly unknownFields: UnknownFieldMode | null;
  readonly expiresAt: number | null;
  readonly attribution: Attribution;
  /** The wallet of this payer pays, also when the account is exempt; null without a payer. */
  readonly payerId: number | null;
  /** The payer, and everyone whose delegate pays in their place. */
  readonly payerChain: readonly number[];
  readonly billingExempt: boolean;
  /** Every limit a request of this key counts against. */
  readonly limits: readonly LimitRef[];
  /** The same with the budget of one model, for each that has one; null where none has. */
  readonly modelLimits: ReadonlyMap<string, readonly LimitRef[]> | null;
  /** Its organisation pays this share of a price; null where it never had a mark-up. */
  readonly priceFactors: readonly PriceFactorVersion[] | null;
  /** Its organisation, or the person without one, lets spans hold what it asks and gets. */
  readonly tellsContent?: true;
  /** An internal caller: its usage never counts as a customer's. */
  readonly isEvaluation?: true;
}

const WHOLE_PRICE = 1_000_000;

/** The caller pays this share of a price at an instant; null is the price itself. */
export function priceFactorAt({ priceFactors }: Pick<Caller, 'priceFactors'>, instant: number): PriceFactor {
  const factor = priceFactors?.find(({ from }) => from <= instant)?.factor ?? WHOLE_PRICE;
  return factor === WHOLE_PRICE ? null : factor;
}

const unattributed: Attribution = {
  keyId: null,
  userId: null,
  organisationId: null,
  departmentId: null,
  projectId: null,
  walletId: null,
};

/** A request of this caller is on record as theirs. */
export const recordedFor = ({ isEvaluation, attribution }: Caller): Attribution =>
  isEvaluation === true ? unattributed : attribution;

/**
 * One sample takes a dozen calls. Workers and the monthly budget bound evaluation; this limit only stops a runaway
 * loop.
 */
const EVALUATION_RPM = 6_000;

/**
 * A caller that evaluates in a customer's place, with the customer's models and regions and none of the limits. Its
 * rate is counted by organisation, apart from the key's.
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
