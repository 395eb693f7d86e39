import assert from 'node:assert/strict';
import { OVERLOADED_LANE } from './product';
import {
  checkOutside,
  makeHome,
  NOTE,
  clientContextOf,
  takeTurn,
  type AgentTrial,
  type AgentTurn,
  WRONG_KEY,
} from './agent';

const client = 'Claude Code';
const script = '@anthropic-ai/claude-code/cli-wrapper.cjs';

/** A key is sent as `x-api-key`, a token as a bearer token. */
const credentials = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'] as const;
const models = ['messages-model', 'chat-model'];

/** Path of the supplier for the second lane of `second-…-model`. `BedrockFront` unwraps the calls of Bedrock. */
const secondLanes = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
  gemini: '/v1beta/models/gemini-3.8-flash:streamGenerateContent',
  bedrock: '/v1/messages',
} as const;

export async function tryClaudeCode(trial: AgentTrial): Promise<void> {
  for (const model of models) {
    for (const credential of credentials) {
      await trial.findings.attempt(
        `${client} · ${model}, ${credential} · a file read, then a second turn`,
        async () => {
          const { send, note } = agent(trial, model, { [credential]: trial.product.key });
          const first = await send(`Read it. [[tool=Read({"file_path":"${note}"})]]`, [
            '--allowedTools',
            'Read',
          ]);
          assert.ok(JSON.stringify(first.events).includes('"tool_use_result"'), first.output);
          const { result, usage, session_id: session } = resultOf(first);
          assert.match(String(result), new RegExp(`^The tools answered: .*${NOTE}`, 's'));
          assert.ok(usage.input_tokens > 0 && usage.output_tokens > 0, first.output);

          const second = await send('Say more. [[tokens=6]]', ['--resume', String(session)]);
          assert.equal(resultOf(second).session_id, session);
          assert.equal(String(resultOf(second).result).split(' ').length, 6, second.output);
        },
      );
    }
  }
  for (const [style, path] of Object.entries(secondLanes)) {
    await trial.findings.attempt(
      `${client} · auto mode, first lane overloaded, second lane ${style} · a command`,
      () => failOver(trial, style, path),
    );
  }
  await trial.findings.attempt(
    `${client} · a wrong key, an unknown model, a broken stream: each told`,
    async () => {
      const expectRefusal = async (model: string, environment: Record<string, string>): Promise<string> => {
        const turn = await agent(trial, model, environment).send('Say a lot. [[tokens=60]]', []);
        assert.equal(resultOf(turn).is_error, true, turn.output);
        return String(resultOf(turn).result);
      };
      // By default, Claude Code retries a refused request for minutes; these responses stop it.
      assert.match(
        await expectRefusal('messages-model', { ANTHROPIC_API_KEY: WRONG_KEY }),
        /401 invalid_api_key - /,
      );
      const validKey = { ANTHROPIC_API_KEY: trial.product.key };
      assert.match(await expectRefusal('no-such-model', validKey), /issue with the selected model/);
      const withoutRetries = { ...validKey, CLAUDE_CODE_MAX_RETRIES: '0' };
      assert.match(await expectRefusal('failing-chat-model', withoutRetries), /API Error/);
    },
  );
  await checkOutside(trial, client);
}

/**
 * Runs a turn of auto mode, which adds `safeguards` to each request. Claude Code repeats a request without the field if
 * no lane that takes the field is healthy. Bedrock's InvokeModel takes it (docs.litellm.ai/docs/claude_code_auto_mode).
 */
async function failOver(trial: AgentTrial, style: string, path: string): Promise<string> {
  const { supplier, key } = trial.product;
  const before = (await supplier.requests()).at(-1)?.id ?? 0;
  // Without retries, nothing but the gateway can reach the second lane.
  const { send: ask } = agent(trial, `second-${style}-model`, {
    ANTHROPIC_API_KEY: key,
    CLAUDE_CODE_MAX_RETRIES: '0',
  });
  const turn = await ask('Read it. [[tool=Bash({"command":"cat note.txt"})]]', ['--permission-mode', 'auto']);
  const { result, is_error: isError } = resultOf(turn);
  assert.equal(isError, false, turn.output);
  assert.match(String(result), new RegExp(`^The tools answered: .*${NOTE}`, 's'));
  const requests = await supplier.requests(before);
  const overloaded = requests.filter(({ lane }) => lane === OVERLOADED_LANE);
  const answering = requests.filter(({ lane }) => lane !== OVERLOADED_LANE);
  assert.ok(overloaded.length > 0 && overloaded.every(({ status }) => status === 529), 'no first lane');
  assert.ok(
    overloaded.some(({ body }) => JSON.stringify(body).includes('"safeguards"')),
    'no safeguards',
  );
  const seen = answering.map((request) => `${request.path} ${request.status} ${request.words}`);
  assert.ok(
    answering.length >= 2 && answering.every((request) => request.path === path && request.status === 200),
    seen.join('\n'),
  );
  return `${overloaded.length} refused with 529, ${answering.length} answered`;
}

interface ClaudeAgent {
  readonly note: string;
  readonly send: (prompt: string, args: readonly string[]) => Promise<AgentTurn>;
}

/** Configuration from docs/clients.md. */
function agent(
  { product, outside, folder }: AgentTrial,
  model: string,
  environment: Record<string, string>,
): ClaudeAgent {
  const home = makeHome(folder, `claude-${model}-${Object.keys(environment).join()}`);
  const clientContext = clientContextOf(home, outside, {
    ...environment,
    ANTHROPIC_BASE_URL: product.url,
    ANTHROPIC_MODEL: model,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
    CLAUDE_CODE_MAX_CONTEXT_TOKENS: '200000',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  });
  const settings = ['--output-format', 'stream-json', '--verbose'];
  return {
    note: home.note,
    send: (prompt, args) => takeTurn(script, ['-p', prompt, ...settings, ...args], clientContext),
  };
}

interface ClaudeResult {
  readonly result: unknown;
  readonly is_error: boolean;
  readonly session_id: unknown;
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number };
}

function resultOf({ events, output, complaint }: AgentTurn): ClaudeResult {
  const last = events.find(({ type }) => type === 'result');
  assert.ok(last, output + complaint);
  return last as unknown as ClaudeResult;
}
