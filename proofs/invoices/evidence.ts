/**
 * The audit is handed this evidence. Only types, so that the audit shares no arithmetic with anybody:
 * everything in here is either what a caller saw or what was typed in.
 */

/** US dollars as they stand on a price list: for a million tokens, `perCall` for one request. */
export interface ListedPrice {
  readonly model: string;
  /** The supplier it is for; left out, every supplier of the model without a price of its own. */
  readonly supplier?: string;
  readonly rates: ListedRates;
  readonly perCall?: string;
  readonly tiers?: readonly (Partial<ListedRates> & { readonly aboveInputTokens: number })[];
}

export interface ListedRates {
  readonly input: string;
  readonly output: string;
  readonly cacheRead?: string;
  readonly cacheWrite?: string;
  readonly reasoning?: string;
}

export type CallDialect = 'chat' | 'messages' | 'responses';

/**
 * A call ends `whole`, as a `stream`, `cut` by the supplier, `left` by the caller, or `unfinished` without a
 * terminator.
 */
export type CallForm = 'whole' | 'stream' | 'cut' | 'left' | 'unfinished';

export interface CallSeen {
  readonly number: number;
  /** Calls of one twin ask for the same. */
  readonly twin: number;
  readonly dialect: CallDialect;
  readonly model: string;
  readonly form: CallForm;
  readonly key: string;
  /** As a gate left it, where one rewrote it. */
  readonly requestBytes: number;
  /** A gate took this text out of the request; null where none did. */
  readonly hidden: string | null;
  readonly status: number;
  readonly requestId: string;
  /** The answer came with its proper end. */
  readonly ended: boolean;
  /** The caller was told that it cost this, where a header could say so. */
  readonly toldUsd: string | null;
  /** Generated text, reasoning, names and arguments of tools, in bytes, as the caller read them. */
  readonly textBytes: number;
}

/** A key belongs to these owners, as it was set up. */
export interface KeyOwner {
  readonly key: string;
  readonly keyId: number;
  readonly userId: number | null;
  readonly projectId: number | null;
  readonly departmentId: number | null;
  readonly organisationId: number | null;
  readonly payerId: number;
}

export interface SupplierAddress {
  readonly name: string;
  readonly url: string;
}

export interface Evidence {
  readonly prices: readonly ListedPrice[];
  readonly calls: readonly CallSeen[];
  readonly keys: readonly KeyOwner[];
  readonly wallets: Readonly<Record<number, string>>;
  readonly suppliers: readonly SupplierAddress[];
  readonly journalUrl: string;
  readonly databaseUrl: string;
}

/** One request in the journal of the simulated suppliers. */
export interface SupplierRequest {
  readonly id: number;
  readonly lane: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly rawBody: string | null;
  readonly status: number | null;
  readonly events: number;
  readonly faults: readonly string[];
}
