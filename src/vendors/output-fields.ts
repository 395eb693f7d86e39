interface OutputField {
  readonly path: readonly string[];
  readonly source: string;
}

/** Fields of chat requests that let a supplier think beyond the output limit. */
export const ADDITIONAL_THINKING_FIELDS: readonly OutputField[] = [
  {
    path: ['thinking_budget'],
    source:
      'https://help.aliyun.com/en/model-studio/deep-thinking (2026-11-26): max_tokens leaves thinking out',
  },
  {
    path: ['chat_template_kwargs', 'thinking_budget'],
    source: 'https://docs.vllm.ai/en/latest/features/reasoning_outputs (2026-11-26): handed to the template',
  },
  {
    path: ['thinking', 'budget_tokens'],
    source: 'https://docs.litellm.ai/docs/reasoning_content (2026-11-26): taken by routers that speak chat',
  },
  {
    path: ['reasoning', 'max_tokens'],
    source: 'https://openrouter.ai/docs/use-cases/reasoning-tokens (2026-11-26): a budget of its own',
  },
];

/** Fields that enable thinking without a number of tokens. */
const SWITCHES: readonly (readonly string[])[] = [
  // https://help.aliyun.com/en/model-studio/deep-thinking (2026-11-28)
  ['enable_thinking'],
  // https://docs.vllm.ai/en/latest/features/reasoning_outputs (2026-11-28): variables of the model's own template
  ['chat_template_kwargs', 'enable_thinking'],
  ['chat_template_kwargs', 'thinking'],
  ['chat_template_kwargs', 'enable_reasoning'],
  // https://docs.ollama.com/capabilities/thinking (2026-11-28)
  ['think'],
  // https://openrouter.ai/docs/use-cases/reasoning-tokens (2026-11-28)
  ['reasoning', 'enabled'],
  ['reasoning', 'effort'],
  ['include_reasoning'],
  // https://api-docs.deepseek.com/guides/thinking_mode (2026-11-28)
  ['thinking', 'type'],
  ['thinking'],
];
const OFF: ReadonlySet<unknown> = new Set([
  undefined,
  null,
  false,
  0,
  'false',
  'none',
  'disabled',
  'off',
  '',
]);

/** Top-level fields with which a request enables thinking beyond its output limit. */
export const THINKING_FIELDS: ReadonlySet<string> = new Set(
  [...ADDITIONAL_THINKING_FIELDS.map(({ path }) => path), ...SWITCHES].map(([name]) => name!),
);

export const forbidsThinking = (body: Readonly<Record<string, unknown>>): boolean =>
  SWITCHES.some((path) => {
    const value = memberAt(body, path);
    return value !== undefined && value !== null && typeof value !== 'object' && !isOn(value);
  });

/**
 * Tokens that a request lets its supplier write in addition to the output limit. `maximum` is used for values that are
 * no count, and for thinking that is enabled without one.
 */
export function additionalThinkingTokens(body: Readonly<Record<string, unknown>>, maximum: number): number {
  let tokens = 0;
  let hasCount = false;
  for (const { path } of ADDITIONAL_THINKING_FIELDS) {
    const value = memberAt(body, path);
    if (value === undefined || value === null) continue;
    hasCount = true;
    // Lenient suppliers accept a number given as text.
    const count = typeof value === 'string' ? Number(value) : value;
    tokens += typeof count === 'number' && Number.isInteger(count) && count >= 0 ? count : maximum;
  }
  if (hasCount) return tokens;
  return SWITCHES.some((path) => isOn(memberAt(body, path))) ? maximum : 0;
}

/** An object is not a switch: its members are checked separately. */
const isOn = (value: unknown): boolean => (typeof value === 'object' ? false : !OFF.has(value));

function memberAt(body: unknown, path: readonly string[]): unknown {
  let value = body;
  for (const name of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
  }
  return value;
}
