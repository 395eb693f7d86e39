import type { DialectName } from '#extension';
export type { DialectName };
export type JsonObject = Record<string, unknown>;

/** A field that only some dialects know. It travels to a target of those dialects and to no other. */
export interface Opaque {
  readonly dialects: readonly DialectName[];
  readonly field: string;
  /** It stood here in the caller's body. */
  readonly at: string;
  readonly value: unknown;
  /** Without it the answer would not be what was asked for: a target that cannot carry it refuses. */
  readonly essential?: { readonly details?: Record<string, unknown> };
}

/** Every part of a request has these besides its content. */
export interface Part {
  /** It stood here in the caller's body, for refusals and for the list of what was dropped. */
  readonly at: string;
  readonly cacheControl?: JsonObject;
  readonly opaque?: readonly Opaque[];
}

export interface TextBlock extends Part {
  readonly type: 'text';
  readonly text: string;
}

export type Source =
  | { readonly kind: 'data'; readonly mediaType: string; readonly data: string }
  | { readonly kind: 'url'; readonly url: string };

export interface ImageBlock extends Part {
  readonly type: 'image';
  readonly source: Source;
  readonly detail?: string;
}

export interface DocumentBlock extends Part {
  readonly type: 'document';
  readonly source: Source | { readonly kind: 'text'; readonly text: string };
  readonly title?: string;
}

interface AudioBlock extends Part {
  readonly type: 'audio';
  readonly data: string;
  readonly format: string;
}

export interface ToolUseBlock extends Part {
  readonly type: 'tool-use';
  readonly id: string;
  readonly name: string;
  readonly namespace?: string;
  /** JSON text; for a custom tool the plain text it was called with. */
  readonly arguments: string;
  readonly custom?: boolean;
  /** The call as its own dialect has it, where it is no function's. */
  readonly item?: JsonObject;
}

export interface ToolResultBlock extends Part {
  readonly type: 'tool-result';
  readonly toolUseId: string;
  readonly blocks: readonly ContentBlock[];
  readonly isError?: boolean;
  readonly custom?: boolean;
  /** It is as its own dialect has it, where it is no function's. */
  readonly item?: JsonObject;
}

export interface ReasoningBlock extends Part {
  readonly type: 'reasoning';
  readonly text: string;
  /** Only this dialect understands the signature. */
  readonly origin: DialectName;
  readonly signature?: string;
  /** This lane signed it, where the signature says so. */
  readonly lane?: string;
  /** The text is hidden; the signature is all there is. */
  readonly redacted?: boolean;
}

interface RefusalBlock extends Part {
  readonly type: 'refusal';
  readonly text: string;
}

/** A block that only its own dialect knows. */
export interface OpaqueBlock extends Part {
  readonly type: 'opaque';
  readonly dialect: DialectName;
  readonly value: JsonObject;
  /** This text may stand in its place elsewhere. */
  readonly text?: string;
  readonly essential: boolean;
}

export type ContentBlock = TextBlock | ImageBlock | DocumentBlock | AudioBlock | OpaqueBlock;
export type AssistantBlock = TextBlock | ToolUseBlock | ReasoningBlock | RefusalBlock | OpaqueBlock;

export interface SystemTurn extends Part {
  readonly role: 'system';
  readonly developer?: boolean;
  readonly blocks: readonly TextBlock[];
}
interface UserTurn extends Part {
  readonly role: 'user';
  readonly blocks: readonly ContentBlock[];
}
export interface AssistantTurn extends Part {
  readonly role: 'assistant';
  readonly blocks: readonly AssistantBlock[];
}
/** The results of one round of tool calls. */
export interface ToolTurn extends Part {
  readonly role: 'tool';
  readonly results: readonly ToolResultBlock[];
}
export type Turn = SystemTurn | UserTurn | AssistantTurn | ToolTurn;

export interface Namespace {
  readonly name: string;
  readonly description?: string;
}

interface FunctionTool extends Part {
  readonly kind: 'function';
  readonly name: string;
  readonly namespace?: Namespace;
  readonly description?: string;
  readonly schema?: JsonObject;
  readonly strict?: boolean;
  /** It names a tool that the caller knows by another item than a function's. */
  readonly item?: string;
}
/** A tool that is called with plain text instead of JSON. */
interface CustomTool extends Part {
  readonly kind: 'custom';
  readonly name: string;
  readonly namespace?: Namespace;
  readonly description?: string;
  readonly format?: JsonObject;
}
/** A tool that the supplier runs itself or was trained on. */
export interface OpaqueTool extends Part {
  readonly kind: 'opaque';
  readonly dialect: DialectName;
  readonly name?: string;
  readonly value: JsonObject;
}
export type NamedTool = FunctionTool | CustomTool;
export type Tool = NamedTool | OpaqueTool;

export interface ToolReference {
  readonly name: string;
  readonly namespace?: string;
  readonly custom?: boolean;
}
export type ToolChoice =
  | { readonly mode: 'auto' | 'none' | 'required' }
  | { readonly mode: 'tool'; readonly tool: ToolReference }
  | { readonly mode: 'allowed'; readonly required: boolean; readonly tools: readonly ToolReference[] };

export type ResponseFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json' }
  | {
      readonly type: 'schema';
      readonly schema: JsonObject;
      readonly name?: string;
      readonly description?: string;
      readonly strict?: boolean;
    };

export interface ReasoningRequest {
  readonly mode?: 'off' | 'adaptive' | 'between-tools' | 'budget';
  readonly budgetTokens?: number;
  readonly effort?: string;
  /** The caller wants to see so much of it: `summary` in responses, `display` in messages. */
  readonly summary?: string;
  readonly display?: string;
}

export interface CanonicalRequest {
  readonly source: DialectName;
  readonly model: string;
  /** These turns stand before the conversation; instructions given in the middle are turns, too. */
  readonly system: readonly SystemTurn[];
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly toolChoice?: ToolChoice;
  readonly parallelTools?: boolean;
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly stop?: readonly string[];
  readonly seed?: number;
  readonly responseFormat?: ResponseFormat;
  readonly reasoning?: ReasoningRequest;
  readonly verbosity?: string;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly user?: string;
  readonly metadata?: JsonObject;
  readonly opaque: readonly Opaque[];
}
