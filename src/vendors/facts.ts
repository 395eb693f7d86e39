/** Models of these makers are known here. */
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
type Vendor = (typeof VENDORS)[number];

/** The values of `thinking.type` in the messages dialect. */
export const THINKING_TYPES = ['adaptive', 'between_tools', 'enabled', 'disabled'] as const;
type ThinkingType = (typeof THINKING_TYPES)[number];

/** They go from the least to the most; `none` switches thinking off. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

/** These facts say how a model is told to think, and what it refuses to be told. */
export interface ThinkingFacts {
  /** Messages dialect: the types it accepts. */
  readonly types?: readonly ThinkingType[];
  /** The words for effort it accepts; for Gemini, its thinking levels. */
  readonly efforts?: readonly Effort[];
  /** Only the responses wire accepts these of the efforts. */
  readonly responsesOnly?: readonly Effort[];
  /** The effort where the request names none. */
  readonly usual?: Effort;
  /** The budgets of tokens it accepts; left out where it takes none. */
  readonly budget?: { readonly least: number; readonly most: number };
  /** It thinks although the request does not ask for it. */
  readonly unasked: boolean;
  /** A request can switch thinking off. */
  readonly canStop: boolean;
  /** The highest effort beside which it can be switched off; left out: any. */
  readonly stopsUpTo?: Effort;
}

/**
 * `free`: temperature and its kin are taken. With `unless-thinking` they are taken only while the model does
 * not think. `refused`: a value other than the default is an error. `ignored`: taken without effect.
 */
export const SAMPLINGS = ['free', 'unless-thinking', 'refused', 'ignored'] as const;
type Sampling = (typeof SAMPLINGS)[number];

/**
 * The endpoint `/chat/completions` treats this model in one of these ways. With `free` it takes everything.
 * With `tools-without-effort` it takes tools only where no effort is sent. With `tools-with-none` it takes
 * tools only beside the effort `none`. With `tools-refused` it takes no tools. With `refused` it takes no
 * request.
 */
export const CHAT_WIRES = [
  'free',
  'tools-without-effort',
  'tools-with-none',
  'tools-refused',
  'refused',
] as const;
type ChatWire = (typeof CHAT_WIRES)[number];

/** A JSON schema has to keep these rules where its answer is enforced; `none` means that no schema is taken. */
export const SCHEMA_RULES = ['anthropic', 'openai', 'google', 'none'] as const;
type SchemaRules = (typeof SCHEMA_RULES)[number];

/** The tokens of a picture are bounded in one of these ways. */
export type PictureFacts =
  /** Squares of `side` pixels, at most `most` of them; later ones are scaled down. */
  | { readonly kind: 'squares'; readonly side: number; readonly most: number; readonly factor?: number }
  /** There are at most eight tiles beside a small version of the whole. */
  | { readonly kind: 'tiles'; readonly base: number; readonly tile: number; readonly factor?: number }
  /** Squares whose number depends on the detail that was asked for. */
  | {
      readonly kind: 'detail';
      readonly high: number;
      readonly original: number;
      readonly automatic: number;
      readonly factor: number;
    }
  | { readonly kind: 'flat'; readonly tokens: number };

/** A model of a vendor accepts, refuses and may bill these, as its vendor says. */
export interface ModelFacts {
  /** The vendor's own id. */
  readonly id: string;
  readonly vendor: Vendor;
  /** They are other exact names of the same model: dated snapshots, and the names of clouds that host it. */
  readonly aliases?: readonly string[];
  /** The most tokens it reads, question and answer together where the vendor counts them so. */
  readonly window?: number;
  /** These betas in the header `anthropic-beta` widen the window. */
  readonly widened?: Readonly<Record<string, number>>;
  readonly maxOutput?: number;
  /** Left out: it does not think. */
  readonly thinking?: ThinkingFacts;
  readonly sampling?: Sampling;
  /** False: `tool_choice` may not force a tool. */
  readonly forcedTools?: boolean;
  /** False: the last message may not be the assistant's. */
  readonly prefill?: boolean;
  readonly chat?: ChatWire;
  /** The model refuses these fields of `/chat/completions`. */
  readonly chatRefuses?: readonly string[];
  readonly schema?: SchemaRules;
  /** Chat dialect: its reasoning has to come back with every turn that called tools. */
  readonly reasoningHistory?: boolean;
  /** Messages dialect: earlier thinking that no longer fits can be left to the vendor to drop. */
  readonly dropsBlocks?: boolean;
  readonly pictures?: PictureFacts;
  /** Unknown fields of a request that the operator declares to be without effect on cost: they are forwarded. */
  readonly harmlessFields?: readonly string[];
  /** How often a model reads the conversation again of its own accord, such as for research. */
  readonly rounds?: number;
  /** Thinking is billed beside the tokens that the limit of an answer counts. */
  readonly thinksOutsideMaxTokens?: boolean;
  /** Above so many input tokens the whole request costs so many times the usual rates. */
  readonly longContext?: { readonly above: number; readonly input: number; readonly output: number };
  /** The last day it is served, as YYYY-MM-DD. */
  readonly ends?: string;
  /** The vendor answers with this model after that day. */
  readonly replacedBy?: string;
  /** The facts were read here, on the day named. */
  readonly source: string;
  readonly checked: string;
}

/** A supplier that speaks both is asked for a conversation in this dialect. */
export const WIRES = ['chat', 'responses'] as const;
export type Wire = (typeof WIRES)[number];

/** An operator may say these otherwise. */
export interface FactsOverride extends Partial<
  Omit<ModelFacts, 'id' | 'vendor' | 'aliases' | 'source' | 'checked'>
> {
  readonly wire?: Wire;
}
