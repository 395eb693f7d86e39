import type { ErrorMeaning } from '#extension';

export type { ErrorMeaning };

type ErrorVendor =
  | 'openai'
  | 'anthropic'
  | 'google'
  | 'xai'
  | 'groq'
  | 'deepseek'
  | 'mistral'
  | 'openrouter'
  | 'cohere'
  /** Used by several vendors of one dialect. */
  | 'any';

/** A sign by which an error of a vendor is recognised: its meaning, and where and when it was read. */
export interface ErrorSign {
  readonly vendor: ErrorVendor;
  /** `code` is a code or type; `reason` is Anthropic's `details.error_code` or Google's `details[].reason`. */
  readonly by: 'code' | 'reason' | 'status' | 'words';
  readonly match: string | number | RegExp;
  readonly means: ErrorMeaning;
  readonly status: number;
  /** The vendor's own text, if known. */
  readonly text?: string;
  readonly source: string;
  readonly date: string;
}

type ErrorSignRow = readonly [
  by: ErrorSign['by'],
  match: ErrorSign['match'],
  means: ErrorMeaning,
  status: number,
  text?: string,
];

const signsOf = (vendor: ErrorVendor, source: string, date: string, ...rows: ErrorSignRow[]): ErrorSign[] =>
  rows.map(([by, match, means, status, text]) => ({
    vendor,
    by,
    match,
    means,
    status,
    ...(text !== undefined && { text }),
    source,
    date,
  }));

const USAGE_LIMIT_TEXT =
  'You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.';
const TEAM_SPENT_TEXT =
  'Your team 16f2151a-40f4-4a80-8ad0-cae00c27e8dd has either used all available credits or reached its monthly ' +
  'spending limit. To continue making API requests, please purchase more credits or raise your spending limit.';

const openai = [
  ...signsOf(
    'openai',
    'https://developers.openai.com/api/docs/guides/error-codes',
    '2026-11-26',
    ['code', 'credit_balance_exhausted', 'account', 429],
    ['code', 'organization_spend_limit_exceeded', 'account', 429],
    ['code', 'project_spend_limit_exceeded', 'account', 429],
    ['code', 'organization_usage_limit_exceeded', 'account', 429],
    ['code', 'invalid_api_key', 'auth', 401, 'Incorrect API key provided.'],
    ['code', 'rate_limit_exceeded', 'rate_limit', 429],
    ['code', 'server_is_overloaded', 'overloaded', 503],
    ['code', 'server_error', 'overloaded', 500],
    ['code', 'model_not_found', 'not_found', 404],
  ),
  ...signsOf('openai', 'https://github.com/openai/openai-cookbook/issues/844', '2023-11-10', [
    'code',
    'insufficient_quota',
    'account',
    429,
    'You exceeded your current quota, please check your plan and billing details.',
  ]),
  ...signsOf('openai', 'https://github.com/dfinke/PowerShellAI/issues/127', '2023-05-02', [
    'code',
    'billing_hard_limit_reached',
    'account',
    400,
    'Billing hard limit has been reached',
  ]),
  ...signsOf('openai', 'https://github.com/lifan0127/ai-research-assistant/issues/174', '2025-06-17', [
    'code',
    'billing_not_active',
    'account',
    429,
    'Your account is not active, please check your billing details on our website.',
  ]),
  ...signsOf('openai', 'https://github.com/nat/openplayground/issues/143', '2024-11-25', [
    'code',
    'account_deactivated',
    'account',
    401,
    'The OpenAI account associated with this API key has been deactivated.',
  ]),
  ...signsOf(
    'openai',
    'openai 7.57.0, error types and codes of chat and responses',
    '2026-11-26',
    ['code', 'context_length_exceeded', 'context_length', 400],
    ['code', 'string_above_max_length', 'invalid', 400],
    ['code', 'content_filter', 'content_filter', 400],
    ['code', 'content_policy_violation', 'content_filter', 400],
    ['code', 'invalid_prompt', 'content_filter', 400],
    ['code', 'tokens', 'rate_limit', 429],
    ['code', 'requests', 'rate_limit', 429],
    ['code', 'service_unavailable', 'overloaded', 503],
    ['code', 'invalid_value', 'invalid', 400],
    ['code', 'unknown_parameter', 'invalid', 400],
  ),
];

