/** What a caller asks of a supplier. */
export type OperationName =
  | 'chat'
  | 'messages'
  | 'responses'
  | 'native'
  | 'completions'
  | 'embeddings'
  | 'rerank'
  | 'speech'
  | 'transcription'
  | 'translation'
  | 'image'
  | 'moderation'
  | 'count_tokens';

export type DialectName = 'chat' | 'messages' | 'responses';

/** What the host asks a supplier in. For single-shot operations the form is named like the operation. */
export type WireDialect =
  DialectName | 'gemini' | Exclude<OperationName, DialectName | 'native' | 'count_tokens'>;

/** What a supplier speaks when it is asked for an operation; one it does not serve is absent. */
export type Operations = Readonly<Partial<Record<OperationName, WireDialect>>>;

/** A supplier as the operator describes it. */
export interface SupplierProvider {
  readonly name: string;
  readonly style: string;
  readonly baseUrl: string;
  readonly regions: readonly string[];
  readonly settings: Readonly<Record<string, unknown>>;
}

/** What is known of a supplier's model; the host has more, and adds it to every translation itself. */
export interface SupplierFacts {
  /** The row of the table of known models; null: nothing is known but the operator's word. */
  readonly known: string | null;
  /** The most tokens it reads. */
  readonly window?: number;
  readonly maxOutput?: number;
}

export interface SupplierLane {
  readonly provider: SupplierProvider;
  /** The supplier's name of the model. */
  readonly upstreamModel: string;
  readonly region: string;
  readonly facts: SupplierFacts;
}

export interface BearerCredential {
  readonly kind: 'bearer';
  readonly id: string;
  readonly token: string;
}
/** It is sent in the header that the supplier expects. */
export interface HeaderCredential {
  readonly kind: 'header';
  readonly id: string;
  readonly value: string;
}
export interface SigningCredential {
  readonly kind: 'sigv4';
  readonly id: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}
/** It is one token of a pool, which the host renews. */
export interface TokenCredential {
  readonly kind: 'oauth-pool';
  readonly id: string;
  readonly accessToken: string;
  /** The account of the token, where the supplier wants to know it. */
  readonly account?: string;
}
export type Credential = BearerCredential | HeaderCredential | SigningCredential | TokenCredential;
export type CredentialKind = Credential['kind'];

export type HeaderFields = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A JSON object as its bytes, and as what they say. */
export interface JsonObjectText {
  readonly bytes: Uint8Array;
  readonly body: Readonly<Record<string, unknown>>;
}
export interface JsonBody {
  readonly kind: 'json';
  readonly text: JsonObjectText;
}
export interface FormFile {
  readonly field: string;
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array;
}
export interface FormBody {
  readonly kind: 'form';
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly files: readonly FormFile[];
}
export type OutgoingBody = JsonBody | FormBody;

/** A call as it is decided, in the dialect of the supplier; the style makes a request of it. */
export interface OutgoingCall {
  readonly operation: OperationName;
  /** What the supplier is asked in. */
  readonly wire: WireDialect;
  readonly lane: SupplierLane;
  /** It is null where the supplier asks for none. */
  readonly credential: Credential | null;
  readonly body: OutgoingBody;
  readonly stream: boolean;
  /** The bound that was set money aside for, when the supplier has to be told. */
  readonly maxOutputTokens?: number | undefined;
  /** The caller's own: those of tracing, and those that name a version of a dialect. */
  readonly headers: HeaderFields;
  /** It is the same for one conversation, for suppliers that keep caches near it. */
  readonly sessionKey: string | null;
  /** Styles that sign with the time need it. */
  readonly now: () => Date;
}

/** What did not reach a supplier as it was written. */
export interface Dropped {
  /** `fulfilled`: left out of what is sent, for the host does what it asks. */
  readonly loss: 'dropped' | 'approximated' | 'fulfilled';
  /** The field, with `*` for positions: `messages.*.content.*.cache_control`. */
  readonly path: string;
  /** Name for `x-svc-dropped` if the path is not clear enough. Approximations appear there only if they have a name. */
  readonly name?: string;
  readonly reason: string;
  /** The first place it was seen. */
  readonly at: string;
  readonly count: number;
}

/** Bytes that lie in several places and are one body. In a text every character is one byte. */
export interface Pieces {
  readonly length: number;
  readonly parts: readonly (string | Uint8Array)[];
}

/** It is sent with POST, to the origin of the provider's base address and nowhere else. */
export interface PreparedCall {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | Pieces;
  /** What of the caller's body does not go further. */
  readonly dropped?: readonly Dropped[];
}

