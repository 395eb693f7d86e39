import assert from 'node:assert/strict';
import { checkOutside, makeHome, NOTE, placeOf, takeTurn, type Trial, type Turn, WRONG_KEY } from './agent';

const client = 'Claude Code';
const script = '@anthropic-ai/claude-code/cli-wrapper.cjs';

/** A key is sent as `x-api-key`, a token as bearer. */
const credentials = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'] as const;
const models = ['messages-model', 'chat-model'];

export async function tryClaudeCode(trial: Trial): Promise<void> {
  for (const model of models) {
    for (const credential of credentials) {
      await trial.findings.attempt(
        `${client} · ${model}, ${credential} · a file read, then a second turn`,
        async () => {
          const { ask, note } = agent(trial, model, { [credential]: trial.product.key });
          const first = await ask(`Read it. [[tool=Read({"file_path":"${note}"})]]`, [
            '--allowedTools',
            'Read',
          ]);
          assert.ok(JSON.stringify(first.events).includes('"tool_use_result"'), first.output);
          const { result, usage, session_id: session } = ended(first);
          assert.match(String(result), new RegExp(`^The tools answered: .*${NOTE}`, 's'));
          assert.ok(usage.input_tokens > 0 && usage.output_tokens > 0, first.output);

          const second = await ask('Say more. [[tokens=6]]', ['--resume', String(session)]);
          assert.equal(ended(second).session_id, session);
          assert.equal(String(ended(second).result).split(' ').length, 6, second.output);
        },
      );
    }
  }
  await trial.findings.attempt(
    `${client} · a wrong key, an unknown model, a broken stream: each told`,
    async () => {
      const refused = async (model: string, environment: Record<string, string>): Promise<string> => {
        const turn = await agent(trial, model, environment).ask('Say a lot. [[tokens=60]]', []);
        assert.equal(ended(turn).is_error, true, turn.output);
        return String(ended(turn).result);
      };
      // By default it repeats a refused request for minutes. These answers tell it to stop.
      assert.match(
        await refused('messages-model', { ANTHROPIC_API_KEY: WRONG_KEY }),
        /401 invalid_api_key - /,
      );
      const known = { ANTHROPIC_API_KEY: trial.product.key };
      assert.match(await refused('no-such-model', known), /issue with the selected model/);
      const impatient = { ...known, CLAUDE_CODE_MAX_RETRIES: '0' };
      assert.match(await refused('failing-chat-model', impatient), /API Error/);
    },
  );
  await checkOutside(trial, client);
}

interface Agent {
  readonly note: string;
  readonly ask: (prompt: string, words: readonly string[]) => Promise<Turn>;
}

/** The set-up of docs/clients.md. */
function agent(
  { product, outside, folder }: Trial,
  model: string,
  environment: Record<string, string>,
): Agent {
  const own = makeHome(folder, `claude-${model}-${Object.keys(environment).join()}`);
  const place = placeOf(own, outside, {
    ...environment,
    ANTHROPIC_BASE_URL: product.url,
    ANTHROPIC_MODEL: model,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
    CLAUDE_CODE_MAX_CONTEXT_TOKENS: '200000',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  });
  const settings = ['--output-format', 'stream-json', '--verbose'];
  return {
    note: own.note,
    ask: (prompt, words) => takeTurn(script, ['-p', prompt, ...settings, ...words], place),
  };
}

interface Ended {
  readonly result: unknown;
  readonly is_error: boolean;
  readonly session_id: unknown;
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number };
}

function ended({ events, output, complaint }: Turn): Ended {
  const last = events.find(({ type }) => type === 'result');
  assert.ok(last, output + complaint);
  return last as unknown as Ended;
}
