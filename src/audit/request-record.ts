import type { UsageCounts, UsageSource } from '../kernel';

export interface AttemptRecord {
  readonly supplier: string;
  readonly region: string | null;
  readonly model: string;
  readonly status: number | null;
  readonly milliseconds: number;
  readonly outcome: string;
}

/** Who a request belongs to; every id may be unknown when the request was refused before it was known. */
export interface Attribution {
  readonly keyId: number | null;
  readonly userId: number | null;
  readonly organisationId: number | null;
  readonly departmentId: number | null;
  readonly projectId: number | null;
  readonly walletId: number | null;
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
  /** `none`: refused or failed before anything could be used. */
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
  /** Fields that a translation lost, and how often each; null when nothing was. */
  readonly dropped: Readonly<Record<string, number>> | null;
  /** Who the caller asked for, in the caller's own words. */
  readonly endUser: string | null;
  /** What the caller sorts its requests by; null when there are none. */
  readonly tags: readonly string[] | null;
  /** The key and model together, where their budget is counted; null where they have none of their own. */
  readonly keyModelId: number | null;
  /** What its organisation paid of the price, in millionths; null is the price itself. */
  readonly priceFactor: number | null;
  /** Why `auto` chose the model that answered; null where a model was named. */
  readonly autoDecision: object | null;
}

/** What happened, apart from which request it was and when. */
export type RecordFacts = Omit<RequestRecord, 'requestId' | 'createdAt' | 'settlementId'>;
