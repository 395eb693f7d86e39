import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  checkOutside,
  type AgentEvent,
  makeHome,
  NOTE,
  clientContextOf,
  takeTurn,
  type AgentTrial,
  type AgentTurn,
  WRONG_KEY,
} from './agent';

const client = 'Codex';
const script = '@openai/codex/bin/codex.js';

/** Base URL per model: the native route passes requests through, the other one converts if necessary. */
const routes = {
  'native-model': '/v1/native',
  'responses-model': '/v1',
  'chat-model': '/v1',
  'messages-model': '/v1',
} as const;

/** Codex has settings of its own for this model. */
const KNOWN_MODEL = 'gpt-6.1-sol';

/** Configuration from docs/clients.md, without retries, so that a failure shows immediately. */
const configuration = (baseUrl: string, model: string): string => `model = "${model}"
model_provider = "switchboard"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
plugins = false
apps = false

[model_providers.switchboard]
name = "Switchboard"
base_url = "${baseUrl}"
env_key = "SWITCHBOARD_API_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
`;

export async function tryCodex(trial: AgentTrial): Promise<void> {
  for (const [model, route] of Object.entries(routes)) {
    await trial.findings.attempt(
      `${client} · ${model} at ${route} · a shell command, then a second turn`,
      async () => {
        const runTurn = agent(trial, model, route);
        const first = await runTurn(['exec'], 'Read the note. [[tool=exec_command({"cmd":"cat note.txt"})]]');
        const commandItem = itemsOf(first, 'command_execution').at(-1);
        assert.equal(commandItem?.aggregated_output, `${NOTE}\n`, first.output);
        assert.match(replyIn(first), /^The tools answered: /);
        const usage = first.events.at(-1)?.usage as AgentEvent | undefined;
        assert.ok(Number(usage?.input_tokens) > 0 && Number(usage?.output_tokens) > 0, first.output);

        const thread = String(first.events[0]?.thread_id);
        const second = await runTurn(['exec', 'resume', thread], 'Say more. [[tokens=6]]');
        assert.equal(second.events[0]?.thread_id, thread);
        assert.equal(replyIn(second).split(' ').length, 6, second.output);
      },
    );
  }
  await trial.findings.attempt(
    `${client} · ${KNOWN_MODEL} of a supplier of chat · a tool that an item of the input adds`,
    async () => {
      const ask = agent(trial, KNOWN_MODEL, '/v1');
      const turn = await ask(
        ['exec'],
        `Run it. [[tool=functions__exec({"input":"text('${NOTE}'.toUpperCase())"})]]`,
      );
      assert.match(replyIn(turn), new RegExp(`^The tools answered: .*${NOTE.toUpperCase()}`, 's'));
    },
  );
  await trial.findings.attempt(
    `${client} · a wrong key, an unknown model, a broken stream: each told by its code`,
    async () => {
      const wrongKeyTurn = await agent(trial, 'chat-model', '/v1', WRONG_KEY)(['exec'], 'x');
      assert.match(failureOf(wrongKeyTurn), /401.*invalid_api_key - /);
      const unknownModelTurn = await agent(trial, 'no-such-model', '/v1')(['exec'], 'x');
      assert.match(failureOf(unknownModelTurn), /model_not_found - /);
      const brokenStreamTurn = await agent(
        trial,
        'failing-messages-model',
        '/v1',
      )(['exec'], 'Say a lot. [[tokens=60]]');
      assert.match(failureOf(brokenStreamTurn), /stream_interrupted - /);
    },
  );
  await checkOutside(trial, client);
}

type RunCodexTurn = (command: readonly string[], prompt: string) => Promise<AgentTurn>;

function agent(
  { product, outside, folder }: AgentTrial,
  model: string,
  route: string,
  key = product.key,
): RunCodexTurn {
  const home = makeHome(folder, `codex-${model}`);
  writeFileSync(join(home.home, '.codex', 'config.toml'), configuration(product.url + route, model));
  const clientContext = clientContextOf(home, outside, { SWITCHBOARD_API_KEY: key });
  const settings = ['--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'];
  return (command, prompt) => takeTurn(script, [...command, ...settings, prompt], clientContext);
}

const itemsOf = ({ events }: AgentTurn, type: string): AgentEvent[] =>
  events
    .filter((event) => event.type === 'item.completed')
    .map((event) => event.item as AgentEvent)
    .filter((item) => item.type === type);

const replyIn = (turn: AgentTurn): string => String(itemsOf(turn, 'agent_message').at(-1)?.text);

function failureOf({ events, output }: AgentTurn): string {
  const failedEvent = events.find(({ type }) => type === 'turn.failed');
  assert.ok(failedEvent, output);
  return String((failedEvent.error as AgentEvent).message);
}
