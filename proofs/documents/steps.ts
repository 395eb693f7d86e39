import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { Stage } from './stage';

/** A documented command and its expected outcome. */
export interface DocumentedStep {
  readonly command: string;
  /** Prepares the state that the document takes for granted. */
  readonly before?: (stage: Stage) => void | Promise<void>;
  /** Long-running; `says` matches its output once it is ready. */
  readonly isLongRunning?: true;
  /** Stores values from its output for later steps. */
  readonly capture?: (stage: Stage, match: RegExpExecArray) => void | Promise<void>;
  /** Exit code; defaults to 0. */
  readonly code?: number;
  readonly says?: RegExp;
  /** A file that the command writes, and its expected content. */
  readonly writes?: readonly [name: string, content: RegExp];
  /** Expected HTTP status. */
  readonly status?: number;
  /** Runs in the project folder, because tests do. */
  readonly isInProject?: boolean;
}

/** Excerpt of each list for one model. */
const LITELLM = {
  'claude-opus-5': {
    litellm_provider: 'anthropic',
    mode: 'chat',
    input_cost_per_token: 0.000_005,
    output_cost_per_token: 0.000_025,
  },
};
const MODELS_DEV = {
  anthropic: {
    id: 'anthropic',
    models: { 'claude-opus-5': { id: 'claude-opus-5', cost: { input: 5, output: 25 } } },
  },
};
const write = (stage: Stage, name: string, content: object): void =>
  writeFileSync(stage.path(name), JSON.stringify(content));

/** A supplier with a model list, under the names used in the documents. */
const gatewayFile = (supplier: string): object => ({
  version: 1,
  providers: Object.fromEntries(
    ['anthropic', 'claude-eu'].map((name) => [
      name,
      { style: 'messages-style', base_url: supplier, regions: ['eu'], api_key: '${SUPPLIER_KEY}' },
    ]),
  ),
  models: {
    'house-model': {
      context_tokens: 200_000,
      max_output_tokens: 64_000,
      lanes: [{ provider: 'anthropic', model: 'claude-opus-5', region: 'eu' }],
      price: { input: 3, output: 15 },
    },
  },
});

