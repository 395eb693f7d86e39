import type { DialectName } from '#extension';
export type { DialectName };
export type JsonObject = Record<string, unknown>;

/** A field that only some dialects know; it is sent to targets of those dialects only. */
export interface Opaque {
  readonly dialects: readonly DialectName[];
  readonly field: string;
  /** Path in the caller's body. */
  readonly at: string;
  readonly value: unknown;
  /** Marks a field without which the response would be wrong: a target that cannot carry it refuses the request. */
  readonly essential?: { readonly details?: Record<string, unknown> };
}

export interface RequestPart {
  /** Path in the caller's body, for refusals and the list of dropped parts. */
  readonly at: string;
  readonly cacheControl?: JsonObject;
  readonly opaque?: readonly Opaque[];
}

export interface TextBlock extends RequestPart {
  readonly type: 'text';
  readonly text: string;
}

export type Source =
  | { readonly kind: 'data'; readonly mediaType: string; readonly data: string }
  | { readonly kind: 'url'; readonly url: string };

export interface ImageBlock extends RequestPart {
  readonly type: 'image';
  readonly source: Source;
  readonly detail?: string;
}

export interface DocumentBlock extends RequestPart {
  readonly type: 'document';
  readonly source: Source | { readonly kind: 'text'; readonly text: string };
  readonly title?: string;
}

interface AudioBlock extends RequestPart {
  readonly type: 'audio';
  readonly data: string;
  readonly format: string;
}

export interface ToolUseBlock extends RequestPart {
  readonly type: 'tool-use';
  readonly id: string;
  readonly name: string;
  readonly namespace?: string;
  /** JSON text, or the plain text of a custom tool's call. */
  readonly arguments: string;
  readonly custom?: boolean;
  /** The call in its own dialect, if it is no function call. */
  readonly item?: JsonObject;
}

export interface ToolResultBlock extends RequestPart {
  readonly type: 'tool-result';
  readonly toolUseId: string;
  readonly blocks: readonly ContentBlock[];
  readonly isError?: boolean;
  readonly custom?: boolean;
  /** The result in its own dialect, if it is no function result. */
  readonly item?: JsonObject;
}

export interface ReasoningBlock extends RequestPart {
  readonly type: 'reasoning';
  readonly text: string;
  /** The only dialect that can read the signature. */
  readonly origin: DialectName;
  readonly signature?: string;
  /** The lane that signed it, if the signature names one. */
  readonly lane?: string;
  /** Whether the text is hidden, so that only the signature is available. */
  readonly redacted?: boolean;
}

interface RefusalBlock extends RequestPart {
  readonly type: 'refusal';
  readonly text: string;
}

/** A block that only its own dialect knows. */
export interface OpaqueBlock extends RequestPart {
  readonly type: 'opaque';
  readonly dialect: DialectName;
  readonly value: JsonObject;
  readonly text?: string;
  readonly essential: boolean;
}

export type ContentBlock = TextBlock | ImageBlock | DocumentBlock | AudioBlock | OpaqueBlock;
export type AssistantBlock = TextBlock | ToolUseBlock | ReasoningBlock | RefusalBlock | OpaqueBlock;

export interface SystemTurn extends RequestPart {
  readonly role: 'system';
  readonly developer?: boolean;
  readonly blocks: readonly TextBlock[];
}
interface UserTurn extends RequestPart {
  readonly role: 'user';
  readonly blocks: readonly ContentBlock[];
}
export interface AssistantTurn extends RequestPart {
  readonly role: 'assistant';
  readonly blocks: readonly AssistantBlock[];
}
export interface ToolTurn extends RequestPart {
  readonly role: 'tool';
  readonly results: readonly ToolResultBlock[];
}
export type CanonicalTurn = SystemTurn | UserTurn | AssistantTurn | ToolTurn;

export interface Namespace {
  readonly name: string;
  readonly description?: string;
}

interface FunctionTool extends RequestPart {
  readonly kind: 'function';
  readonly name: string;
  readonly namespace?: Namespace;
  readonly description?: string;
  readonly schema?: JsonObject;
  readonly strict?: boolean;
  /** Item type of a tool that the caller knows as something other than a function. */
  readonly item?: string;
}
/** A tool that is called with plain text instead of JSON. */
interface CustomTool extends RequestPart {
  readonly kind: 'custom';
  readonly name: string;
  readonly namespace?: Namespace;
  readonly description?: string;
  readonly format?: JsonObject;
}
/** A tool that the supplier runs itself or was trained on. */
export interface OpaqueTool extends RequestPart {
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
  /** How much reasoning the caller wants to see: `summary` in responses, `display` in messages. */
  readonly summary?: string;
  readonly display?: string;
}

export interface CanonicalRequest {
  readonly source: DialectName;
  readonly model: string;
  /** Turns before the conversation; instructions in the middle remain turns. */
  readonly system: readonly SystemTurn[];
  readonly turns: readonly CanonicalTurn[];
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
