/** Operation that a caller requests. */
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

/** Dialect in which the host calls a supplier. For single-shot operations it is named like the operation. */
export type WireDialect =
  DialectName | 'gemini' | Exclude<OperationName, DialectName | 'native' | 'count_tokens'>;

/** Dialect that a supplier uses per operation; unsupported operations are absent. */
export type Operations = Readonly<Partial<Record<OperationName, WireDialect>>>;

/** A supplier as described by the operator. */
export interface SupplierProvider {
  readonly name: string;
  readonly style: string;
  readonly baseUrl: string;
  readonly regions: readonly string[];
  readonly settings: Readonly<Record<string, unknown>>;
}

/** Known properties of a supplier's model; the host knows more, and adds them to every conversion itself. */
export interface SupplierFacts {
  /** Row in the table of known models; null if only the operator's description is known. */
  readonly known: string | null;
  /** Maximum number of tokens that the model reads. */
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
/** Sent in the header that the supplier expects. */
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
/** A token of a pool that the host renews. */
export interface TokenCredential {
  readonly kind: 'oauth-pool';
  readonly id: string;
  readonly accessToken: string;
  /** Account of the token, for suppliers that require it. */
  readonly account?: string;
}
export type Credential = BearerCredential | HeaderCredential | SigningCredential | TokenCredential;
export type CredentialKind = Credential['kind'];

export type HeaderFields = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A JSON object as bytes and parsed. */
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

/** A call in the dialect of the supplier; the style converts it to a request. */
export interface OutgoingCall {
  readonly operation: OperationName;
  /** Dialect in which the supplier is called. */
  readonly wire: WireDialect;
  readonly lane: SupplierLane;
  /** Null if the supplier requires none. */
  readonly credential: Credential | null;
  readonly body: OutgoingBody;
  readonly stream: boolean;
  /** Output limit for which money was held, if the supplier has to be told. */
  readonly maxOutputTokens?: number | undefined;
  /** Headers of the caller: for tracing, and for versions of a dialect. */
  readonly headers: HeaderFields;
  /** Same for one conversation, for suppliers that keep caches near it. */
  readonly sessionKey: string | null;
  /** Clock for styles whose signatures contain the time. */
  readonly now: () => Date;
}

/** A part of the request that did not reach the supplier as written. */
export interface Dropped {
  /** `fulfilled`: left out, because the host does what the field requests. */
  readonly loss: 'dropped' | 'approximated' | 'fulfilled';
  /** The field, with `*` for positions: `messages.*.content.*.cache_control`. */
  readonly path: string;
  /** Name for `x-svc-dropped` if the path is not clear enough. Approximations appear there only if they have a name. */
  readonly name?: string;
  readonly reason: string;
  /** First position at which the field was seen. */
  readonly at: string;
  readonly count: number;
}

/** Bytes in several pieces that form one body. In a string, every character is one byte. */
export interface Pieces {
  readonly length: number;
  readonly parts: readonly (string | Uint8Array)[];
}

/** Sent with POST, only to the origin of the provider's base address. */
export interface PreparedCall {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | Pieces;
  /** Parts of the caller's body that are not sent. */
  readonly dropped?: readonly Dropped[];
}

/** `GET` request for a list of models; each model is available below its path. */
export interface ListCall {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

/** Why a response cannot be read; the code is one that the error catalogue has for suppliers. */
export interface SupplierFault {
  readonly code: string;
  readonly message: string;
}

/** Converts a supplier's framing of streams to the events of the dialect. */
export interface Unframer {
  /** Returns the events that are complete now, or a fault, after which nothing follows. */
  push(chunk: Uint8Array): Uint8Array | SupplierFault;
  /** Returns a fault if the stream ended too early. */
  end(): SupplierFault | undefined;
}

/** How a supplier treats fields that its API does not describe. */
export interface FieldPolicy {
  /** Whether the supplier rejects unknown fields, so that everything can be sent. */
  readonly validates: boolean;
  /** Additional fields of the supplier. */
  readonly own: (operation: OperationName) => readonly string[];
}

/** Options of the conversion of a request; the defaults suit the dialect's own vendor. */
export interface SupplierTarget {
  /** The supplier's name of the model. */
  readonly model?: string;
  /** messages: how a JSON schema is enforced. */
  readonly structuredOutput?: 'native' | 'tool';
  /** messages: the supplier caches the prompt up to its end if told so once. */
  readonly cacheMark?: boolean;
  /** messages: instructions are allowed between turns. */
  readonly systemInTurns?: boolean;
  /** chat: the model receives its earlier reasoning again. */
  readonly reasoningHistory?: boolean;
  /** chat: the field that limits the output. */
  readonly limitField?: 'max_tokens' | 'max_completion_tokens';
  /** chat: false if the supplier knows only the role `system`. */
  readonly developerRole?: boolean;
  /** chat, responses: the supplier supports tools that are called with plain text. */
  readonly customTools?: boolean;
}

export interface PictureSize {
  readonly width: number;
  readonly height: number;
  /** False if a decoder might find another size than the header states; the size is then only an estimate. */
  readonly isBinding: boolean;
}

export interface Picture {
  /** Requested level of detail, as written by the caller. */
  readonly detail: string | null;
  /** Size in the header of inline bytes; null if there is none, or if it cannot be trusted. */
  readonly size: PictureSize | null;
}

/** How a supplier bills images. */
export interface PictureRule {
  /** Returns the maximum number of tokens billed for this image. */
  readonly most: (picture: Picture) => number;
  /** Maximum number of tokens billed per token of the context window. */
  readonly factor: number;
}

/** Meaning of a supplier's error, independent of the vendor's wording. */
export type ErrorMeaning =
  | 'context_length'
  | 'content_filter'
  | 'rate_limit'
  /** The credential is rejected. */
  | 'auth'
  /** The account is exhausted, limited or closed: no request is served until an operator acts. */
  | 'account'
  | 'overloaded'
  | 'not_found'
  | 'invalid'
  | 'unknown';

export interface SupplierError {
  readonly kind: ErrorMeaning;
  /** The supplier's own message. */
  readonly message: string;
  readonly type?: string;
  /** A number if the supplier's code is one. */
  readonly code?: string | number;
  /** More specific than the type, if the vendor provides it. */
  readonly reason?: string;
  readonly param?: string;
  /** Structured details that clients act on, such as an unsupported thread. */
  readonly details?: Record<string, unknown>;
  readonly raw: unknown;
}

/**
 * API format of a kind of supplier. All members are synchronous pure functions; what is specific to one supplier is in
 * the settings of its provider.
 */
export interface SupplierStyle {
  /** Unique name that providers use as their `style`. */
  readonly name: string;
  /** Usual kind of credential for these suppliers. */
  readonly credential: CredentialKind;
  /** Returns whether calls to this provider require a credential. */
  needsCredential(provider: SupplierProvider): boolean;
  operations(provider: SupplierProvider): Operations;
  fields(provider: SupplierProvider): FieldPolicy;
  /** Returns the options for converting a request to the lane. */
  target(lane: SupplierLane): SupplierTarget;
  /** Returns how images are billed; defaults to an upper bound of all known suppliers. */
  pictures?(lane: SupplierLane): PictureRule;
  prepare(call: OutgoingCall): PreparedCall;
  /** Returns the request for the list of models; null or absent if no list names the models that lanes use. */
  modelList?(provider: SupplierProvider, credential: Credential | null): ListCall | null;
  /** Parses a JSON error body; undefined if it contains no error. */
  readError(body: unknown, headers: HeaderFields): SupplierError | undefined;
  /** Converts a non-streaming response to the requested dialect; absent if it arrives in that dialect. */
  unwrap?(body: Uint8Array): Uint8Array | SupplierFault;
  /** Present only if streams do not arrive as server-sent events of the dialect. */
  unframer?(): Unframer;
}
