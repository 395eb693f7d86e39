import { fields, type OperationName, OPERATIONS } from './operations';
import { steeringFields } from './steering';

/** Known on every route: `metadata` can name the session, and `user` the end user. */
const commonFields = fields('model metadata user');

/**
 * Fields that limit a response, or the number of choices, on some route. On another route the limit would not be
 * enforced.
 */
export const limitFields: ReadonlySet<string> = new Set(
  fields('best_of max_completion_tokens max_output_tokens max_tokens n'),
);

/** The field names of one route, with a lookup of names that only resemble one of them. */
export class KnownFields {
  readonly names: ReadonlySet<string>;
  private readonly spellings = new Map<string, string>();

  constructor(names: Iterable<string>, similarTo: Iterable<string> = []) {
    this.names = new Set(names);
    for (const name of [...similarTo, ...this.names]) this.spellings.set(foldName(name), name);
  }

  /** The known name that a lenient reader could take an unknown one for, ignoring case and letter variants. */
  lookalikeOf(name: string): string | undefined {
    return name.length > MAX_NAME_LENGTH ? undefined : this.spellings.get(foldName(name));
  }
}

const MAX_NAME_LENGTH = 256;

/** Removes case, full-width and other letter forms, marks and invisible characters. */
const foldName = (name: string): string =>
  name
    .normalize('NFKD')
    .replace(/[\p{M}\p{C}\p{Z}]/gu, '')
    .toUpperCase()
    .toLowerCase();

/** Fields that some suppliers accept in addition to their dialect; a profile lists which are its own. */
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

/** Also matches similar spellings; for places where callers' own names must stay allowed. */
export const looksLikeSteering = (name: string): boolean => steering.lookalikeOf(name) !== undefined;

const cache = new Map<OperationName, KnownFields>();

export function knownFields(operation: OperationName): KnownFields {
  let entry = cache.get(operation);
  if (entry === undefined) {
    const names = [...commonFields, ...OPERATIONS[operation].fields];
    const others = [
      'stream',
      ...nestedFields.keys(),
      ...limitFields,
      ...steeringFields,
      ...Object.values(serviceFields).flat(),
    ];
    cache.set(operation, (entry = new KnownFields(names, others)));
  }
  return entry;
}

/** Labels in `metadata` that are meant for this gateway. */
export const gatewayLabels: ReadonlySet<string> = new Set(fields('no_eval session_id sticky_key tags'));

/**
 * Field names of nested objects that the gateway reads. If callers can add their own names, only look-alikes are
 * refused.
 */
export const nestedFields: ReadonlyMap<string, KnownFields> = new Map(
  Object.entries({
    metadata: [...gatewayLabels, 'user_id'],
    reasoning: fields('context effort enabled exclude generate_summary max_tokens mode summary'),
    response_format: fields('json_schema schema type'),
    stream_options: fields('continuous_usage_stats include_obfuscation include_usage'),
    thinking: fields('budget_tokens display type'),
    output_config: fields('effort format task_budget'),
    chat_template_kwargs: fields('enable_thinking thinking thinking_budget'),
  }).map(([name, names]) => [name, new KnownFields(names)]),
);
