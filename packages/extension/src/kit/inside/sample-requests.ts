import type { GateLane, GateRequest, OperationName, Role, SettledRecord, TextPiece } from '../../index';

const key = { id: 7, userId: 3, organisationId: 1, departmentId: 2, projectId: 4 };
const bareKey = { id: 9, userId: null, organisationId: null, departmentId: null, projectId: null };

const plain: Omit<GateRequest, 'texts'> = {
  requestId: '00000000-0000-4000-8000-000000000001',
  operation: 'chat',
  model: 'kit-model',
  stream: false,
  region: 'local',
  endUser: 'kit-user',
  tags: ['kit'],
  key,
};

const piece = (
  text: string,
  role: TextPiece['role'] = 'user',
  kind: TextPiece['kind'] = 'text',
): TextPiece => ({
  role,
  kind,
  text,
});

const operations: readonly OperationName[] = [
  'chat',
  'messages',
  'responses',
  'native',
  'completions',
  'embeddings',
  'rerank',
  'speech',
  'transcription',
  'translation',
  'image',
  'moderation',
  'count_tokens',
];

const oddTexts: readonly TextPiece[] = [
  piece(''),
  piece(' \t\r\n'),
  piece('a\u0000b\u001b[31m\u202Ec\u200B'),
  piece('\ud83d lone surrogates \ude00'),
  piece('{"note":"caf\\u00e9 \\"quoted\\" \\\\ end"}', 'assistant', 'arguments'),
  piece('{"unfinished": [1, {"a":', 'assistant', 'arguments'),
  piece('null', 'assistant', 'arguments'),
  piece('The result of a tool.', 'tool', 'result'),
  piece('Finds a customer by name.', 'system', 'definition'),
  piece(`${'word '.repeat(40_000)}`),
];

export const requestWith = (text: string, overrides: Partial<GateRequest> = {}): GateRequest => ({
  ...plain,
  texts: [piece(text)],
  ...overrides,
});

export const sampleRequests = (prompt: string): readonly GateRequest[] => [
  ...operations.map((operation) => requestWith(prompt, { operation })),
  requestWith(prompt, { stream: true, region: null, endUser: null, tags: [], key: bareKey }),
  requestWith(prompt, { model: 'a-model/that:is-unknown@1', texts: [] }),
  requestWith(prompt, { texts: [piece('You are terse.', 'system'), piece(prompt), ...oddTexts] }),
];

export const sampleLanes: readonly GateLane[] = [
  { id: 11, supplier: 'kit', model: 'kit-model', region: 'local' },
  { id: 12, supplier: 'another', model: 'other-model', region: null },
];

export const roles: readonly Role[] = [
  'user',
  'department_admin',
  'org_admin',
  'org_owner',
  'platform_admin',
  'platform_owner',
];

export const sampleRecords: readonly SettledRecord[] = [
  {
    request_id: '00000000-0000-4000-8000-000000000002',
    created_at: '2027-01-31T12:00:00.000Z',
    key_id: 7,
    user_id: 3,
    organisation_id: 1,
    department_id: 2,
    project_id: 4,
    operation: 'chat',
    model: 'kit-model',
    served_model: 'kit-model',
    supplier: 'kit',
    region: 'local',
    status: 200,
    error_code: null,
    stream: true,
    failover: false,
    input_tokens: 12,
    output_tokens: 5,
    cached_tokens: 0,
    cost_usd: '0.000022000',
    latency_ms: 310,
    first_token_ms: 120,
    finish_reason: 'stop',
    end_user: 'kit "user" ü\n',
    tags: ['kit'],
    session_id: 'kit-session',
  },
  {
    request_id: '00000000-0000-4000-8000-000000000003',
    created_at: '2027-01-31T12:00:01.000Z',
    key_id: null,
    user_id: null,
    organisation_id: null,
    department_id: null,
    project_id: null,
    operation: 'embeddings',
    model: null,
    served_model: null,
    supplier: null,
    region: null,
    status: 503,
    error_code: 'service_unavailable',
    stream: false,
    failover: false,
    input_tokens: 0,
    output_tokens: 0,
    cached_tokens: 0,
    cost_usd: '0',
    latency_ms: 0,
    first_token_ms: null,
    finish_reason: null,
    end_user: null,
    tags: [],
    // A field of a later version of the contract.
    ...{ field_of_tomorrow: { nested: [1] } },
  },
];
