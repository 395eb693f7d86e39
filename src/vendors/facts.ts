export const VENDORS = [
  'anthropic',
  'openai',
  'google',
  'deepseek',
  'mistral',
  'xai',
  'groq',
  'cohere',
] as const;
type ModelVendor = (typeof VENDORS)[number];

/** The values of `thinking.type` in the messages dialect. */
export const THINKING_TYPES = ['adaptive', 'between_tools', 'enabled', 'disabled'] as const;
type ThinkingType = (typeof THINKING_TYPES)[number];

/** From the lowest to the highest; `none` switches thinking off. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

export interface ThinkingFacts {
  /** Messages dialect: the types it accepts. */
  readonly types?: readonly ThinkingType[];
  readonly efforts?: readonly Effort[];
  /** Efforts accepted by the Responses API only. */
  readonly responsesOnly?: readonly Effort[];
  readonly usual?: Effort;
  /** Accepted token budgets; undefined if it takes none. */
  readonly budget?: { readonly least: number; readonly most: number };
  readonly unasked: boolean;
  readonly canStop: boolean;
  /** Highest effort with which thinking can be switched off; defaults to any. */
  readonly stopsUpTo?: Effort;
}

/**
 * How a model handles temperature and similar parameters.
 * `free`: accepted.
 * `unless-thinking`: accepted only while it does not think.
 * `refused`: non-default values are an error.
 * `ignored`: accepted without effect.
 */
export const SAMPLINGS = ['free', 'unless-thinking', 'refused', 'ignored'] as const;
type Sampling = (typeof SAMPLINGS)[number];

/**
 * How `/chat/completions` handles the model.
 * `free`: accepts everything.
 * `tools-without-effort`: tools only without an effort.
 * `tools-with-none`: tools only with the effort `none`.
 * `tools-refused`: no tools.
 * `refused`: no requests.
 */
export const CHAT_WIRES = [
  'free',
  'tools-without-effort',
  'tools-with-none',
  'tools-refused',
  'refused',
] as const;
type ChatWire = (typeof CHAT_WIRES)[number];

/** Rules that a JSON schema must follow to be enforced; `none` means that no schema is accepted. */
export const SCHEMA_RULES = ['anthropic', 'openai', 'google', 'none'] as const;
type SchemaRules = (typeof SCHEMA_RULES)[number];

/** How the tokens of an image are limited. */
export type PictureFacts =
  /** Squares of `side` pixels, at most `most` of them; larger images are scaled down. */
  | { readonly kind: 'squares'; readonly side: number; readonly most: number; readonly factor?: number }
  /** At most eight tiles, plus a small version of the complete image. */
  | { readonly kind: 'tiles'; readonly base: number; readonly tile: number; readonly factor?: number }
  /** Squares whose number depends on the requested detail. */
  | {
      readonly kind: 'detail';
      readonly high: number;
      readonly original: number;
      readonly automatic: number;
      readonly factor: number;
    }
  | { readonly kind: 'flat'; readonly tokens: number };

/** Facts of a model as documented by its vendor: what it accepts, refuses and bills. */
export interface ModelFacts {
  readonly id: string;
  readonly vendor: ModelVendor;
  /** Other exact names of the same model: dated snapshots, and names at clouds that host it. */
  readonly aliases?: readonly string[];
  /** Maximum number of input tokens, including output if the vendor counts it. */
  readonly window?: number;
  /** Windows enabled by betas of the header `anthropic-beta`. */
  readonly widened?: Readonly<Record<string, number>>;
  readonly maxOutput?: number;
  /** Undefined if it does not think. */
  readonly thinking?: ThinkingFacts;
  readonly sampling?: Sampling;
  /** False if `tool_choice` cannot force a tool. */
  readonly forcedTools?: boolean;
  /** False if the last message cannot be the assistant's. */
  readonly prefill?: boolean;
  readonly chat?: ChatWire;
  readonly chatRefuses?: readonly string[];
  readonly schema?: SchemaRules;
  /** Chat dialect: whether its reasoning must be returned with every turn that called tools. */
  readonly reasoningHistory?: boolean;
  /** Messages dialect: whether the vendor can drop earlier thinking that no longer matches the conversation. */
  readonly dropsBlocks?: boolean;
  readonly pictures?: PictureFacts;
  /** Unknown request fields that the operator declares to have no effect on costs; they are forwarded. */
  readonly harmlessFields?: readonly string[];
  /** How often a model reads the conversation again on its own, for example for research. */
  readonly rounds?: number;
  /** Whether thinking is billed in addition to the tokens that the output limit counts. */
  readonly thinksOutsideMaxTokens?: boolean;
  /** Price factors of the complete request above this number of input tokens. */
  readonly longContext?: { readonly above: number; readonly input: number; readonly output: number };
  /** Last day of service, as YYYY-MM-DD. */
  readonly ends?: string;
  /** The model with which the vendor responds after that day. */
  readonly replacedBy?: string;
  /** Source of the facts, and the day on which they were read. */
  readonly source: string;
  readonly checked: string;
}

/** Dialects between which a supplier of both can choose for conversations. */
export const WIRES = ['chat', 'responses'] as const;
export type Wire = (typeof WIRES)[number];

/** Facts that an operator can override. */
export interface FactsOverride extends Partial<
  Omit<ModelFacts, 'id' | 'vendor' | 'aliases' | 'source' | 'checked'>
> {
  readonly wire?: Wire;
}
