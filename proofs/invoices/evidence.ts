/**
 * Evidence for the audit. Contains types only, so that the audit shares no arithmetic: every value was observed by a
 * client or typed in.
 */

/** US dollars as on a price list: per million tokens; `perCall` per request. */
export interface PriceListEntry {
  readonly model: string;
  /** Supplier of this price; if omitted, every supplier of the model without its own price. */
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
 * How a call ends: `whole`, as a `stream`, `cut` by the supplier, `left` by the caller, or `unfinished` without a
 * terminator.
 */
export type CallForm = 'whole' | 'stream' | 'cut' | 'left' | 'unfinished';

export interface CallSeen {
  readonly number: number;
  /** Calls of one twin send the same request. */
  readonly twin: number;
  readonly dialect: CallDialect;
  readonly model: string;
  readonly form: CallForm;
  readonly key: string;
  /** Size after a gate rewrote the request, if one did. */
  readonly requestBytes: number;
  /** Text that a gate removed from the request; null if none did. */
  readonly hidden: string | null;
  readonly status: number;
  readonly requestId: string;
  /** The response had its proper end. */
  readonly ended: boolean;
  /** Cost reported to the caller in a header, if possible. */
  readonly toldUsd: string | null;
  /** Bytes of generated text, reasoning, and names and arguments of tools, as the caller read them. */
  readonly textBytes: number;
}

/** Owners of a key as configured. */
export interface EvidenceKeyOwner {
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
  readonly prices: readonly PriceListEntry[];
  readonly calls: readonly CallSeen[];
  readonly keys: readonly EvidenceKeyOwner[];
  readonly wallets: Readonly<Record<number, string>>;
  readonly suppliers: readonly SupplierAddress[];
  readonly journalUrl: string;
  readonly databaseUrl: string;
}

/** A request in the journal of the simulated suppliers. */
export interface JournalRequest {
  readonly id: number;
  readonly lane: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly rawBody: string | null;
  readonly status: number | null;
  readonly events: number;
  readonly faults: readonly string[];
}