/** `GET` of a list of models; below its path stands each of them. */
export interface ListCall {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

/** What an answer is that cannot be read; the code is one that the error catalogue has for suppliers. */
export interface SupplierFault {
  readonly code: string;
  readonly message: string;
}

/** Turns what a supplier wraps its streams in into the events of the dialect. */
export interface Unframer {
  /** The events that are complete now, or a fault, after which nothing follows. */
  push(chunk: Uint8Array): Uint8Array | SupplierFault;
  /** A fault where the stream ended too early. */
  end(): SupplierFault | undefined;
}

/** What a supplier does with fields that the interface it offers does not describe. */
export interface FieldPolicy {
  /** It refuses what it does not know, so everything may go on to it. */
  readonly validates: boolean;
  /** Fields of its own. */
  readonly own: (operation: OperationName) => readonly string[];
}

/** What the translation of a request has to know; everything has a default that the dialect's own supplier takes. */
export interface SupplierTarget {
  /** The supplier's name of the model. */
  readonly model?: string;
  /** messages: how a JSON schema is enforced. */
  readonly structuredOutput?: 'native' | 'tool';
  /** messages: the supplier marks the end of the prompt for its cache when it is told to once. */
  readonly cacheMark?: boolean;
  /** messages: instructions may stand between turns. */
  readonly systemInTurns?: boolean;
  /** chat: the model gets its earlier reasoning again. */
  readonly reasoningHistory?: boolean;
  /** chat: which field limits the output. */
  readonly limitField?: 'max_tokens' | 'max_completion_tokens';
  /** chat: false where the supplier knows only the role `system`. */
  readonly developerRole?: boolean;
  /** chat, responses: the supplier takes tools that are called with plain text. */
  readonly customTools?: boolean;
}

export interface PictureSize {
  readonly width: number;
  readonly height: number;
  /** It is false where a decoder may find another size than the header says: then it serves estimates only. */
  readonly isBinding: boolean;
}

export interface Picture {
  /** How closely the model is to look, in the caller's word. */
  readonly detail: string | null;
  /** What the header of inline bytes tells; null where there is none, or where it cannot be trusted. */
  readonly size: PictureSize | null;
}

/** What a supplier bills for pictures. */
export interface PictureRule {
  /** The most it bills for this one. */
  readonly most: (picture: Picture) => number;
  /** How many tokens it bills at most for one token of the context window. */
  readonly factor: number;
}

/** What an error of a supplier means, whichever vendor words it. */
export type ErrorMeaning =
  | 'context_length'
  | 'content_filter'
  | 'rate_limit'
  /** Our credential is refused. */
  | 'auth'
  /** Our account is spent, limited or closed: no request of ours is served until an operator acts. */
  | 'account'
  | 'overloaded'
  | 'not_found'
  | 'invalid'
  | 'unknown';

/** A supplier's error, as it was read. */
export interface SupplierError {
  readonly kind: ErrorMeaning;
  /** The supplier's own words. */
  readonly message: string;
  readonly type?: string;
  /** A number where the supplier's own is one. */
  readonly code?: string | number;
  /** Finer than the type, where a vendor has such. */
  readonly reason?: string;
  readonly param?: string;
  /** Structured facts that clients act on, such as an unsupported thread. */
  readonly details?: Record<string, unknown>;
  readonly raw: unknown;
}

/**
 * A way of speaking to suppliers. Everything in it is a pure function of its arguments and answers at once: what is
 * peculiar to one supplier stands in the settings of its provider.
 */
export interface SupplierStyle {
  /** Providers name it as their `style`, so it is unlike that of every other style. */
  readonly name: string;
  /** What its suppliers are usually paid with. */
  readonly credential: CredentialKind;
  /** Whether calls to this provider go without one. */
  needsCredential(provider: SupplierProvider): boolean;
  operations(provider: SupplierProvider): Operations;
  fields(provider: SupplierProvider): FieldPolicy;
  /** The translation of a request to the lane needs it. */
  target(lane: SupplierLane): SupplierTarget;
  /** What it bills for pictures; left out: what no supplier known here exceeds. */
  pictures?(lane: SupplierLane): PictureRule;
  prepare(call: OutgoingCall): PreparedCall;
  /** How its list of models is asked for; left out or null: it has none that names what lanes ask for. */
  modelList?(provider: SupplierProvider, credential: Credential | null): ListCall | null;
  /** What an error body in JSON says; undefined when it says nothing. */
  readError(body: unknown, headers: HeaderFields): SupplierError | undefined;
  /** The answer that is no stream, in the dialect that was asked in; left out where it comes in that dialect. */
  unwrap?(body: Uint8Array): Uint8Array | SupplierFault;
  /** It is there only where streams do not come as server-sent events of the dialect. */
  unframer?(): Unframer;
}
