import { claudeRules } from '../../../simulator/vendors/claude-rules';
import { deepseekRules } from '../../../simulator/vendors/deepseek-rules';
import { geminiRules } from '../../../simulator/vendors/gemini-rules';
import { groqRules } from '../../../simulator/vendors/groq-rules';
import { mistralRules } from '../../../simulator/vendors/mistral-rules';
import { openaiChatRules, openaiResponsesRules } from '../../../simulator/vendors/openai-rules';
import { xaiRules } from '../../../simulator/vendors/xai-rules';
import { startSimulator, type Simulator } from '../../support/simulator';
import { call, eventsOf, jsonOf, messagesHeaders, openaiHeaders, type Seen } from './client';
import type { VendorCase } from './vendor-cases/case';
import { claudeCases } from './vendor-cases/claude';
import { openaiChatCases, openaiResponsesCases } from './vendor-cases/openai';
import { deepseekCases, geminiCases, groqCases, mistralCases, xaiCases } from './vendor-cases/others';

let simulator: Simulator;
beforeAll(async () => void (simulator = await startSimulator()));
afterAll(() => simulator.stop());

const least = {
  chat: { messages: [{ role: 'user', content: 'hello' }] },
  responses: { input: 'hello' },
  messages: { max_tokens: 4_000, messages: [{ role: 'user', content: 'hello' }] },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] },
};
const geminiHeaders = { 'x-goog-api-key': 'sim-key', 'content-type': 'application/json' };

function ask(
  { wire, model }: Pick<VendorCase, 'wire' | 'model'>,
  more: object,
  headers?: Record<string, string>,
): Promise<Seen> {
  const body = { ...least[wire], ...more };
  if (wire === 'gemini') {
    const url = `${simulator.url}/v1beta/models/${model}:generateContent`;
    return call(url, body, { headers: headers ?? geminiHeaders });
  }
  const path = { chat: 'chat/completions', responses: 'responses', messages: 'messages' }[wire];
  return call(`${simulator.url}/v1/${path}`, { model, ...body }, headers ? { headers } : {});
}

const everyRule = {
  claude: { rules: claudeRules, cases: claudeCases },
  'openai chat': { rules: openaiChatRules, cases: openaiChatCases },
  'openai responses': { rules: openaiResponsesRules, cases: openaiResponsesCases },
  deepseek: { rules: deepseekRules, cases: deepseekCases },
  groq: { rules: groqRules, cases: groqCases },
  xai: { rules: xaiRules, cases: xaiCases },
  mistral: { rules: mistralRules, cases: mistralCases },
  gemini: { rules: geminiRules, cases: geminiCases },
};

/** Rules about what was answered before, which only a conversation can break. */
const inConversation = ['thinking that was altered', 'thinking of another conversation'];

describe.each(Object.entries(everyRule))('%s', (_name, { rules, cases }) => {
  it('has a case for every rule, and every rule its source', () => {
    const named = new Set(cases.map(({ rule }) => rule));
    const names = rules.map(({ name }) => name);
    expect(names.filter((name) => !named.has(name) && !inConversation.includes(name))).toEqual([]);
    expect([...named].filter((name) => !names.includes(name))).toEqual([]);
    expect(rules.filter(({ source }) => !source.startsWith('https://'))).toEqual([]);
  });

  it.each(cases.map((one): [string, string, VendorCase] => [one.model, one.rule, one]))(
    '%s refuses %s in its own words',
    async (_model, _rule, one) => {
      const seen = await ask(one, one.breaks);
      expect({ status: seen.status, body: JSON.stringify(jsonOf(seen)) }).toEqual({
        status: one.status ?? 400,
        body: expect.stringContaining(JSON.stringify(one.says).slice(1, -1)),
      });
    },
  );

  it.each(
    cases
      .filter(({ status }) => status !== 404)
      .map((one): [string, string, VendorCase] => [one.model, one.rule, one]),
  )('%s answers the nearest request without %s', async (_model, _rule, one) => {
    const seen = await ask(one, one.keeps);
    expect({ status: seen.status, body: seen.bytes.toString() }).toEqual({
      status: 200,
      body: expect.not.stringContaining('"error":{'),
    });
  });
});

