import { claudeRules } from '../../../simulator/vendors/claude-rules';
import { deepseekRules } from '../../../simulator/vendors/deepseek-rules';
import { geminiRules } from '../../../simulator/vendors/gemini-rules';
import { groqRules } from '../../../simulator/vendors/groq-rules';
import { mistralRules } from '../../../simulator/vendors/mistral-rules';
import { openaiChatRules, openaiResponsesRules } from '../../../simulator/vendors/openai-rules';
import { xaiRules } from '../../../simulator/vendors/xai-rules';
import { startSimulator, type Simulator } from '../../support/simulator';
import { call, eventsOf, jsonOf, messagesHeaders, openaiHeaders, type RawResponse } from './client';
import type { VendorCase } from './vendor-cases/vendor-case';
import { claudeCases } from './vendor-cases/claude';
import { openaiChatCases, openaiResponsesCases } from './vendor-cases/openai';
import { deepseekCases, geminiCases, groqCases, mistralCases, xaiCases } from './vendor-cases/others';

let simulator: Simulator;
beforeAll(async () => void (simulator = await startSimulator()));
afterAll(() => simulator.stop());

const minimalBodies = {
  chat: { messages: [{ role: 'user', content: 'hello' }] },
  responses: { input: 'hello' },
  messages: { max_tokens: 4_000, messages: [{ role: 'user', content: 'hello' }] },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] },
};
const geminiHeaders = { 'x-goog-api-key': 'sim-key', 'content-type': 'application/json' };

function sendRequest(
  { wire, model }: Pick<VendorCase, 'wire' | 'model'>,
  more: object,
  headers?: Record<string, string>,
): Promise<RawResponse> {
  const body = { ...minimalBodies[wire], ...more };
  if (wire === 'gemini') {
    const url = `${simulator.url}/v1beta/models/${model}:generateContent`;
    return call(url, body, { headers: headers ?? geminiHeaders });
  }
  const path = { chat: 'chat/completions', responses: 'responses', messages: 'messages' }[wire];
  return call(`${simulator.url}/v1/${path}`, { model, ...body }, headers ? { headers } : {});
}

const vendorRules = {
  claude: { rules: claudeRules, cases: claudeCases },
  'openai chat': { rules: openaiChatRules, cases: openaiChatCases },
  'openai responses': { rules: openaiResponsesRules, cases: openaiResponsesCases },
  deepseek: { rules: deepseekRules, cases: deepseekCases },
  groq: { rules: groqRules, cases: groqCases },
  xai: { rules: xaiRules, cases: xaiCases },
  mistral: { rules: mistralRules, cases: mistralCases },
  gemini: { rules: geminiRules, cases: geminiCases },
};

/** Rules about earlier turns, which only a conversation can break. */
const conversationRules = ['thinking that was altered', 'thinking of another conversation'];

describe.each(Object.entries(vendorRules))('Vendor rules: %s', (_name, { rules, cases }) => {
  it('have a case for every rule and a source for every rule', () => {
    const testedRules = new Set(cases.map(({ rule }) => rule));
    const names = rules.map(({ name }) => name);
    expect(names.filter((name) => !testedRules.has(name) && !conversationRules.includes(name))).toEqual([]);
    expect([...testedRules].filter((name) => !names.includes(name))).toEqual([]);
    expect(rules.filter(({ source }) => !source.startsWith('https://'))).toEqual([]);
  });

  it.each(cases.map((one): [string, string, VendorCase] => [one.model, one.rule, one]))(
    '%s refuses %s with the error of the vendor',
    async (_model, _rule, one) => {
      const response = await sendRequest(one, one.breaks);
      expect({ status: response.status, body: JSON.stringify(jsonOf(response)) }).toEqual({
        status: one.status ?? 400,
        body: expect.stringContaining(JSON.stringify(one.says).slice(1, -1)),
      });
    },
  );

  it.each(
    cases
      .filter(({ status }) => status !== 404)
      .map((one): [string, string, VendorCase] => [one.model, one.rule, one]),
  )('%s accepts the most similar request without %s', async (_model, _rule, one) => {
    const response = await sendRequest(one, one.keeps);
    expect({ status: response.status, body: response.bytes.toString() }).toEqual({
      status: 200,
      body: expect.not.stringContaining('"error":{'),
    });
  });
});