const anthropic = [
  ...signsOf(
    'anthropic',
    '@anthropic-ai/sdk 1.14.0, error types',
    '2026-11-26',
    ['code', 'rate_limit_error', 'rate_limit', 429],
    ['code', 'billing_error', 'account', 402],
    ['code', 'authentication_error', 'auth', 401],
    ['code', 'permission_error', 'auth', 403],
    ['code', 'overloaded_error', 'overloaded', 529],
    ['code', 'api_error', 'overloaded', 500],
    ['code', 'timeout_error', 'overloaded', 504],
    ['code', 'not_found_error', 'not_found', 404],
    ['code', 'request_too_large', 'invalid', 413],
    ['code', 'invalid_request_error', 'invalid', 400],
  ),
  ...signsOf(
    'anthropic',
    'https://www.developersdigest.tech/errors/api/anthropic-api/429-enforced-spend-limit-reached',
    '2026-11-26',
    ['reason', 'enforced_spend_limit_reached', 'account', 429],
  ),
  ...signsOf('anthropic', 'npm:@anthropic-ai/sdk@1.14.0 (resources/shared)', '2026-11-28', [
    'reason',
    'contract_spend_limit_reached',
    'account',
    429,
  ]),
  ...signsOf('anthropic', 'https://github.com/anthropics/claude-code/issues/66314', '2026-06-08', [
    'words',
    /^your credit balance is too low\b/i,
    'account',
    400,
    'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or ' +
      'purchase credits.',
  ]),
  ...signsOf('anthropic', 'https://github.com/anthropics/claude-code/issues/38035', '2026-03-24', [
    'words',
    /^you have reached your specified (?:workspace )?api usage limits\b/i,
    'account',
    400,
    USAGE_LIMIT_TEXT,
  ]),
  ...signsOf(
    'anthropic',
    'https://www.developersdigest.tech/errors/api/anthropic-api/400-spend-limit-reached',
    '2026-11-26',
    [
      'words',
      /^you have reached your specified workspace api usage limits\b/i,
      'account',
      400,
      USAGE_LIMIT_TEXT.replace('specified', 'specified workspace'),
    ],
  ),
  ...signsOf('anthropic', 'https://github.com/anthropics/claude-code/issues/19028', '2026-01-18', [
    'words',
    /^this organization has been disabled\b/i,
    'account',
    400,
    'This organization has been disabled.',
  ]),
];

const google = [
  ...signsOf(
    'google',
    'https://cloud.google.com/php/docs/reference/common-protos/latest/Api.ErrorReason',
    '2026-11-26',
    ['reason', 'BILLING_DISABLED', 'account', 403],
    ['reason', 'CONSUMER_SUSPENDED', 'account', 403],
    ['reason', 'GCP_SUSPENDED', 'account', 403],
    ['reason', 'API_KEY_INVALID', 'auth', 400, 'API key not valid. Please pass a valid API key.'],
    ['reason', 'API_KEY_SERVICE_BLOCKED', 'auth', 403],
    ['reason', 'API_KEY_HTTP_REFERRER_BLOCKED', 'auth', 403],
    ['reason', 'API_KEY_IP_ADDRESS_BLOCKED', 'auth', 403],
    ['reason', 'API_KEY_ANDROID_APP_BLOCKED', 'auth', 403],
    ['reason', 'API_KEY_IOS_APP_BLOCKED', 'auth', 403],
  ),
  ...signsOf(
    'google',
    'https://ai.google.dev/gemini-api/docs/troubleshooting',
    '2026-11-26',
    ['code', 'INVALID_ARGUMENT', 'invalid', 400],
    ['code', 'FAILED_PRECONDITION', 'invalid', 400],
    ['code', 'OUT_OF_RANGE', 'invalid', 400],
    ['code', 'UNAUTHENTICATED', 'auth', 401],
    ['code', 'PERMISSION_DENIED', 'auth', 403],
    ['code', 'NOT_FOUND', 'not_found', 404],
    ['code', 'RESOURCE_EXHAUSTED', 'rate_limit', 429],
    ['code', 'UNAVAILABLE', 'overloaded', 503],
    ['code', 'INTERNAL', 'overloaded', 500],
    ['code', 'DEADLINE_EXCEEDED', 'overloaded', 504],
    [
      'words',
      /input token count .* exceeds the maximum/i,
      'context_length',
      400,
      'The input token count (9) exceeds the maximum number of tokens allowed (8).',
    ],
  ),
];