/** In dependency order. */
export const steps: readonly DocumentedStep[] = [
  {
    command: 'node dist/simulator/main.js --port 0 --control-port 0',
    says: /"url":"([^"]+)","controlUrl":"([^"]+)"/,
    isLongRunning: true,
    capture: (stage, [, supplier = '', control = '']) => {
      Object.assign(stage.variables, {
        CONTROL_URL: control,
        SUPPLIER_URL: supplier,
        SUPPLIER_KEY: 'sim-key',
      });
    },
  },
  {
    command: 'npm start',
    says: /root admin key +(svc_\w+)\s+demo key +(svc_\w+)[^]*(curl (http:\/\/[^\s/]+)[^]*\}')/,
    isLongRunning: true,
    capture: async (stage, [, root = '', key = '', printed = '', address = '']) => {
      stage.setService(address, key);
      Object.assign(stage.variables, { ROOT_KEY: root, SVC_API_KEY: key });
      const { text } = await stage.run(printed);
      if (!text.includes('status 200')) throw new Error(`the curl that it prints: ${text}`);
    },
  },
  {
    command: `curl http://127.0.0.1:3000/v1/chat/completions \\
-H "Authorization: Bearer svc_…" -H "Content-Type: application/json" \\
-d '{"model":"sim-small","messages":[{"role":"user","content":"Hello"}]}'`,
    status: 200,
    says: /"object":"chat\.completion"/,
  },
  {
    command: `curl {{baseUrl}}/v1/manage/keys \\
-H "Authorization: Bearer $ROOT_KEY" -H "Content-Type: application/json" \\
-d '{"name": "my first key", "budget_limit": 5, "budget_period": "monthly"}'`,
    status: 200,
    says: /"key":"svc_/,
  },
  {
    command: 'curl {{baseUrl}}/v1/models -H "Authorization: Bearer $SVC_API_KEY"',
    status: 200,
    says: /"id":"sim-small"/,
  },
  {
    command: `curl -i {{baseUrl}}/v1/chat/completions \\
-H "Authorization: Bearer $SVC_API_KEY" -H "Content-Type: application/json" \\
-d '{"model": "{{chatModel}}", "messages": [{"role": "user", "content": "Hello"}]}'`,
    status: 200,
    says: /^x-request-id: (\S+)/im,
    capture: (stage, [, requestId = '']) => stage.setRequestId(requestId),
  },
  {
    command: 'curl {{baseUrl}}/v1/generations/REQUEST_ID -H "Authorization: Bearer $SVC_API_KEY"',
    before: (stage) => stage.waitForRecord(),
    status: 200,
    says: /"cost/,
  },
  {
    command: `curl -N {{baseUrl}}/v1/chat/completions \\
-H "Authorization: Bearer $SVC_API_KEY" -H "Content-Type: application/json" \\
-d '{
"model": "{{chatModel}}",
"stream": true,
"stream_options": {"include_usage": true},
"messages": [{"role": "user", "content": "Count to five"}]
}'`,
    status: 200,
    says: /"usage":\{[^]*data: \[DONE\]/,
  },
  {
    command: `curl {{baseUrl}}/v1/messages \\
-H "x-api-key: $SVC_API_KEY" -H "Content-Type: application/json" \\
-d '{"model": "{{chatModel}}", "max_tokens": 200, "messages": [{"role": "user", "content": "Hello"}]}'`,
    status: 200,
    says: /"type":"message"/,
  },
  {
    command: `curl -X POST "$CONTROL_URL/faults" -d '{"match": {"path": "/v1/messages"}, "times": 3, "fault": {"kind": "status", "status": 400,
"body": {"type": "error", "error": {"type": "invalid_request_error", "message": "Your credit balance is too low …"}}}}'`,
    status: 201,
  },
  { command: 'npm run cli -- key create --name mine', says: /^svc_\w+$/m },
  { command: 'bin/switchboard.cjs key create --name ci', says: /^svc_\w+\n$/ },
  {
    command: 'npm run cli -- plan gateway.yaml',
    before: (stage) => write(stage, 'gateway.yaml', gatewayFile(stage.variables['SUPPLIER_URL'] ?? '')),
    says: /house-model/,
  },
  {
    command: 'npm run cli -- apply gateway.yaml',
    // Without a terminal, the command does not prompt and refuses.
    code: 1,
    says: /house-model[^]*Nothing was changed/,
  },
  { command: 'npm run cli -- apply gateway.yaml --yes', says: /Applied\./ },
  { command: 'npm run cli -- apply gateway.yaml --prune', says: /Nothing to do/ },
  {
    command: 'bin/switchboard.cjs export > gateway.yaml',
    writes: ['gateway.yaml', /^version: 1$[^]*house-model/m],
  },
  {
    command: 'npm run cli -- import litellm-prices model_prices_and_context_window.json --provider anthropic',
    before: (stage) => write(stage, 'model_prices_and_context_window.json', LITELLM),
  },
  {
    command: 'npm run cli -- import models-dev api.json --provider claude-eu=anthropic --apply',
    before: (stage) => write(stage, 'api.json', MODELS_DEV),
  },
  { command: 'npm run cli -- models compare', says: /anthropic/ },
  {
    command: 'npm run cli -- models compare --provider anthropic --take house-model',
    before: async ({ rows }) =>
      void (await rows.query(
        `UPDATE model SET managed = false, facts = '{"window": 400000}' WHERE name = 'house-model'`,
      )),
    says: /house-model: taken over/,
  },
  { command: 'npm run cli -- doctor', says: /database/ },
  { command: 'npm run cli -- doctor --vendors', says: /vendors/ },
  {
    command: 'npm run cli -- sign-in-link you@example.com',
    before: async ({ rows }) =>
      void (await rows.addUser({ email: 'you@example.com', role: 'platform_owner' })),
    says: /sign-in-link\?token=/,
  },
  {
    command: 'npm run cli -- second-factor reset you@example.com --reason "lost the phone"',
    before: async ({ rows }) =>
      void (await rows.query(
        `INSERT INTO second_factor (user_id, secret, enabled_at)
         SELECT id, '\\x00', now() FROM user_account WHERE email = 'you@example.com'`,
        [],
      )),
    says: /is off, and all sessions have ended/,
  },
  { command: 'npm run cli -- demo:seed', says: /sign-in-link\?token=/ },
  { command: 'npm run cli money:verify' },
  { command: 'npm run cli -- quarantine show', says: /never restored/ },
  { command: 'npm run cli -- journal:forget', says: /No dead node holds anything/ },
  { command: 'npm run cli -- config check' },
  { command: 'npm run cli processor:check', code: 1, says: /MISSING/ },
  {
    command: 'npm run cli -- audit:export audit-2026-11.jsonl',
    // An external copy is older than the export.
    before: (stage) => {
      mkdirSync(stage.path('kept'));
      copyFileSync(stage.path('.data/audit/anchor.jsonl'), stage.path('kept/anchor.jsonl'));
    },
    says: /signed by (\S+)/,
    capture: (stage, [, key = '']) => void (stage.variables['PUBLIC_KEY'] = key),
    writes: ['audit-2026-11.jsonl', /^\{"export":/],
  },
  {
    command: 'npm run cli -- audit:export acme.jsonl --organisation acme',
    before: async ({ rows }) => void (await rows.addOrganisation('acme')),
    writes: ['acme.jsonl', /^\{"export":/],
  },
  {
    command: 'npm run cli -- audit:export platform.jsonl --platform',
    writes: ['platform.jsonl', /^\{"export":/],
  },
  { command: 'npm run cli -- audit:verify audit-2026-11.jsonl' },
  {
    command: 'npm run cli -- audit:verify audit-2026-11.jsonl --key "$PUBLIC_KEY" --anchor kept/anchor.jsonl',
  },
  { command: 'npm run cli -- audit:breaks', says: /Nothing is open/ },
  {
    command: 'npm run cli -- audit:breaks --examined 17 --conclusion "restore of Monday, ticket 4711"',
    before: async ({ rows }) =>
      void (await rows.query(
        `INSERT INTO audit_break (id, chain, kind, block, entry) VALUES (17, 0, 'missing', 1, 1)`,
      )),
  },
  {
    // The service is running; a test covers moving a stopped one.
    command: 'npm run cli -- database:move postgres://switchboard@db.internal:5432/switchboard',
    code: 1,
  },
  {
    command: 'npm run cli credentials rewrap',
    before: (stage) => {
      const { masterKey } = JSON.parse(readFileSync(stage.path('.data/secrets.json'), 'utf8')) as {
        masterKey: string;
      };
      stage.variables['MASTER_KEY'] = `${randomBytes(32).toString('base64url')},${masterKey}`;
    },
  },
  { command: 'npm test -- test/unit/kernel/money.test.ts', isInProject: true, says: /PASS/ },
];
