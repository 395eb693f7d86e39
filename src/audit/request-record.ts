import type { RecordedFee, UsageCounts, UsageSource } from '../kernel';

export interface AttemptRecord {
  readonly supplier: string;
  readonly region: string | null;
  readonly model: string;
  readonly status: number | null;
  readonly milliseconds: number;
  readonly outcome: string;
}

/** The attribution of a request; every id may be null when the request was refused before it was known. */
export interface Attribution {
  readonly keyId: number | null;
  readonly userId: number | null;
  readonly organisationId: number | null;
  readonly departmentId: number | null;
  readonly projectId: number | null;
  readonly walletId: number | null;
}

export type GateStage = 'request' | 'candidates' | 'answer' | 'settled';

/** What a gate of an extension said of a request. */
export interface GateRecord {
  /** `<extension>/<gate>`. */
  readonly name: string;
  readonly stage: GateStage;
  readonly verdict: string;
  readonly ms: number;
}

/** The audit row of one request: no text of it, only what happened and what it cost. */
export interface RequestRecord extends Attribution, UsageCounts {
  readonly requestId: string;
  readonly createdAt: Date;
  readonly settlementId: bigint | null;
  readonly surface: string;
  readonly model: string | null;
  readonly servedModel: string | null;
  readonly supplier: string | null;
  readonly region: string | null;
  readonly priceId: number | null;
  /** `none` means that the request was refused or failed before any usage. */
  readonly usageSource: UsageSource | 'none';
  readonly costNano: bigint;
  readonly status: number;
  readonly code: string | null;
  readonly stream: boolean;
  readonly failover: boolean;
  readonly attempts: readonly AttemptRecord[] | null;
  readonly latencyMs: number;
  readonly firstTokenMs: number | null;
  readonly finishReason: string | null;
  readonly sessionKey: string | null;
  /** A translation lost these fields so often; null when nothing was lost. */
  readonly dropped: Readonly<Record<string, number>> | null;
  /** The end user in the caller's own words. */
  readonly endUser: string | null;
  /** The caller's tags; null when there are none. */
  readonly tags: readonly string[] | null;
  /** The scope of the key's budget for this model; null without one. */
  readonly keyModelId: number | null;
  /** The share of the price that the organisation paid, in millionths; null is the full price. */
  readonly priceFactor: number | null;
  /** The reasons of the choice of `auto`; null where the request named a model. */
  readonly autoDecision: object | null;
  /** The caller's own id of it, where that is no UUID and so not ours. */
  readonly clientRequestId: string | null;
  /** The fees of extensions that its price held; null where there were none. */
  readonly surcharges: readonly RecordedFee[] | null;
  /** The verdicts of gates in their order; null where none was asked. */
  readonly gates: readonly GateRecord[] | null;
  /** Reported quantities beyond the request or its hold, by kind: not charged; null if there are none. */
  readonly excess: Readonly<Record<string, number>> | null;
}

/** The facts of the end of a request, without its identity and time. */
export type RecordFacts = Omit<RequestRecord, 'requestId' | 'createdAt' | 'settlementId'>;