const others = [
  ...signsOf('xai', 'https://github.com/continuedev/continue/issues/10373', '2026-02-09', [
    'words',
    /^your team\b.* used all available credits\b/i,
    'account',
    429,
    TEAM_SPENT_TEXT,
  ]),
  ...signsOf('xai', 'https://github.com/Anantys-oss/koan/issues/2412', '2026-07-16', [
    'words',
    /^your team\b.* reached its monthly spending limit\b/i,
    'account',
    403,
    TEAM_SPENT_TEXT,
  ]),
  ...signsOf('xai', 'https://github.com/Wei-Shaw/sub2api/issues/4069', '2026-07-11', [
    'words',
    /^you have run out of credits or need a grok subscription\b/i,
    'account',
    403,
    'You have run out of credits or need a Grok subscription. Add credits at https://grok.com/?_s=usage.',
  ]),
  ...signsOf('groq', 'https://console.groq.com/docs/spend-limits', '2026-11-26', [
    'code',
    'blocked_api_access',
    'account',
    400,
  ]),
  ...signsOf(
    'groq',
    'https://huggingface.co/spaces/suhail1399/Load_Balancing_App/discussions/1',
    '2026-11-26',
    [
      'code',
      'organization_restricted',
      'account',
      400,
      'Organization has been restricted. Please reach out to support if you believe this was in error.',
    ],
  ),
  ...signsOf('deepseek', 'https://api-docs.deepseek.com/quick_start/error_codes', '2026-11-26', [
    'status',
    402,
    'account',
    402,
    'Insufficient Balance',
  ]),
  ...signsOf('mistral', 'https://www.developersdigest.tech/errors/api/mistral-api', '2026-11-26', [
    'status',
    402,
    'account',
    402,
    'Payment required',
  ]),
  ...signsOf('google', 'https://www.developersdigest.tech/errors/api/gemini-api', '2026-11-26', [
    'status',
    402,
    'account',
    402,
    'Resource has been exhausted (e.g. check quota).',
  ]),
  ...signsOf('cohere', 'https://www.developersdigest.tech/errors/api/cohere-api', '2026-11-26', [
    'status',
    402,
    'account',
    402,
    'Payment Required',
  ]),
  ...signsOf('openrouter', 'https://github.com/continuedev/continue/issues/12649', '2026-06-16', [
    'status',
    402,
    'account',
    402,
    'Insufficient credits. This account never purchased credits.',
  ]),
  // The balance is too small for this request only, which the caller controls, so the account stays in use.
  ...signsOf('openrouter', 'https://github.com/QwenLM/qwen-code/issues/73', '2025-07-23', [
    'words',
    /^this request requires more credits, or fewer max_tokens\b/i,
    'auth',
    402,
    'This request requires more credits, or fewer max_tokens. You requested up to 4096 tokens, but can only ' +
      'afford 222.',
  ]),
];

const general = [
  ...signsOf(
    'any',
    'RFC 9110, sections 15.5 and 15.6',
    '2022-06-01',
    ['status', 401, 'auth', 401],
    ['status', 403, 'auth', 403],
    ['status', 404, 'not_found', 404],
    ['status', 405, 'not_found', 405],
    ['status', 408, 'overloaded', 408],
    ['status', 409, 'overloaded', 409],
    ['status', 415, 'unknown', 415],
    ['status', 429, 'rate_limit', 429],
  ),
  ...signsOf('any', 'https://github.com/continuedev/continue/issues/8439', '2025-10-24', [
    'words',
    /^insufficient (?:account )?balance\b/i,
    'account',
    400,
    'Insufficient Balance',
  ]),
  ...signsOf('any', 'RFC 7725, section 3', '2016-02-01', ['status', 451, 'not_found', 451]),
  ...signsOf(
    'any',
    'answers of vLLM, llama.cpp, Anthropic, Azure and OpenAI without a code of their own',
    '2026-11-26',
    [
      'words',
      /(?:prompt|input) is too long|maximum context length|context (?:window|length)|too many (?:input )?tokens/i,
      'context_length',
      400,
      'prompt is too long: 250000 tokens > 200000 maximum',
    ],
    [
      'words',
      /content filter|content management policy|usage polic|safety system/i,
      'content_filter',
      400,
      "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
    ],
    ['words', /rate limit|too many requests/i, 'rate_limit', 429, 'Too many requests'],
    [
      'words',
      /overloaded|temporarily unavailable|at capacity/i,
      'overloaded',
      503,
      'The model is overloaded.',
    ],
  ),
];

export const errorSigns: readonly ErrorSign[] = [...openai, ...anthropic, ...google, ...others, ...general];
