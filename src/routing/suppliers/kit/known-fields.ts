import { fields, type OperationName, OPERATIONS } from './operations';
import { steeringFields } from './steering';

/** Known on every route: `metadata` may name the session, and `user` the person at the other end. */
const everywhere = fields('model metadata user');

/** What bounds an answer, or their number, on some route. On another it would be a bound that was not held. */
export const limitFields: ReadonlySet<string> = new Set(
  fields('best_of max_completion_tokens max_output_tokens max_tokens n'),
);

/** The names that one route knows, and how a name would have been spelt that only looks like one of them. */
export class KnownFields {
  readonly names: ReadonlySet<string>;
  private readonly spellings = new Map<string, string>();

  constructor(names: Iterable<string>, lookalikesOf: Iterable<string> = []) {
    this.names = new Set(names);
    for (const name of [...lookalikesOf, ...this.names]) this.spellings.set(folded(name), name);
  }

  /** The known name that a reader may take an unknown one for, who minds neither case nor kind of letter. */
  meantBy(name: string): string | undefined {
    return name.length > LONGEST_NAME ? undefined : this.spellings.get(folded(name));
  }
}

const LONGEST_NAME = 256;

/** Without case, full-width and other forms of letters, marks, and what cannot be seen. */
const folded = (name: string): string =>
  name
    .normalize('NFKD')
    .replace(/[\p{M}\p{C}\p{Z}]/gu, '')
    .toUpperCase()
    .toLowerCase();

/** Services beside their dialect know these fields; a profile says which of them are its own. */
export const serviceFields = {
  chat: fields(
    `add_generation_prompt add_special_tokens allowed_token_ids bad_words cache_salt chat_template_kwargs
     continue_final_message enable_thinking guided_choice guided_grammar guided_json guided_regex
     guided_whitespace_pattern ignore_eos include_reasoning include_stop_str_in_output length_penalty min_p min_tokens
     reasoning repetition_penalty return_tokens_as_token_ids skip_special_tokens spaces_between_special_tokens
     stop_token_ids structural_tag structured_outputs thinking thinking_budget top_a top_k truncate_prompt_tokens`,
  ),
  embeddings: fields(
    `add_special_tokens embedding_type input_type late_chunking normalized output_dimension output_dtype task truncate
     truncate_prompt_tokens truncation`,
  ),
  speech: fields('language sample_rate seed'),
  form: fields('hotwords vad_filter'),
  image: fields('negative_prompt seed'),
  rerank: fields('truncate_prompt_tokens truncation'),
  ollama: fields('reasoning think'),
  mistral: fields('prompt_mode random_seed safe_prompt'),
  groq: fields('disable_tool_validation documents include_reasoning reasoning_format search_settings'),
  deepseek: fields('thinking'),
} as const;

const steering = new KnownFields([], steeringFields);

/** It also knows other spellings: for where nothing can be said against names of a caller's own. */
export const looksLikeSteering = (name: string): boolean => steering.meantBy(name) !== undefined;

const known = new Map<OperationName, KnownFields>();

export function knownFields(operation: OperationName): KnownFields {
  let found = known.get(operation);
  if (found === undefined) {
    const names = [...everywhere, ...OPERATIONS[operation].fields];
    const others = [
      'stream',
      ...nestedFields.keys(),
      ...limitFields,
      ...steeringFields,
      ...Object.values(serviceFields).flat(),
    ];
    known.set(operation, (found = new KnownFields(names, others)));
  }
  return found;
}

/** Labels in `metadata` that are meant for this service. */
export const ownLabels: ReadonlySet<string> = new Set(fields('no_eval session_id sticky_key tags'));

/**
 * These objects within a body are read here; each has its names. Where callers may add their own, only
 * look-alikes are refused.
 */
export const nestedFields: ReadonlyMap<string, KnownFields> = new Map(
  Object.entries({
    metadata: [...ownLabels, 'user_id'],
    reasoning: fields('context effort enabled exclude generate_summary max_tokens mode summary'),
    response_format: fields('json_schema schema type'),
    stream_options: fields('continuous_usage_stats include_obfuscation include_usage'),
    thinking: fields('budget_tokens display type'),
    output_config: fields('effort format task_budget'),
    chat_template_kwargs: fields('enable_thinking thinking thinking_budget'),
  }).map(([name, names]) => [name, new KnownFields(names)]),
);
