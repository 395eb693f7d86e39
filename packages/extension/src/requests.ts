/** Who makes a request, by ids. */
export interface RequestKey {
  readonly id: number;
  readonly userId: number | null;
  readonly organisationId: number | null;
  readonly departmentId: number | null;
  readonly projectId: number | null;
}

/** A text of a request that its supplier reads. */
export interface TextPiece {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  /** `arguments` are the JSON of a tool call, `definition` the words of a tool's description. */
  readonly kind: 'text' | 'arguments' | 'result' | 'definition';
  readonly text: string;
}

export interface GateRequest {
  readonly requestId: string;
  /** Such as `chat`, `messages`, `responses`, `embeddings`. */
  readonly operation: string;
  /** As the caller wrote it. */
  readonly model: string;
  readonly stream: boolean;
  readonly region: string | null;
  readonly endUser: string | null;
  readonly tags: readonly string[];
  readonly key: RequestKey;
  /** In the order of the body. They are read at the first look. */
  readonly texts: readonly TextPiece[];
}

/** A supplier's model that may be asked. */
export interface GateLane {
  readonly id: number;
  readonly supplier: string;
  readonly model: string;
  readonly region: string | null;
}
