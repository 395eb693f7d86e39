/** Caller of a request, by ids. */
export interface RequestKey {
  readonly id: number;
  readonly userId: number | null;
  readonly organisationId: number | null;
  readonly departmentId: number | null;
  readonly projectId: number | null;
}

/** A text of a request that the supplier reads. */
export interface TextPiece {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  /** `arguments` is the JSON of a tool call, `definition` the text of a tool's description. */
  readonly kind: 'text' | 'arguments' | 'result' | 'definition';
  readonly text: string;
}

export interface GateRequest {
  readonly requestId: string;
  /** For example `chat`, `messages`, `responses`, `embeddings`. */
  readonly operation: string;
  /** As written by the caller. */
  readonly model: string;
  readonly stream: boolean;
  readonly region: string | null;
  readonly endUser: string | null;
  readonly tags: readonly string[];
  readonly key: RequestKey;
  /** In the order of the body; parsed on first access. */
  readonly texts: readonly TextPiece[];
}

/** A supplier's model that might be called. */
export interface GateLane {
  readonly id: number;
  readonly supplier: string;
  readonly model: string;
  readonly region: string | null;
}
