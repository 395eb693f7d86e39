import type { RecordedFee, UsageCounts, UsageSource } from '../kernel';

export interface AttemptRecord {
  readonly supplier: string;
  readonly region: string | null;
  readonly model: string;
  readonly status: number | null;
  readonly milliseconds: number;
  readonly outcome: string;
}

export interface Attribution {
  readonly keyId: number | null;
  readonly userId: number | null;
  readonly organisationId: number | null;
  readonly departmentId: number | null;
  readonly projectId: number | null;
  readonly walletId: number | null;
}

export type GateStage = 'request' | 'candidates' | 'answer' | 'settled';

export interface GateRecord {
  /** `<extension>/<gate>`. */
  readonly name: string;
  readonly stage: GateStage;
  readonly verdict: string;
  readonly ms: number;
}

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
  readonly dropped: Readonly<Record<string, number>> | null;
  readonly endUser: string | null;
  readonly tags: readonly string[] | null;
  /** Scope of the key's budget for this model; null without one. */
  readonly keyModelId: number | null;
  /** Share of the price that the organisation paid, in millionths; null for the full price. */
  readonly priceFactor: number | null;
  /** Reasons for the choice of `auto`; null if the request named a model. */
  readonly autoDecision: object | null;
  /** The caller's own request id, if it is not a UUID. */
  readonly clientRequestId: string | null;
  /** Fees of extensions included in the price; null if there are none. */
  readonly surcharges: readonly RecordedFee[] | null;
  /** Verdicts of gates in order; null if no gate was called. */
  readonly gates: readonly GateRecord[] | null;
  /** Reported quantities beyond the request or its hold, by kind: not charged; null if there are none. */
  readonly excess: Readonly<Record<string, number>> | null;
}

/** A request record without its identity, time and settlement. */
export type RecordAttributes = Omit<RequestRecord, 'requestId' | 'createdAt' | 'settlementId'>;