interface Message {
  content: { type: string; thinking?: string; signature?: string; id?: string; text?: string }[];
}

describe('thinking that comes back', () => {
  const model = 'claude-opus-5-5';
  const wire = 'messages';
  const first = { role: 'user', content: '[[tool=count]] hello' };
  const tools = [{ name: 'count', input_schema: { type: 'object' } }];
  const answered = async (asked: string = model): Promise<Message> =>
    jsonOf<Message>(await ask({ wire, model: asked }, { tools, messages: [first] }));
  const back = (message: Message, before: object = first): object => ({
    tools,
    messages: [
      before,
      { role: 'assistant', content: message.content },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: message.content.find(({ type }) => type === 'tool_use')?.id,
            content: '1',
          },
        ],
      },
    ],
  });

  it('is taken as it was, however the conversation is spelled', async () => {
    const message = await answered();
    expect(message.content[0]).toMatchObject({ type: 'thinking', thinking: '' });
    expect((await ask({ wire, model }, back(message))).status).toBe(200);
    const spelled = { content: [{ text: first.content, type: 'text' }], role: 'user' };
    expect((await ask({ wire, model }, back(message, spelled))).status).toBe(200);
  });

  it('is refused where it was altered', async () => {
    const message = await answered();
    message.content[0]!.thinking = 'something else';
    const seen = await ask({ wire, model }, back(message));
    expect(seen.status).toBe(400);
    expect(seen.bytes.toString()).toContain('blocks in the latest assistant message cannot be modified');
  });

  it('is refused where what came before has changed, unless the request lets it fall', async () => {
    const changed = back(await answered(), { role: 'user', content: '[[tool=count]] hello, you' });
    const seen = await ask({ wire, model }, changed);
    expect(seen.status).toBe(400);
    expect(seen.bytes.toString()).toContain('The block is bound to a different conversation.');
    const thinking = {
      type: 'adaptive',
      block_binding: { prefix_mismatch_behavior: 'drop_block' },
    };
    expect((await ask({ wire, model }, { ...changed, thinking })).status).toBe(400);
    const beta = { ...messagesHeaders, 'anthropic-beta': 'thinking-binding-controls-2026-08-01' };
    expect((await ask({ wire, model }, { ...changed, thinking }, beta)).status).toBe(200);
    expect((await ask({ wire, model: 'claude-opus-5' }, changed)).status).toBe(200);
  });

  it('of another model or account is passed over', async () => {
    const message = await answered('claude-sonnet-5-5');
    expect((await ask({ wire, model }, back(message))).status).toBe(200);
    const other = { ...messagesHeaders, 'x-api-key': 'sim-other' };
    expect((await ask({ wire, model }, back(await answered()), other)).status).toBe(200);
  });
});