interface VendorMessage {
  content: { type: string; thinking?: string; signature?: string; id?: string; text?: string }[];
}

describe('Returned thinking', () => {
  const model = 'claude-opus-5-5';
  const wire = 'messages';
  const first = { role: 'user', content: '[[tool=count]] hello' };
  const tools = [{ name: 'count', input_schema: { type: 'object' } }];
  const createMessage = async (asked: string = model): Promise<VendorMessage> =>
    jsonOf<VendorMessage>(await sendRequest({ wire, model: asked }, { tools, messages: [first] }));
  const sendBack = (message: VendorMessage, before: object = first): object => ({
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

  it('is accepted unchanged in any spelling of the conversation', async () => {
    const message = await createMessage();
    expect(message.content[0]).toMatchObject({ type: 'thinking', thinking: '' });
    expect((await sendRequest({ wire, model }, sendBack(message))).status).toBe(200);
    const respelled = { content: [{ text: first.content, type: 'text' }], role: 'user' };
    expect((await sendRequest({ wire, model }, sendBack(message, respelled))).status).toBe(200);
  });

  it('is refused when it was altered', async () => {
    const message = await createMessage();
    message.content[0]!.thinking = 'something else';
    const response = await sendRequest({ wire, model }, sendBack(message));
    expect(response.status).toBe(400);
    expect(response.bytes.toString()).toContain('blocks in the latest assistant message cannot be modified');
  });

  it('is refused when the earlier conversation changed, unless the request allows dropping it', async () => {
    const changedBody = sendBack(await createMessage(), {
      role: 'user',
      content: '[[tool=count]] hello, you',
    });
    const response = await sendRequest({ wire, model }, changedBody);
    expect(response.status).toBe(400);
    expect(response.bytes.toString()).toContain('The block is bound to a different conversation.');
    const thinking = {
      type: 'adaptive',
      block_binding: { prefix_mismatch_behavior: 'drop_block' },
    };
    expect((await sendRequest({ wire, model }, { ...changedBody, thinking })).status).toBe(400);
    const beta = { ...messagesHeaders, 'anthropic-beta': 'thinking-binding-controls-2026-08-01' };
    expect((await sendRequest({ wire, model }, { ...changedBody, thinking }, beta)).status).toBe(200);
    expect((await sendRequest({ wire, model: 'claude-opus-5' }, changedBody)).status).toBe(200);
  });

  it('of another model or account is ignored', async () => {
    const message = await createMessage('claude-sonnet-5-5');
    expect((await sendRequest({ wire, model }, sendBack(message))).status).toBe(200);
    const otherHeaders = { ...messagesHeaders, 'x-api-key': 'sim-other' };
    expect((await sendRequest({ wire, model }, sendBack(await createMessage()), otherHeaders)).status).toBe(
      200,
    );
  });
});

describe('Vendor behaviour', () => {
  it('DeepSeek returns its reasoning unless thinking is disabled', async () => {
    interface DeepseekChat {
      choices: { message: { reasoning_content?: string } }[];
    }
    const one = { wire: 'chat', model: 'deepseek-v4-pro' } as const;
    expect(jsonOf<DeepseekChat>(await sendRequest(one, {})).choices[0]?.message.reasoning_content).toMatch(
      /\w/,
    );
    const thinkingOff = { thinking: { type: 'disabled' } };
    expect(jsonOf<DeepseekChat>(await sendRequest(one, thinkingOff)).choices[0]?.message).not.toHaveProperty(
      'reasoning_content',
    );
  });

  it('Gemini signs the first function call, and requires the signature of the same account in the next turn', async () => {
    interface GeminiResult {
      candidates: { content: { role: string; parts: Record<string, unknown>[] } }[];
    }
    const one = { wire: 'gemini', model: 'gemini-3.8-flash' } as const;
    const userTurn = { role: 'user', parts: [{ text: '[[tool=count]] hello' }] };
    const tools = [{ functionDeclarations: [{ name: 'count', parameters: { type: 'object' } }] }];
    const answer = jsonOf<GeminiResult>(await sendRequest(one, { tools, contents: [userTurn] }));
    const content = answer.candidates[0]!.content;
    const result = { role: 'user', parts: [{ functionResponse: { name: 'count', response: {} } }] };
    const contents = [userTurn, content, result];
    expect((await sendRequest(one, { tools, contents })).status).toBe(200);
    const otherHeaders = { ...geminiHeaders, 'x-goog-api-key': 'sim-other' };
    expect((await sendRequest(one, { tools, contents }, otherHeaders)).status).toBe(400);
  });

  it('Gemini streams the finish reason and the usage in its last event', async () => {
    const url = `${simulator.url}/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse`;
    const events = eventsOf<{ usageMetadata?: object; candidates: { finishReason?: string }[] }>(
      await call(url, minimalBodies.gemini, { headers: geminiHeaders }),
    );
    expect(events.length).toBeGreaterThan(2);
    expect(events.at(-1)).toMatchObject({
      usageMetadata: { thoughtsTokenCount: 12 },
      candidates: [{ finishReason: 'STOP' }],
    });
    expect(events.slice(0, -1).filter((event) => event.usageMetadata !== undefined)).toEqual([]);
  });

  it('encrypted reasoning is readable only by the same account', async () => {
    const one = { wire: 'responses', model: 'gpt-6.1-sol' } as const;
    const encryptedRequest = { include: ['reasoning.encrypted_content'], store: false };
    const { output } = jsonOf<{ output: object[] }>(await sendRequest(one, encryptedRequest));
    const nextRequest = { ...encryptedRequest, input: [...output, { role: 'user', content: 'and?' }] };
    expect((await sendRequest(one, nextRequest)).status).toBe(200);
    const other = await sendRequest(one, nextRequest, {
      ...openaiHeaders,
      authorization: 'Bearer sim-other',
    });
    expect(jsonOf<object>(other)).toMatchObject({ error: { code: 'invalid_encrypted_content' } });
  });
});

describe('Models per API format', () => {
  it.each([
    ['claude-opus-5-5', 'chat'],
    ['gpt-6.1-sol', 'messages'],
    ['deepseek-v4-pro', 'responses'],
    ['gemini-3.8-flash', 'chat'],
    ['gpt-5.5', 'gemini'],
    ['gpt-5.5-foo', 'chat'],
    ['claude-3-opus', 'messages'],
  ] as const)('%s is not available on %s', async (model, wire) => {
    expect((await sendRequest({ wire, model }, {})).status).toBe(404);
  });

  it('do not restrict the models of the simulator', async () => {
    const body = {
      model: 'sim-small',
      max_tokens: 5,
      messages: minimalBodies.chat.messages,
      temperature: 0.2,
    };
    expect((await call(`${simulator.url}/v1/chat/completions`, body)).status).toBe(200);
    expect((await call(`${simulator.url}/v1/messages`, body)).status).toBe(200);
  });
});

describe('A lenient server', () => {
  const one = { wire: 'messages', model: 'claude-opus-5-5' } as const;
  const brokenField = { temperature: 0.2 };
  const switchTo = async (rules: string): Promise<number> =>
    (await fetch(`${simulator.controlUrl}/vendors?rules=${rules}`, { method: 'PUT' })).status;

  it('is switched on and off over the control port', async () => {
    expect((await sendRequest(one, brokenField)).status).toBe(400);
    expect(await switchTo('lenient')).toBe(200);
    expect((await sendRequest(one, brokenField)).status).toBe(200);
    expect(await switchTo('strict')).toBe(200);
    expect((await sendRequest(one, brokenField)).status).toBe(400);
    expect(await switchTo('kind')).toBe(400);
  });

  it('is enabled by a setting', async () => {
    const lenientSimulator = await startSimulator({ vendors: 'lenient' });
    try {
      const body = { ...minimalBodies.messages, ...brokenField, model: one.model };
      expect((await call(`${lenientSimulator.url}/v1/messages`, body)).status).toBe(200);
    } finally {
      await lenientSimulator.stop();
    }
  });
});
