interface OutputField {
  /** The members of a request that lead to it. */
  readonly path: readonly string[];
  readonly source: string;
}

/** Fields of chat requests that let a supplier think beyond the limit of the answer. */
export const THINKING_BESIDE_ANSWER: readonly OutputField[] = [
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

/**
 * A request may make its supplier write this beside the limited answer; `unknown` stands for values that are
 * no count.
 */
export function thinkingBeside(body: Readonly<Record<string, unknown>>, unknown: number): number {
  let tokens = 0;
  for (const { path } of THINKING_BESIDE_ANSWER) {
    const value = memberAt(body, path);
    if (value === undefined || value === null) continue;
    // Lenient readers take a number that is written as a text.
    const count = typeof value === 'string' ? Number(value) : value;
    tokens += typeof count === 'number' && Number.isInteger(count) && count >= 0 ? count : unknown;
  }
  return tokens;
}

function memberAt(body: unknown, path: readonly string[]): unknown {
  let value = body;
  for (const name of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
  }
  return value;
}