describe('models answer as real ones do', () => {
  it('is shown by DeepSeek with its reasoning, unless told not to think', async () => {
    interface Chat {
      choices: { message: { reasoning_content?: string } }[];
    }
    const one = { wire: 'chat', model: 'deepseek-v4-pro' } as const;
    expect(jsonOf<Chat>(await ask(one, {})).choices[0]?.message.reasoning_content).toMatch(/\w/);
    const off = { thinking: { type: 'disabled' } };
    expect(jsonOf<Chat>(await ask(one, off)).choices[0]?.message).not.toHaveProperty('reasoning_content');
  });

  it('comes from Gemini with a signature under each first call, which has to come back', async () => {
    interface Answer {
      candidates: { content: { role: string; parts: Record<string, unknown>[] } }[];
    }
    const one = { wire: 'gemini', model: 'gemini-3.8-flash' } as const;
    const asked = { role: 'user', parts: [{ text: '[[tool=count]] hello' }] };
    const tools = [{ functionDeclarations: [{ name: 'count', parameters: { type: 'object' } }] }];
    const answer = jsonOf<Answer>(await ask(one, { tools, contents: [asked] }));
    const content = answer.candidates[0]!.content;
    const result = { role: 'user', parts: [{ functionResponse: { name: 'count', response: {} } }] };
    const contents = [asked, content, result];
    expect((await ask(one, { tools, contents })).status).toBe(200);
    const other = { ...geminiHeaders, 'x-goog-api-key': 'sim-other' };
    expect((await ask(one, { tools, contents }, other)).status).toBe(400);
  });

  it('streams from Gemini, its last event with the reason and the usage', async () => {
    const url = `${simulator.url}/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse`;
    const events = eventsOf<{ usageMetadata?: object; candidates: { finishReason?: string }[] }>(
      await call(url, least.gemini, { headers: geminiHeaders }),
    );
    expect(events.length).toBeGreaterThan(2);
    expect(events.at(-1)).toMatchObject({
      usageMetadata: { thoughtsTokenCount: 12 },
      candidates: [{ finishReason: 'STOP' }],
    });
    expect(events.slice(0, -1).filter((event) => event.usageMetadata !== undefined)).toEqual([]);
  });

  it('reads encrypted reasoning of its own account alone', async () => {
    const one = { wire: 'responses', model: 'gpt-6.1-sol' } as const;
    const asked = { include: ['reasoning.encrypted_content'], store: false };
    const { output } = jsonOf<{ output: object[] }>(await ask(one, asked));
    const again = { ...asked, input: [...output, { role: 'user', content: 'and?' }] };
    expect((await ask(one, again)).status).toBe(200);
    const other = await ask(one, again, { ...openaiHeaders, authorization: 'Bearer sim-other' });
    expect(jsonOf<object>(other)).toMatchObject({ error: { code: 'invalid_encrypted_content' } });
  });
});

describe('models and interfaces', () => {
  it.each([
    ['claude-opus-5-5', 'chat'],
    ['gpt-6.1-sol', 'messages'],
    ['deepseek-v4-pro', 'responses'],
    ['gemini-3.8-flash', 'chat'],
    ['gpt-5.5', 'gemini'],
    ['gpt-5.5-foo', 'chat'],
    ['claude-3-opus', 'messages'],
  ] as const)('%s is not there on %s', async (model, wire) => {
    expect((await ask({ wire, model }, {})).status).toBe(404);
  });

  it('leaves the models of the simulator as they were', async () => {
    const body = { model: 'sim-small', max_tokens: 5, messages: least.chat.messages, temperature: 0.2 };
    expect((await call(`${simulator.url}/v1/chat/completions`, body)).status).toBe(200);
    expect((await call(`${simulator.url}/v1/messages`, body)).status).toBe(200);
  });
});

describe('a lenient server', () => {
  const one = { wire: 'messages', model: 'claude-opus-5-5' } as const;
  const broken = { temperature: 0.2 };
  const switchTo = async (rules: string): Promise<number> =>
    (await fetch(`${simulator.controlUrl}/vendors?rules=${rules}`, { method: 'PUT' })).status;

  it('is switched on and off over the control port', async () => {
    expect((await ask(one, broken)).status).toBe(400);
    expect(await switchTo('lenient')).toBe(200);
    expect((await ask(one, broken)).status).toBe(200);
    expect(await switchTo('strict')).toBe(200);
    expect((await ask(one, broken)).status).toBe(400);
    expect(await switchTo('kind')).toBe(400);
  });

  it('is started by a setting', async () => {
    const lenient = await startSimulator({ vendors: 'lenient' });
    try {
      const body = { ...least.messages, ...broken, model: one.model };
      expect((await call(`${lenient.url}/v1/messages`, body)).status).toBe(200);
    } finally {
      await lenient.stop();
    }
  });
});
